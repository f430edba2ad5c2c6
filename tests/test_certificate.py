"""Files of certificates: whatever is wrong with one is said in a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from losslesscheck import InputError, rules
from losslesscheck.certificate import recheck, write

GOOD: dict[str, Any] = {
    "format": 1,
    "rule": {"reference": "chain", "hash": rules.get("chain").hash, "parameters": {}},
    "certificates": [],
}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({**GOOD, "format": 2}, "format 2, not 1"),
        ({**GOOD, "certificates": 5}, "is no certificate file"),
        ({**GOOD, "rule": {**GOOD["rule"], "reference": 5}}, "5 with {} is no rule"),
        ({**GOOD, "rule": {**GOOD["rule"], "parameters": [1]}}, r"'chain' with \[1\] is no rule"),
        (
            {**GOOD, "rule": {**GOOD["rule"], "parameters": {"self": "1"}}},
            "self: chain has no such parameter",
        ),
        ({**GOOD, "rule": {**GOOD["rule"], "reference": "no_rule"}}, "there is no rule 'no_rule'"),
        ([GOOD], "is no certificate file"),
    ],
    ids=["format", "certificates", "reference", "parameters", "self", "unknown", "list"],
)
def test_what_is_no_certificate_file_is_refused(content: Any, message: str, tmp_path: Path) -> None:
    file = tmp_path / "proofs.json"
    file.write_text(json.dumps(content))
    with pytest.raises(InputError, match=message):
        recheck(file)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[" * 100_000], ids=["no text", "deep"])
def test_what_is_no_json_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "proofs.json"
    file.write_bytes(content)
    with pytest.raises(InputError, match="is no certificate file"):
        recheck(file)


def test_a_file_without_certificates_proves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "proofs.json"
    write(file, rules.get("chain"), [])
    assert not recheck(file)["accepted"]


def test_a_file_that_cannot_be_written_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(InputError, match=r"certificates: cannot write .*taken"):
        write(tmp_path / "taken", rules.get("chain"), [])
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]
