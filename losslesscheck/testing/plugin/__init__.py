"""The conformance suite as pytest runs it; its options are in ``losslesscheck.pytest_plugin``."""
