"""Two samplers whose law nobody knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from losslesscheck.errors import InputError
from losslesscheck.testing import SubjectError, assert_same_law

P = np.array([0.4, 0.3, 0.2, 0.1])


def plain(count: int, seed: int) -> Any:
    """Three tokens, of which the second depends on the first, and the third ends the sequence if it is 0."""
    rng = np.random.default_rng(seed)
    first, shift, last = (rng.choice(4, size=count, p=P) for _ in range(3))
    return np.stack([first, (first + shift) % 4, np.where(last == 0, -1, last)], axis=1)


def late_bias(count: int, seed: int) -> Any:
    """After the first token 2, and only there, the second is the next one too often."""
    rng = np.random.default_rng([seed, 1])
    tokens = plain(count, seed)
    changed = (tokens[:, 0] == 2) & (rng.random(count) < 0.3)
    tokens[changed, 1] = 3
    return tokens


def never_ends(count: int, seed: int) -> Any:
    tokens = plain(count, seed)
    tokens[tokens < 0] = 1
    return tokens


def test_the_same_law_passes() -> None:
    found = assert_same_law(plain, plain, vocabulary=4, samples=50_000)
    assert found.samples == 50_000
    assert found.tv_bound < 0.05
    said = " ".join(str(found).split())
    assert said.startswith(
        "no difference in 50,000 sequences of either, whose next tokens were compared after"
    )
    assert f"after {found.contexts} contexts or pools" in said
    assert "the laws of the first token differ by TV" in said
    assert "those of later tokens have no such bound" in said
    assert max(map(len, str(found).splitlines())) <= 80


def test_a_difference_is_named_where_it_is() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_same_law(plain, late_bias, vocabulary=4)
    message = str(caught.value)
    assert message.startswith("the two samplers have different laws: ")
    assert "Next token after [2] " in message
    assert "two samplers of the same law ever reach 10^9.0 with probability at most 1e-09." in " ".join(
        message.split()
    )
    assert max(map(len, message.splitlines())) <= 80


def test_the_end_of_a_sequence_is_compared_too() -> None:
    with pytest.raises(AssertionError, match="token 4 is the end"):
        assert_same_law(plain, never_ends, vocabulary=4)


def test_contexts_that_are_too_many_are_pooled() -> None:
    def wide(count: int, seed: int) -> Any:
        return np.random.default_rng(seed).integers(500, size=(count, 3))

    def repeated(count: int, seed: int) -> Any:
        tokens = wide(count, seed)
        tokens[:, 2] = np.minimum(tokens[:, 2], 400)
        return tokens

    found = assert_same_law(wide, wide, vocabulary=500, samples=5000)
    assert found.contexts >= 3
    assert found.uncompared == 0
    with pytest.raises(AssertionError, match="different laws"):
        assert_same_law(wide, repeated, vocabulary=500, samples=50_000)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="samples: 0 is not positive"):
        assert_same_law(plain, plain, vocabulary=4, samples=0)
    with pytest.raises(SubjectError, match=r"tokens\[\d+, \d\] = 3 is outside a vocabulary of 3"):
        assert_same_law(plain, plain, vocabulary=3)
    with pytest.raises(SubjectError, match="a sampler returned float64"):
        assert_same_law(lambda count, seed: np.zeros(count), plain, vocabulary=3)


def test_bad_numbers_are_refused() -> None:
    for options, message in (
        ({"vocabulary": "4"}, "vocabulary: '4' is not a number"),
        ({"vocabulary": 4, "alpha": 2}, "alpha: 2 is not between 0 and 1"),
        ({"vocabulary": 4, "seed": 0.5}, "seed: 0.5 is not a whole number"),
        ({"vocabulary": 4, "samples": 2.5}, "samples: 2.5 is not a whole number"),
    ):
        arguments: dict[str, Any] = options
        with pytest.raises(InputError, match=message):
            assert_same_law(plain, plain, **arguments)
    with pytest.raises(InputError, match="second: 3 cannot be called"):
        assert_same_law(plain, 3, vocabulary=4)  # type: ignore[arg-type]
    with pytest.raises(SubjectError, match="a sampler returned None, not integers"):
        assert_same_law(plain, lambda count, seed: None, vocabulary=4)


def test_samplers_of_different_widths_are_refused() -> None:
    with pytest.raises(SubjectError, match=r"first sampler's sequences have 3 places, the second's 1"):
        assert_same_law(plain, lambda count, seed: plain(count, seed)[:, :1], vocabulary=4)

    calls = []

    def padded_to_the_longest(count: int, seed: int) -> Any:
        calls.append(seed)
        return np.pad(plain(count, seed), ((0, 0), (0, len(calls) // 2)), constant_values=-1)

    with pytest.raises(SubjectError, match="sequences have 3 places for one seed, 4 for"):
        assert_same_law(padded_to_the_longest, plain, vocabulary=4)


@pytest.mark.parametrize("count", [10_000, 200])
def test_a_sampler_that_ignores_its_seed_is_refused(count: int) -> None:
    with pytest.raises(SubjectError, match=r"returned the same [\d,]+ sequences for two\s+seeds"):
        assert_same_law(plain, lambda count, seed: plain(1024, 7)[:count], vocabulary=4, samples=count)


def test_samplers_that_hardly_vary_may_repeat_themselves() -> None:
    def greedy(count: int, seed: int) -> Any:
        return np.full((count, 2), 3)

    def rare(count: int, seed: int) -> Any:
        """One of 1024 sequences is another, here the same one each time."""
        return np.where(np.arange(count) == 5, 1, 3)

    assert assert_same_law(greedy, greedy, vocabulary=4, samples=3000).samples == 3000
    assert assert_same_law(rare, rare, vocabulary=4, samples=1024).samples == 1024


def test_samplers_run_under_their_caller_s_error_state() -> None:
    states = []

    def sampler(count: int, seed: int) -> Any:
        states.append(np.geterr()["under"])
        return plain(count, seed)

    with np.errstate(all="raise"):
        assert_same_law(sampler, sampler, vocabulary=4, samples=20_000)
    assert set(states) == {"raise"}


def test_pools_of_contexts_with_different_laws_raise_no_false_alarm() -> None:
    """The first token comes back at every later place, where it is drowned in a pool."""

    def remembering(count: int, seed: int) -> Any:
        rng = np.random.default_rng(seed)
        bit, noise = rng.integers(2, size=(count, 1)), rng.integers(500, size=(count, 1))
        return np.concatenate([bit, noise, bit.repeat(40, axis=1)], axis=1)

    for seed in range(40):  # with products over the lengths 5 % of the runs are false alarms at 10⁻⁹
        assert_same_law(remembering, remembering, vocabulary=500, samples=4096, seed=seed, alpha=1e-4)


def test_late_tokens_of_a_large_vocabulary_are_compared() -> None:
    def plain(count: int, seed: int) -> Any:
        return np.random.default_rng(seed).integers(32_000, size=(count, 8))

    def stuck(count: int, seed: int) -> Any:
        tokens = plain(count, seed)
        tokens[:, 3:] = 7
        return tokens

    with pytest.raises(AssertionError, match="different laws"):
        assert_same_law(plain, stuck, vocabulary=32_000, samples=2048)
