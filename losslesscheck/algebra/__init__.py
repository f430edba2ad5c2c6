"""Rational functions over the rationals, on python-flint."""
