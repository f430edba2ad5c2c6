"""The roofline by hand, the presets against published parameter counts, and where speculation pays."""

from __future__ import annotations

import re

import numpy as np
import pytest

from losslesscheck.errors import InputError
from losslesscheck.sim.cost import (
    Cost,
    Draft,
    Hardware,
    Linear,
    Roofline,
    Sequential,
    Transformer,
    hardware,
    hardware_names,
    paying_batches,
    paying_contexts,
    transformer,
    transformer_names,
)

TINY = Transformer(
    "tiny", layers=2, hidden=8, heads=4, kv_heads=2, head_dim=2, ffn=16, vocabulary=10, ffn_matrices=2
)
CHIP = Hardware("chip", bandwidth=1000.0, flops=5000.0, memory=1e4, link=100.0)
PARAMETERS = {
    "Llama-3.1-8B": 8_030_261_248,
    "Llama-3.1-70B": 70_553_706_496,
    "Llama-3.2-1B": 1_235_814_400,
    "LLaMA-2-7B": 6_738_415_616,
    "LLaMA-2-13B": 13_015_864_320,
    "LLaMA-2-70B": 68_976_648_192,
}
"""Parameters of the checkpoints, every one of them."""


@pytest.mark.parametrize("name", PARAMETERS)
def test_shapes_give_the_published_number_of_parameters(name: str) -> None:
    model = transformer(name)
    embedding = 0 if model.tied else model.vocabulary * model.hidden
    norms = (2 * model.layers + 1) * model.hidden
    assert model.weights + embedding + norms == PARAMETERS[name]


@pytest.mark.parametrize(
    ("name", "billions", "tolerance"),
    [
        ("LLaMA-33B", 32.5, 0.1),
        ("LLaMA-68M", 0.068, 0.0005),
        ("Chinchilla-draft-4B", 4, 0.1),
        ("Chinchilla-70B", 65, 0.5),
    ],
)
def test_shapes_give_the_rounded_size(name: str, billions: float, tolerance: float) -> None:
    """Chinchilla's relative-position projections, layers · hidden², are what is missing to 70."""
    model = transformer(name)
    assert (model.weights + model.vocabulary * model.hidden) / 1e9 == pytest.approx(billions, abs=tolerance)


def test_every_preset_loads_and_names_its_source() -> None:
    assert all(hardware(name).source for name in hardware_names())
    assert all(transformer(name).source for name in transformer_names())
    assert {"A100-80GB", "H100-SXM", "H200", "L40S", "RTX-3090", "RTX-4090", "TPU-v4"} <= set(
        hardware_names()
    )
    assert {*PARAMETERS, "T5-XXL", "Chinchilla-70B", "Chinchilla-draft-4B"} <= set(transformer_names())


def test_a_pass_by_hand() -> None:
    """Two layers of (4 + 2 + 2 + 4) · 2 · 8 + 2 · 8 · 16 weights, and 10 · 8 of the output."""
    weights = 2 * (192 + 256) + 80
    assert TINY.weights == weights
    # One token: reading 2 bytes a weight takes longer than 2 operations a weight.
    reading = weights * 2 / 1000
    # 6 cached tokens with the new one: 2 · 2 layers · 2 heads · 2 · 2 bytes each.
    attention = max(6 * 32 / 1000, 4 * 2 * 4 * 2 * 6 / 5000)
    assert Roofline(TINY, CHIP).seconds(1, context=5) == pytest.approx(reading + attention)
    # 8 sequences of 2 tokens: 16 rows, so that arithmetic takes longer.
    arithmetic = 2 * weights * 16 / 5000
    assert arithmetic > reading
    attention = max(8 * 7 * 32 / 1000, 4 * 2 * 4 * 2 * 16 * 7 / 5000)
    assert Roofline(TINY, CHIP).seconds(2, batch=8, context=5) == pytest.approx(arithmetic + attention)
    # 10 tokens of one sequence: attention takes 4 · 2 layers · 4 heads · 2 operations each, and longer.
    operations = 4 * 2 * 4 * 2 * 10 * 15 / 5000
    assert operations > 15 * 32 / 1000
    time = Roofline(TINY, CHIP).seconds(10, context=5)
    assert time == pytest.approx(max(reading, 2 * weights * 10 / 5000) + operations)


def test_tensor_parallelism_shares_the_work_and_adds_all_reduces() -> None:
    alone, shared = Roofline(TINY, CHIP), Roofline(TINY, CHIP, tensor_parallel=2, per_layer=0.5)
    # Two all-reduces in each of 2 layers, 2 · (2 − 1)/2 times 8 numbers of 2 bytes for each of 3 rows.
    links = 2 * 2 * 1 * 3 * 8 * 2 / 100
    assert shared.seconds(3) == pytest.approx(alone.seconds(3) / 2 + links + 2 * 0.5)


def test_kv_heads_are_not_split_further() -> None:
    """With 4 chips and 2 KV heads each chip still reads half of the cache."""
    long = {
        count: Roofline(TINY, CHIP, tensor_parallel=count).seconds(1, context=10**6) for count in (1, 2, 4)
    }
    assert long[2] == pytest.approx(long[1] / 2, rel=1e-3)
    assert long[4] == pytest.approx(long[2], rel=1e-3)


def test_peak_rates_that_are_not_reached() -> None:
    ideal, half = Roofline(TINY, CHIP), Roofline(TINY, CHIP, bandwidth_share=0.5, compute_share=0.5)
    assert half.seconds([1, 50]) == pytest.approx(2 * np.asarray(ideal.seconds([1, 50])))


def test_memory_and_the_largest_batch() -> None:
    model = Roofline(transformer("LLaMA-2-7B"), hardware("A100-80GB"))
    assert model.memory() == pytest.approx(2 * 6.738e9, rel=1e-3)
    # 0.5 MiB a token: 2 · 32 layers · 32 heads · 128 · 2 bytes.
    assert model.memory(batch=2, context=100) - model.memory() == 2 * 100 * 524_288
    batch = model.largest_batch(context=4096)
    assert model.memory(batch=batch, context=4096) <= 80e9 < model.memory(batch=batch + 1, context=4096)
    assert Roofline(transformer("LLaMA-2-70B"), hardware("A100-80GB")).largest_batch(context=1) == 0


def test_verifying_is_free_until_the_arithmetic_outweighs_the_reading() -> None:
    target = Roofline(transformer("LLaMA-2-7B"), hardware("A100-80GB"))
    ridge = target.hardware.flops / target.hardware.bandwidth
    times = np.asarray(target.seconds([1, int(ridge) - 2, int(2 * ridge)]))
    assert times[1] / times[0] < 1.01
    assert times[2] / times[0] > 1.9


def test_a_wide_and_shallow_draft_is_faster_than_a_deep_one_of_its_size() -> None:
    """Chen et al. 2023: on 16 chips the layers' latency outweighs the weights."""
    wide = transformer("Chinchilla-draft-4B")
    deep = Transformer(
        "deep",
        layers=32,
        hidden=3072,
        heads=24,
        kv_heads=24,
        head_dim=128,
        ffn=12288,
        vocabulary=32000,
        ffn_matrices=2,
    )
    assert deep.weights == pytest.approx(wide.weights, rel=0.05)
    chip = hardware("TPU-v4")

    def time(model: Transformer, chips: int) -> float:
        return float(Roofline(model, chip, tensor_parallel=chips, per_layer=1e-4 * (chips > 1)).seconds(1))

    assert time(deep, 16) > 2.5 * time(wide, 16)
    assert time(deep, 1) == pytest.approx(time(wide, 1), rel=0.06)


def llama(window: int | None = None) -> Cost:
    card = hardware("H100-SXM")
    draft = Sequential(Roofline(transformer("Llama-3.2-1B"), card), window=window)
    return Cost(Roofline(transformer("Llama-3.1-8B"), card), draft)


def test_speculation_loses_beyond_some_batch() -> None:
    cost, draft = llama(), Draft.chain(3)
    ((first, last),) = paying_batches(cost, 2.5, draft, context=100, up_to=1024)
    assert first == 1
    assert cost.speedup(2.5, draft, batch=last, context=100) > 1
    assert cost.speedup(2.5, draft, batch=last + 1, context=100) <= 1
    assert 50 < last < 1024


def test_with_a_long_context_and_a_sparse_draft_cache_it_pays_again() -> None:
    """MagicDec's regime: at a batch where it loses with short contexts, reading the KV cache once for all
    verified tokens wins with long ones; without the window the draft reads as much and it does not."""
    draft = Draft.chain(3)
    assert paying_batches(llama(512), 2.5, draft, context=100, up_to=512)[-1][1] < 512
    ((first, last),) = paying_contexts(llama(512), 2.5, draft, batch=512, up_to=32768)
    assert 100 < first < 32768
    assert last == 32768
    longer = np.asarray(llama(512).speedup(2.5, draft, batch=512, context=[first, 16384, 131072]))
    assert (np.diff(longer) > 0).all()


def test_ranges_are_those_of_every_single_batch() -> None:
    cost = Cost(Linear(10.0, per_token=0.1), Sequential(Linear(0.5)))
    ranges = paying_batches(cost, 2.5, Draft.chain(4), up_to=80)
    inside = {batch for first, last in ranges for batch in range(first, last + 1)}
    assert inside == {batch for batch in range(1, 81) if cost.speedup(2.5, Draft.chain(4), batch=batch) > 1}
    assert paying_batches(cost, 1.05, Draft.chain(4)) == ()
    assert paying_batches(cost, 5.0, Draft.chain(4), up_to=9) == ((1, 9),)
    assert paying_contexts(cost, 2.5, Draft.chain(4), up_to=7) == ((0, 7),)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hardware("B9000"), "hardware: 'B9000' is unknown; known are A100-80GB, A100-40GB, H100-SXM"),
        (lambda: transformer("GPT-9"), "transformer: 'GPT-9' is unknown; known are Llama-3.1-8B"),
        (lambda: Hardware("x", bandwidth=0, flops=1, memory=1, link=1), "bandwidth: 0 is not positive"),
        (lambda: Hardware("x", float("nan"), 1, 1, 1), "bandwidth: nan is not finite"),
        (lambda: Transformer("x", 0, 1, 1, 1, 1, 1, 1), "layers: 0 is below 1"),
        (lambda: Transformer("x", 1, 1, 3, 2, 1, 1, 1), "heads: 3 is no multiple of kv_heads = 2"),
        (lambda: Roofline(TINY, CHIP, tensor_parallel=0), "tensor_parallel: 0 is below 1"),
        (lambda: Roofline(TINY, CHIP, compute_share=1.5), "compute_share: 1.5 is above 1"),
        (lambda: Roofline(TINY, CHIP, per_layer=-1), "per_layer: -1 is below 0"),
        (lambda: Roofline("tiny", CHIP), "model: 'tiny' is no Transformer"),  # type: ignore[arg-type]
        (lambda: paying_batches(llama(), 2.5, Draft.chain(3), up_to=0), "up_to: 0 is below 1"),
        (lambda: paying_contexts(llama(), 9.0, Draft.chain(3)), "tokens_per_step: 9 is above 4"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_named(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        call()
