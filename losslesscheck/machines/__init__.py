"""The readings of a rule, one module each; `vocabulary` says what a rule may ask of them."""
