"""Cost: how long drafting and verifying take, and where that pays."""

from losslesscheck.sim.cost.crossover import paying_batches, paying_contexts
from losslesscheck.sim.cost.draft import Draft
from losslesscheck.sim.cost.drafters import Drafter, Parallel, Sequential
from losslesscheck.sim.cost.passes import Linear, Measured, Pass
from losslesscheck.sim.cost.presets import (
    Hardware,
    Transformer,
    hardware,
    hardware_names,
    transformer,
    transformer_names,
)
from losslesscheck.sim.cost.roofline import Roofline
from losslesscheck.sim.cost.speedup import implied_c, operations_factor, speedup
from losslesscheck.sim.cost.steps import Cost

__all__ = [
    "Cost",
    "Draft",
    "Drafter",
    "Hardware",
    "Linear",
    "Measured",
    "Parallel",
    "Pass",
    "Roofline",
    "Sequential",
    "Transformer",
    "hardware",
    "hardware_names",
    "implied_c",
    "operations_factor",
    "paying_batches",
    "paying_contexts",
    "speedup",
    "transformer",
    "transformer_names",
]
