"""Tests of implementations: point it at a function, a kernel or an engine."""
