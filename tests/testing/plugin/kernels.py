"""Implementations of the rule chain, right and wrong, of a project that tests its own."""

import os

import numpy as np

from losslesscheck.testing.subject import subject


def verify(target, draft, tokens, rng):
    rows, drafts, _ = draft.shape
    each, alive = np.arange(rows), np.ones(rows, dtype=bool)
    emitted = np.full((rows, drafts + 1), -1)
    for i in range(drafts):
        x, p, q = tokens[:, i], target[:, i], draft[:, i]
        kept = alive & (rng.random(rows) * q[each, x] < p[each, x])
        emitted[kept, i] = x[kept]
        lost = alive & ~kept
        emitted[lost, i] = drawn(np.maximum(p - q, 0)[lost], rng)
        alive = kept
    emitted[alive, drafts] = drawn(target[alive, drafts], rng)
    return emitted


def drawn(weights, rng):
    sums = weights.cumsum(axis=1, dtype=float)
    return (sums <= rng.random(len(weights))[:, None] * sums[:, -1:]).sum(axis=1)


def without_residual(target, draft, tokens, rng):
    """After a rejection it draws from the target, as if nothing had been rejected."""
    emitted = verify(target, draft, tokens, rng)
    for i in range(tokens.shape[1]):
        lost = (emitted[:, i] >= 0) & (emitted[:, i + 1 :] < 0).all(axis=1) & (emitted[:, i] != tokens[:, i])
        emitted[lost, i] = drawn(target[lost, i], rng)
    return emitted


def raising(target, draft, tokens, rng):
    return inner(tokens)


def inner(tokens):
    return {}["no such kernel"]


def deadly(target, draft, tokens, rng):
    if target.shape[2] == 50:
        os._exit(1)
    return without_residual(target, draft, tokens, rng)


class Verifier:
    def __call__(self, target, draft, tokens, rng):
        return verify(target, draft, tokens, rng)


class Needy:
    def __init__(self, weights):
        pass


class Tensors:
    def __call__(self, target, tokens):
        pass


known = subject(verify, rule="chain", dtype="float64")
constant = 3
