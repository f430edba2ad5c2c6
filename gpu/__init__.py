"""Verification kernels and the laws they have (imported as `losslesscheck.gpu`)."""
