"""What engines report, and this project's own records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from losslesscheck.errors import InputError
from losslesscheck.sim.fit import (
    Histogram,
    MeanFit,
    alpha_of_mean,
    read,
    record,
    records,
    sglang_log,
    sglang_metrics,
    sglang_responses,
    vllm,
)

RECORDS = Path(__file__).parents[2] / "reports" / "data"


def scrape(drafts: int, positions: list[int], engine: str = "0", model: str = "m", **changed: str) -> str:
    """What vLLM answers at /metrics, as Prometheus' client writes it."""
    labels = f'engine="{engine}",model_name="{model}"'
    figures = {
        "num_drafts": drafts,
        "num_draft_tokens": drafts * len(positions),
        "num_accepted_tokens": sum(positions),
    } | changed
    lines = [
        "# HELP vllm:num_requests_running Number of requests.",
        f"vllm:num_requests_running{{{labels}}} 1.0",
    ]
    for name, value in figures.items():
        lines += [
            f"# HELP vllm:spec_decode_{name}_total Number of things.",
            f"# TYPE vllm:spec_decode_{name}_total counter",
            f"vllm:spec_decode_{name}_total{{{labels}}} {value if isinstance(value, str) else float(value)}",
            f"vllm:spec_decode_{name}_created{{{labels}}} 1.7e+09",
        ]
    lines += [
        f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{{labels},position="{i}"}} {float(value)}'
        for i, value in enumerate(positions)
    ]
    return "\n".join(lines) + "\n"


GOOD = scrape(1000, [710, 530, 420])
POSITIONS = "vllm:spec_decode_num_accepted_tokens_per_pos_total"


def test_vllm_counters() -> None:
    found = vllm(GOOD)
    assert found.accepted == (290, 180, 110, 420)
    assert found.notes == ()
    assert found.passed == (710, 530, 420)
    assert found.tokens_per_step == pytest.approx(2.66)
    assert read(GOOD) == found


def test_vllm_difference_of_two_scrapes() -> None:
    assert vllm(scrape(1500, [800, 600, 450]), before=GOOD).accepted == (410, 20, 40, 30)


def test_vllm_engines_are_added_and_can_be_chosen() -> None:
    both = GOOD + scrape(100, [60, 50, 40], engine="1")
    assert vllm(both).accepted == (330, 190, 120, 460)
    assert vllm(both, labels={"engine": "1"}).accepted == (40, 10, 10, 40)
    started_later = vllm(both, before=scrape(900, [700, 530, 420]))
    assert started_later.steps == 200


def test_vllm_models_are_not_added() -> None:
    both = GOOD + scrape(100, [60, 50, 40], model="n")
    with pytest.raises(InputError, match="choose one model_name of m, n"):
        vllm(both)
    assert vllm(both, labels={"model_name": "n"}).steps == 100


def test_llama_cpp_counters_without_labels() -> None:
    text = (
        "llamacpp:spec_decode_num_draft_tokens_total 300\n"
        "llamacpp:spec_decode_num_accepted_tokens_total 150\n"
        "llamacpp:spec_decode_num_drafts_total 100\n"
        + "".join(
            f'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{{position="{i}"}} {n}\n'
            for i, n in enumerate((80, 50, 20))
        )
    )
    assert read(text) == Histogram((20, 30, 30, 20))


def test_large_counters_in_scientific_notation_and_with_time() -> None:
    text = GOOD.replace("} 1000.0", "} 1e+03 1395066363000").replace("} 710.0", "} 7.1e+02")
    assert vllm(text).accepted == (290, 180, 110, 420)


def test_escaped_labels() -> None:
    text = scrape(10, [5], model=r"a \"b\", c\\d}")
    assert vllm(text, labels={"model_name": 'a "b", c\\d}'}).accepted == (5, 5)


def test_short_drafts_and_torn_scrapes_are_noted() -> None:
    assert "lower bounds" in vllm(scrape(1000, [710, 530, 420], num_draft_tokens="2900")).notes[0]
    assert "between two updates" in vllm(scrape(1000, [710, 530, 420], num_accepted_tokens="1659")).notes[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "metrics: the text is empty"),
        ("up 1\n", "there is no counter vllm:spec_decode_num_drafts_total"),
        (GOOD.replace("num_drafts_total", "other"), "no counter vllm:spec_decode_num_drafts_total"),
        (GOOD.replace("num_draft_tokens_total", "other"), "no counter vllm:spec_decode_num_draft_tokens"),
        (
            GOOD.replace("num_accepted_tokens_total", "other"),
            "no counter vllm:spec_decode_num_accepted_tokens_",
        ),
        (
            GOOD.replace("per_pos_total", "other"),
            "no counter vllm:spec_decode_num_accepted_tokens_per_pos_total",
        ),
        (GOOD.replace("710.0", "NaN"), "line 15: .*per_pos_total = nan is not a whole number"),
        (GOOD.replace("710.0", "710.5"), "line 15: .* = 710.5 is not"),
        (GOOD.replace("710.0", "-1"), "line 15: .* = -1.0 is not"),
        (GOOD.replace("710.0", "+Inf"), "line 15: .* = inf is not"),
        (GOOD.replace("710.0", "many"), "line 15: 'many' is no number"),
        (GOOD.replace('"0"} 710.0', '"0} 710.0'), "line 15 is no sample"),
        (GOOD.replace('position="0"', "position=0"), "line 15: the labels are malformed"),
        (GOOD.replace('position="0"', 'position="first"'), "line 15: label position = 'first'"),
        (GOOD.replace('position="1"', 'position="3"'), "no position 1"),
        (GOOD.replace('position="1"', 'position="0"'), "line 16 repeats"),
        (scrape(1000, [500, 530]), "at position 1 is 530, above position 0 with 500"),
        (scrape(400, [500, 300]), "at position 0 is 500, above num_drafts with 400"),
        (scrape(0, [0, 0]), "num_drafts is 0"),
        (scrape(10, [5, 4], num_draft_tokens="21"), "num_draft_tokens = 21, but 10 drafts have 2 positions"),
    ],
    ids=lambda value: value if len(value) < 60 else "",
)
def test_bad_counters(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        vllm(text)


@pytest.mark.parametrize(
    ("before", "message"),
    [
        (
            scrape(1001, [710, 530, 420]),
            "num_drafts .* went down from 1001 to 1000; was the server restarted",
        ),
        (scrape(900, [700, 531, 420]), "per_pos at position 1 .* went down from 531 to 530"),
        (GOOD + scrape(1, [1, 1, 1], engine="1"), "'engine': '1'.* is in the earlier scrape only"),
        ("", "before: the text is empty"),
        (GOOD.replace("710.0", "NaN"), "before: line 15"),
        (GOOD, "num_drafts is 0"),
    ],
    ids=["drafts", "position", "engine gone", "empty", "nan", "nothing new"],
)
def test_bad_pairs_of_scrapes(before: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        vllm(GOOD, before=before)


def test_labels_that_no_series_has() -> None:
    with pytest.raises(InputError, match=r"labels: no speculative counter has \{'engine': '9'\}"):
        vllm(GOOD, labels={"engine": "9"})


def gauges(length: object = 2.8, rate: object = 0.6, steps: int = 3, tokens: int = 4) -> str:
    labels = 'engine_type="unified",model_name="m",tp_rank="0"'
    return (
        f"sglang:spec_accept_length{{{labels}}} {length}\nsglang:spec_accept_rate{{{labels}}} {rate}\n"
        f"sglang:spec_num_steps{{{labels}}} {steps}\nsglang:spec_num_draft_tokens{{{labels}}} {tokens}\n"
        f"sglang:spec_verify_calls_total{{{labels}}} 8060\n"
    )


def test_sglang_gauges() -> None:
    found = sglang_metrics(gauges())
    assert found.draft_length == 3
    assert found.tokens_per_step == 2.8
    assert found.alpha == pytest.approx(alpha_of_mean(2.8, draft_length=3))
    assert "no goodness of fit" in found.notes[-1]
    assert not any("definition" in note for note in found.notes)
    assert read(gauges()) == found


def test_sglang_rate_of_both_definitions() -> None:
    for rate in (1.8 / 3, 2.8 / 4):
        assert not any("definition" in note for note in sglang_metrics(gauges(rate=rate)).notes)
    assert any("definition" in note for note in sglang_metrics(gauges(rate=0.5)).notes)


def test_sglang_ranks_are_averaged() -> None:
    text = gauges() + gauges(2.2, 0.4).replace('tp_rank="0"', 'tp_rank="1"')
    found = sglang_metrics(text)
    assert found.tokens_per_step == pytest.approx(2.5)
    assert found.windows == 2
    assert sglang_metrics(text, labels={"tp_rank": "1"}).tokens_per_step == 2.2


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "metrics: the text is empty"),
        ("sglang:spec_accept_rate 0.5", {"draft_length": 3}, "no gauge sglang:spec_accept_length"),
        ("sglang:spec_accept_length 2.5", {}, "draft_length: needed"),
        (gauges(steps=3, tokens=16), {}, "those of a tree"),
        (gauges(length=0.0), {}, r"line 1: .* = 0 is outside \[1, 4\]: nothing was decoded"),
        (gauges(length=0.8), {}, r"line 1: .* = 0.8 is outside \[1, 4\]: the bonus token is counted"),
        (gauges(length=4.2), {}, r"line 1: .* = 4.2 is outside \[1, 4\]"),
        (gauges(length="NaN"), {}, r"line 1: .* = nan is outside"),
        (gauges() + gauges().replace('"m"', '"n"'), {}, "choose one model_name of m, n"),
        (gauges(), {"labels": {"tp_rank": "7"}}, "no speculative gauge has"),
    ],
    ids=str,
)
def test_bad_gauges(text: str, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sglang_metrics(text, **options)


LOG = (
    "[2026-07-30 13:35:12 TP0] Prefill batch, #new-seq: 1, #new-token: 80, #running-req: 0, #queue-req: 0\n"
    "[2026-07-30 13:35:12 TP0] Decode batch, #running-req: 1, #full token: 257, full token usage: 0.00, "
    "accept len: 2.00, accept rate: 0.33, cuda graph: True, gen throughput (token/s): 93.65, #queue-req: 0\n"
    "[2026-07-30 13:35:13 TP0] Decode batch. #running-req: 3, #token: 257, token usage: 0.12, "
    "accept len: 3.00, cuda graph: True, gen throughput (token/s): 93.65, #queue-req: 0\n"
)


def test_sglang_log() -> None:
    found = sglang_log(LOG, draft_length=3)
    assert found.tokens_per_step == pytest.approx((2.0 + 3 * 3.0) / 4)
    assert (found.windows, found.lowest, found.highest) == (2, 2.0, 3.0)
    assert any("weighted by #running-req" in note for note in found.notes)
    assert read(LOG, draft_length=3) == found


def test_sglang_log_without_running_requests() -> None:
    found = sglang_log(LOG.replace("#running-req", "#req"), draft_length=3)
    assert found.tokens_per_step == pytest.approx(2.5)
    assert any("same weight" in note for note in found.notes)


def test_rounding_of_the_log_is_no_contradiction() -> None:
    assert sglang_log("Decode batch, accept len: 4.00,", draft_length=3).alpha == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "log: the text is empty"),
        ("Decode batch. #running-req: 1, token usage: 0.12", "no line 'Decode batch"),
        (LOG.replace("2.00", "nan"), r"line 2: accept len nan is outside \[1, 4\]"),
        (LOG.replace("2.00", "0.50"), r"line 2: accept len 0.5 is outside"),
        (LOG.replace("3.00", "5.00"), r"line 3: accept len 5 is outside"),
        (LOG.replace("3.00", "three"), "line 3: 'three' is no number"),
    ],
    ids=["empty", "no drafts", "nan", "too short", "too long", "no number"],
)
def test_bad_log(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sglang_log(text, draft_length=3)


ANSWER = {
    "text": "…",
    "meta_info": {
        "completion_tokens": 106,
        "spec_accept_length": 106 / 43,
        "spec_num_correct_drafts": 63,
        "spec_num_proposed_drafts": 215,
        "spec_verify_ct": 43,
        "spec_correct_drafts_histogram": [11, 14, 11, 4, 0, 3],
    },
}


def test_sglang_answers() -> None:
    found = sglang_responses(json.dumps(ANSWER))
    assert found.accepted == (11, 14, 11, 4, 0, 3)
    assert found.mean_accepted == pytest.approx(63 / 43)
    assert "chains" in found.notes[0]
    lines = json.dumps(ANSWER) + "\n\n" + json.dumps(ANSWER) + "\n"
    assert sglang_responses(lines).steps == 86
    assert sglang_responses(json.dumps([ANSWER, {"choices": [ANSWER]}])).steps == 86
    assert read(json.dumps(ANSWER)) == found


def changed(**meta: Any) -> str:
    return json.dumps({"meta_info": {**ANSWER["meta_info"], **meta}})  # type: ignore[dict-item]


def test_sglang_answer_with_a_cut_histogram_of_the_older_name() -> None:
    text = json.dumps({"meta_info": {"spec_accept_histogram": [3, 2], "spec_verify_ct": 5}})
    assert sglang_responses(text, draft_length=3).accepted == (3, 2, 0, 0)
    with pytest.raises(InputError, match="draft_length: needed, answer 0"):
        sglang_responses(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "json: the text is empty"),
        ("{", "json: .*line 1"),
        ('{"a": 1}\n{', "json: line 2 is no JSON"),
        ('{"meta_info": {}}', "answers: none has spec_correct_drafts_histogram"),
        (changed(spec_verify_ct=42, spec_num_proposed_drafts=210), "adds up to 43, but spec_verify_ct is 42"),
        (changed(spec_num_proposed_drafts=172), r"answer 0: .*counts\[5\] = 3: with 4 draft tokens"),
        (changed(spec_correct_drafts_histogram=[1, None]), r"counts\[1\] = None"),
        (changed(spec_correct_drafts_histogram=7), "is 7, no list"),
    ],
    ids=["empty", "no json", "line", "none", "sum", "too long", "null", "no list"],
)
def test_bad_answers(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sglang_responses(text)


def test_own_records() -> None:
    text = (RECORDS / "conformance-sglang-chain-h200.json").read_text()
    steps = {entry["id"]: entry["data"].get("steps") for entry in json.loads(text)["results"]}
    counts = records(text)["law[mixed]"]
    assert len(counts) == 3
    assert record(text, case="law[mixed]", draft_length=2).steps == sum(counts) == steps["law[mixed]"]
    cut = record(text, case="law[disjoint]", draft_length=2)
    assert cut.accepted == (cut.steps, 0, 0)


def test_own_records_are_kept_apart() -> None:
    text = json.dumps({"results": [{"id": "a", "data": {"accepted": [1, 2]}}, {"accepted": [3, 4]}]})
    assert records(text) == {"a": [1, 2], "results[1].accepted": [3, 4]}
    with pytest.raises(InputError, match=r"case: choose one of a, results\[1\]"):
        read(text, draft_length=1)
    assert read(text, case="a", draft_length=2) == Histogram((1, 2, 0))
    with pytest.raises(InputError, match="case: there is no 'b'"):
        read(text, case="b", draft_length=2)
    assert read('{"accepted": [3, 4]}', draft_length=1) == Histogram((3, 4))
    with pytest.raises(InputError, match="draft_length: needed, a record"):
        read('{"accepted": [3, 4]}')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "there is no list 'accepted'"),
        ('{"accepted": true}', "there is no list 'accepted'"),
        ('{"id": "x", "accepted": [1, -1]}', r"x: counts\[1\] = -1"),
        ('{"id": "x", "accepted": []}', "x: accepted: all counts are 0"),
        ('{"id": "x", "accepted": [1, 2, 3, 4]}', r"x: counts\[3\] = 4: with 2 draft tokens"),
        ('{"accepted": [1, NaN]}', r"counts\[1\] = nan"),
    ],
    ids=str,
)
def test_bad_records(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        record(text, draft_length=2)


def test_a_bare_list_must_say_what_it_counts() -> None:
    with pytest.raises(InputError, match="counted: say"):
        read("[20, 30, 50]")
    assert read("[20, 30, 50]", counted="accepted") == Histogram((20, 30, 50))
    assert read("[0, 20, 30, 50]", counted="tokens") == Histogram((20, 30, 50))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("  \n", {}, "file: it is empty"),
        ("hello", {}, "file: neither"),
        (LOG, {}, "draft_length: needed"),
        (GOOD, {"draft_length": 3}, "draft_length: not used for vLLM's counters"),
        ("[1, 2]", {"before": GOOD, "counted": "accepted"}, "before: not used for a list of counts"),
    ],
    ids=["empty", "unknown", "log", "counters", "list"],
)
def test_files_that_cannot_be_read(text: str, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(text, **options)


def test_read_gives_a_mean_where_there_is_no_more() -> None:
    assert isinstance(read(LOG, draft_length=3), MeanFit)
