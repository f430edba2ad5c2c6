from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from losslesscheck.cli import main

FAST = ["--samples", "1e4"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.fixture
def own_rule(tmp_path: Path) -> str:
    file = tmp_path / "mine.py"
    file.write_text(
        "def lenient(m, p, q, accept, reject, *, slack=0.5):\n"
        "    x = m.draw(q)\n"
        "    if m.flip(m.min(m.one, p[x] / (q[x] * slack))):\n"
        "        return accept(x)\n"
        "    return reject(m.norm(m.relu(p - q)))\n"
    )
    return f"{file}:lenient"


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from losslesscheck.cli import main\n"
        "assert CliRunner().invoke(main, ['--help']).exit_code == 0\n"
        "heavy = {'numpy', 'scipy', 'sympy', 'flint', 'z3', 'torch', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--rule", "chain", "--only", "any-vocabulary"], 0),
        (["--rule", "resample_target", "--only", "exact"], 1),
        (["--rule", "target_only", "--threshold-acc", "0.9", "--only", "exact"], 1),
        (["--rule", "target_only", "--threshold-acc=1", "--only", "any-vocabulary"], 0),
        (["--rule", "chain", "--only", "exact"], 3),
        (["--rule", "nothing"], 2),
        (["--rule", "chain", "--tree", "2,1"], 2),
        (["--rule", "chain", "--tree", "two"], 2),
        (["--rule", "chain", "--gamma", "2"], 2),
        (["--rule", "chain", "--gamma"], 2),
        (["--rule", "chain", "stray"], 2),
        (["--rule", "chain", "--parents", "0"], 2),
        (["--rule", "chain", "--parents", "-1,x"], 2),
        (["--rule", "specinfer", "--tree", "2", "--width", "2"], 2),
        (["--rule", "target_only", "--parents", "-1,-1", "--tokens", "2,2"], 2),
        (["--rule", "chain", "--distributions", "nowhere.npz"], 2),
        ([], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else f"exits-{value}",
)
def test_exit_status(arguments: list[str], status: int) -> None:
    result = run("verify", *arguments)
    assert result.exit_code == status, result.output
    if status == 2 and arguments:
        lines = [line for line in result.stderr.splitlines() if line]
        assert lines[-1].lower().startswith("error")
        assert "Traceback" not in result.stderr
        assert result.stdout == ""


def test_json_is_all_there_is_on_standard_output() -> None:
    result = run("verify", "--rule", "specinfer", "--json", *FAST)
    found = json.loads(result.stdout)
    assert found["verdict"] == "lossless"
    assert found["rule"] == "specinfer"


def test_a_rule_that_prints_does_not_spoil_the_json(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(
        "def noisy(m, p, q, tree):\n    print('hello')\n    return (m.draw(p(())),)\n"
    )
    result = subprocess.run(
        [
            *(sys.executable, "-m", "losslesscheck", "verify"),
            *("--rule", f"{tmp_path}/noisy.py:noisy", "--tree", "1"),
            *("--only", "exact", "--json"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert json.loads(result.stdout)["verdict"] == "undecided"
    assert "hello" in result.stderr


def test_the_report_fits_eighty_columns_and_names_every_rung() -> None:
    output = run("verify", "--rule", "target_only", "--threshold-acc", "0.9", *FAST).output
    assert max(map(len, output.splitlines())) <= 80
    for rung in ("theorem", "any vocabulary", "all distributions", "exact", "monte carlo", "kernel"):
        assert rung in output
    assert "LOSSY" in output
    assert "emitted" in output
    assert "5/9" in output


def test_my_own_rule_and_its_parameter(own_rule: str) -> None:
    assert run("verify", "--rule", own_rule, "--only", "exact").exit_code == 1
    assert run("verify", "--rule", own_rule, "--only", "any-vocabulary", "--slack", "1").exit_code == 0


def test_a_file_that_does_not_import_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import no_such_module\n")
    result = run("verify", "--rule", f"{tmp_path}/bad.py:rule")
    assert result.exit_code == 2
    assert "does not import: ModuleNotFoundError" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" in run("verify", "--rule", f"{tmp_path}/bad.py:rule", "--debug").stderr


def test_rules_are_listed_and_explained() -> None:
    listed = run("rules").output
    assert "specinfer" in listed
    assert "resample_target" in listed
    assert max(map(len, listed.splitlines())) <= 80
    explained = run("rules", "specinfer").output
    assert "2305.09781" in explained
    assert max(map(len, explained.splitlines())) <= 80
    assert "\\min" in run("rules", "chain", "--latex").output
    assert json.loads(run("rules", "chain", "--json").stdout)["name"] == "chain"
    assert json.loads(run("rules", "--json").stdout)
    assert run("rules", "chian").exit_code == 2


def test_certificates_are_written_and_rechecked(tmp_path: Path) -> None:
    file = tmp_path / "proofs.json"
    assert run("verify", "--rule", "chain", *FAST, "--certificates", str(file)).exit_code == 0
    result = run("check", str(file), "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert {c["kind"] for c in report["certificates"]} == {"any-vocabulary", "all-distributions"}

    content = json.loads(file.read_text())
    for entry in content["certificates"]:
        changed = {**content, "certificates": [entry | {"greedy": True}]}
        file.write_text(json.dumps(changed))
        assert run("check", str(file)).exit_code == 1
    content["rule"]["reference"] = "without_replacement"
    file.write_text(json.dumps(content))
    assert run("check", str(file)).exit_code in (1, 2)

    file.write_text("{}")
    assert run("check", str(file)).exit_code == 2
    assert run("check", str(tmp_path / "missing")).exit_code == 2


def test_an_interrupted_write_leaves_no_certificate_behind(tmp_path: Path) -> None:
    file = tmp_path / "proofs.json"
    run("verify", "--rule", "chain", "--tree", "2", "--certificates", str(file))
    assert list(tmp_path.iterdir()) == []
