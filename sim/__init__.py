"""What speed a rule buys: acceptance models, simulation, cost (imported as `losslesscheck.sim`)."""
