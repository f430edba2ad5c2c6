"""Files of real distributions: what is accepted, what is refused and how, and the exact analysis."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from losslesscheck.distributions import Distributions, analyse, load, tokens_per_step
from losslesscheck.errors import InputError
from losslesscheck.machines.exact import exact_law
from losslesscheck.rules.block_verification import block_verification
from losslesscheck.rules.broken import PATTERNS
from losslesscheck.rules.chain import chain
from losslesscheck.rules.point_mass import point_mass
from losslesscheck.rules.target_only import target_only
from losslesscheck.tree import Tree

REAL = Path(__file__).parent.parent / "examples" / "smollm2_draft_target.npz"

Arrays = dict[str, Any]


def arrays() -> Arrays:
    """Two cases, γ = 2, V = 4; dyadic numbers, so that every row sums to exactly one."""
    target = np.array(
        [[[8, 4, 2, 2], [4, 4, 4, 4], [1, 1, 2, 12]], [[0, 0, 8, 8], [16, 0, 0, 0], [5, 5, 5, 1]]]
    )
    draft = np.array([[[4, 4, 4, 4], [10, 2, 2, 2]], [[4, 4, 4, 4], [8, 8, 0, 0]]])
    return {
        "target": (target / 16).astype(np.float32),
        "draft": (draft / 16).astype(np.float32),
        "draft_tokens": np.array([[0, 1], [2, 0]]),
        "prompt": np.array(["first", "second"]),
    }


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Arrays], Path]:
    def written(contents: Arrays) -> Path:
        path = tmp_path / "rows.npz"
        np.savez(path, **contents)
        return path

    return written


def test_a_good_file_is_read_as_it_is(write: Callable[[Arrays], Path]) -> None:
    loaded = load(write(arrays()))
    assert (loaded.cases, loaded.length, loaded.vocabulary) == (2, 2, 4)
    assert loaded.prompts == ("first", "second")
    assert loaded.draft_tokens.tolist() == [[0, 1], [2, 0]]
    assert loaded.normalised.rows == 0
    assert loaded.warnings == ()
    assert [loaded.target_row(0, 0)[t] for t in range(4)] == [Fraction(a, 16) for a in (8, 4, 2, 2)]


def test_prompts_may_be_left_out(write: Callable[[Arrays], Path]) -> None:
    contents = arrays()
    del contents["prompt"]
    assert load(write(contents)).prompts == ()


def test_rows_that_are_slightly_off_are_normalised_and_counted(write: Callable[[Arrays], Path]) -> None:
    contents = arrays()
    contents["target"] = contents["target"].astype(np.float64)
    contents["target"][0, 1, 0] += 2.0**-20
    contents["draft"] = contents["draft"].astype(np.float64)
    contents["draft"][1, 1, 0] -= 2.0**-18
    loaded = load(write(contents))
    assert (loaded.normalised.rows, loaded.normalised.largest) == (2, 2.0**-18)
    row = loaded.target_row(0, 1)
    assert row.total == 1
    assert row[0] == (Fraction(1, 4) + Fraction(1, 2**20)) / (1 + Fraction(1, 2**20))


def test_a_draft_token_of_probability_zero_is_a_warning(write: Callable[[Arrays], Path]) -> None:
    contents = arrays()
    contents["draft_tokens"][1, 1] = 3
    loaded = load(write(contents))
    assert loaded.warnings == (
        "draft_tokens[1, 1] = 3: its draft probability is 0, so it was not drawn from that row",
    )
    result = analyse(chain, loaded)[4]
    assert (result.case, result.position, result.token_acceptance) == (1, 1, None)


def replaced(name: str, value: Any) -> Callable[[Arrays], None]:
    return lambda contents: contents.update({name: value})


def entry(name: str, index: tuple[int, ...], value: float) -> Callable[[Arrays], None]:
    def change(contents: Arrays) -> None:
        contents[name] = contents[name].copy()
        contents[name][index] = value

    return change


BAD = {
    "no target": (lambda c: c.pop("target"), "target: there is no such array"),
    "no draft": (lambda c: c.pop("draft"), r"draft: there is no such array .*it has: target, draft_tokens"),
    "no draft tokens": (lambda c: c.pop("draft_tokens"), "draft_tokens: there is no such array"),
    "flat target": (
        replaced("target", np.ones(4) / 4),
        r"target: expected .* shape \[cases, γ\+1, V\], got \[4\]",
    ),
    "no cases": (replaced("target", np.ones((0, 3, 4))), "target: expected a non-empty array"),
    "draft as long as target": (
        replaced("draft", np.full((2, 3, 4), 0.25)),
        r"draft: shape \[2, 3, 4\] does not fit target's \[2, 3, 4\]: expected \[2, 2, 4\]",
    ),
    "another vocabulary": (replaced("draft", np.full((2, 2, 5), 0.2)), r"expected \[2, 2, 4\]"),
    "another number of cases": (replaced("draft", np.full((1, 2, 4), 0.25)), r"draft: shape \[1, 2, 4\]"),
    "tokens of another length": (
        replaced("draft_tokens", np.zeros((2, 3), int)),
        r"draft_tokens: shape \[2, 3\] does not fit draft's \[2, 2, 4\]: expected \[2, 2\]",
    ),
    "text rows": (replaced("target", np.full((2, 3, 4), "a")), "target: expected floats .*, got <U1"),
    "complex rows": (replaced("draft", np.ones((2, 2, 4), complex)), "draft: expected floats"),
    "float tokens": (
        replaced("draft_tokens", np.zeros((2, 2))),
        "draft_tokens: expected integers, got float64",
    ),
    "pickled rows": (replaced("target", np.full((2, 3, 4), None)), "target: .* it holds Python objects"),
    "pickled prompts": (replaced("prompt", np.array([None, 1])), "prompt: .* it holds Python objects"),
    "numbers as prompts": (replaced("prompt", np.zeros(2)), "prompt: expected text, got float64"),
    "one prompt": (replaced("prompt", np.array(["a"])), "prompt: 1 entries for 2 cases"),
    "nan": (entry("target", (1, 2, 3), np.nan), r"target\[1, 2, 3\] = nan is not a number"),
    "infinity": (entry("draft", (0, 1, 2), np.inf), r"draft\[0, 1, 2\] = inf is infinite"),
    "negative": (entry("draft", (1, 0, 3), -0.25), r"draft\[1, 0, 3\] = -0.25 is negative"),
    "row off": (entry("target", (0, 2, 0), 0.25), r"target\[0, 2\] sums to 1.1875, not to 1"),
    "row slightly too far off": (
        entry("draft", (0, 0, 0), 0.25002),
        r"draft\[0, 0\] sums to 1.00002, not to 1",
    ),
    "token too large": (
        entry("draft_tokens", (1, 0), 4),
        r"draft_tokens\[1, 0\] = 4 is outside a vocabulary of 4",
    ),
    "token negative": (entry("draft_tokens", (0, 1), -1), r"draft_tokens\[0, 1\] = -1 is outside"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_refused_with_the_place(
    change: Callable[[Arrays], Any], message: str, write: Callable[[Arrays], Path]
) -> None:
    contents = arrays()
    change(contents)
    with pytest.raises(InputError, match=message) as caught:
        load(write(contents))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no .npz file"),
        (b"not an archive at all", "is no .npz file"),
        (b"PK\x03\x04 only the beginning", "is no .npz file"),
        (b"\x80\x04K\x01.", "is no .npz file"),
    ],
    ids=["empty", "text", "damaged", "pickle"],
)
def test_what_is_no_npz_file_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        load(path)


def test_a_single_array_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.ones(3))
    with pytest.raises(InputError, match="holds a single array"):
        load(tmp_path / "rows.npy")


def test_a_damaged_array_is_refused(write: Callable[[Arrays], Path]) -> None:
    path = write(arrays())
    content = bytearray(path.read_bytes())
    place = content.index(b"NUMPY") + 200
    content[place] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(InputError, match="target: the array cannot be read"):
        load(path)


def test_an_array_too_large_is_refused_before_it_is_unpacked(
    write: Callable[[Arrays], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(arrays())
    monkeypatch.setattr("losslesscheck.npz.LARGEST", 100)
    monkeypatch.setattr(np.lib.npyio.NpzFile, "__getitem__", lambda self, name: pytest.fail("it was read"))
    with pytest.raises(InputError, match=r"target: .* GiB are more than"):
        load(path)


def test_a_prompt_that_is_no_utf8_is_read_with_marks(write: Callable[[Arrays], Path]) -> None:
    found = arrays()
    found["prompt"] = np.array([b"\xff"] * len(found["target"]))
    assert load(write(found)).prompts[0] == "\ufffd"


@pytest.mark.parametrize("name", ["missing.npz", "."])
def test_a_file_that_is_not_there_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        load(tmp_path / name)


def loaded_arrays(write: Callable[[Arrays], Path]) -> Distributions:
    return load(write(arrays()))


def test_chain_position_by_position(write: Callable[[Arrays], Path]) -> None:
    results = analyse(chain, loaded_arrays(write))
    assert [(r.case, r.position, r.token) for r in results] == [
        (0, 0, 0), (0, 1, 1), (0, 2, None), (1, 0, 2), (1, 1, 0), (1, 2, None)
    ]  # fmt: skip
    assert all(r.holds and r.tv == 0 and r.differs_at == 0 and r.undefined == 0 for r in results)
    acceptance = [Fraction(a, 16) for a in (12, 10, 0, 8, 8, 0)]  # Σ min(p, q)
    assert [r.acceptance for r in results] == acceptance
    assert [r.token_acceptance for r in results] == [1, 1, None, 1, 1, None]
    assert [r.is_bonus for r in results] == [False, False, True] * 2
    expected = [1 + Fraction(3, 4) + Fraction(3, 4) * Fraction(5, 8), 1 + Fraction(1, 2) + Fraction(1, 4)]
    assert tokens_per_step(results) == expected


def test_tokens_per_step_is_the_mean_length_of_the_exact_law(write: Callable[[Arrays], Path]) -> None:
    loaded = loaded_arrays(write)
    for case, expected in enumerate(tokens_per_step(analyse(chain, loaded))):
        target, draft = loaded.models(case)
        law = exact_law(chain, target, draft, Tree.chain(2))
        mean = sum(len(outcome) * Fraction(int(mass.p), int(mass.q)) for outcome, mass in law.items())
        assert mean == expected


def test_fixed_tokens_are_the_drafted_ones(write: Callable[[Arrays], Path]) -> None:
    loaded = loaded_arrays(write)
    probabilities = [Fraction(a, 16) for a in (8, 4, 0, 8, 16, 0)]
    for r in (target_only, point_mass):
        results = analyse(r, loaded)
        assert all(result.holds for result in results)
        assert [result.acceptance for result in results] == probabilities
        assert [result.token_acceptance for result in results if not result.is_bonus] == [
            a for a in probabilities if a
        ]


def test_a_threshold_shows_its_bias(write: Callable[[Arrays], Path]) -> None:
    results = analyse(target_only.bind(threshold_acc=Fraction(1, 2)), loaded_arrays(write))
    assert [r.tv for r in results] == [Fraction(1, 2), Fraction(1, 4), 0, Fraction(1, 2), 0, 0]
    assert [r.holds for r in results] == [False, False, True, False, True, True]


def test_a_broken_rule_shows_its_bias(write: Callable[[Arrays], Path]) -> None:
    results = analyse(PATTERNS["resample_target"], loaded_arrays(write))
    p, q = [Fraction(a, 16) for a in (8, 4, 2, 2)], Fraction(1, 4)
    rejected = 1 - sum(min(a, q) for a in p)
    emitted = [min(a, q) + rejected * a for a in p]
    assert results[0].tv == sum(abs(a - b) for a, b in zip(emitted, p, strict=True)) / 2 > 0
    assert results[2].holds  # the bonus token is drawn from its own row


def test_a_rule_for_whole_paths_has_no_law_by_position(write: Callable[[Arrays], Path]) -> None:
    assert analyse(block_verification, loaded_arrays(write)) == []


def test_progress_is_reported(write: Callable[[Arrays], Path]) -> None:
    seen: list[tuple[int, int]] = []
    analyse(chain, loaded_arrays(write), lambda done, total: seen.append((done, total)))
    assert seen == [(done, 6) for done in range(7)]


def test_chain_is_exactly_lossless_on_rows_of_real_models() -> None:
    loaded = load(REAL)
    assert (loaded.cases, loaded.length, loaded.vocabulary) == (2, 3, 49152)
    assert loaded.normalised.rows == 14
    assert loaded.normalised.largest < 1e-7
    results = analyse(chain, loaded)
    assert all(r.holds and r.tv == 0 for r in results)
    first = [round(float(r.acceptance), 4) for r in results if r.position == 0]
    assert first == [0.5566, 0.6334]


def test_a_broken_rule_is_off_on_rows_of_real_models() -> None:
    results = analyse(PATTERNS["resample_target"], load(REAL))
    assert all((r.tv > 0.03) != r.is_bonus for r in results)
