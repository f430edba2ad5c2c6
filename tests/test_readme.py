"""Every command in the README is run and its output compared.

``python tests/test_readme.py`` writes the outputs into the README anew.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def output(command: str, folder: Path) -> str:
    """What a shell command prints on standard output, run from the checkout."""
    words = command.replace("losslesscheck ", f"{sys.executable} -m losslesscheck ", 1)
    words = words.replace("python ", f"{sys.executable} ", 1) if words.startswith("python ") else words
    for written in ("block.json", "runs.jsonl"):
        words = words.replace(written, str(folder / written))
    # A user who has checked the theorems on the own machine is told so; the README shows what others see.
    fresh = os.environ | {"XDG_CACHE_HOME": str(folder)}
    done = subprocess.run(words, shell=True, cwd=ROOT, capture_output=True, text=True, check=False, env=fresh)
    assert done.returncode in (0, 1, 3), done.stderr
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())


def commands(block: str) -> list[tuple[str, str]]:
    """(command, output) pairs of a console block."""
    return [(c.strip(), shown) for c, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)]


def timeless(text: str) -> str:
    """Without times, and without line breaks and spaces, which depend on how wide the times are."""
    return " ".join(re.sub(r"\d+\.\d\d s\b", "TIME", text).split())


BLOCKS = BLOCK.findall(README.read_text())


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[0].removeprefix("$ "))
def test_commands_print_what_the_readme_says(block: str, tmp_path: Path) -> None:
    for command, shown in commands(block):
        assert timeless(output(command, tmp_path)) == timeless(shown)


@pytest.mark.parametrize(
    ("text", "example"),
    [
        ("README.md", "resample.py"),
        ("losslesscheck/testing/README.md", "test_numpy_function.py"),
        ("losslesscheck/testing/README.md", "test_torch_function.py"),
        ("losslesscheck/testing/README.md", "test_injected_coins.py"),
    ],
    ids=lambda value: Path(value).name,
)
def test_examples_are_shown_as_they_are(text: str, example: str) -> None:
    shown = re.findall(r"```python\n(.*?)```", (ROOT / text).read_text(), re.DOTALL)
    code = (ROOT / "examples" / example).read_text()
    assert any(code.endswith(block) and len(block) > len(code) / 2 for block in shown)


def test_the_guide_names_every_check() -> None:
    from losslesscheck.testing.conformance import CHECKS

    guide = (ROOT / "losslesscheck/testing/README.md").read_text()
    assert re.findall(r"^\| `(\w+)` \| (.*) \|$", guide.split("## The conformance suite")[1], re.M) == [
        (check.name, check.about) for check in CHECKS
    ]


@pytest.mark.parametrize("text", ["README.md", "sim/README.md"])
def test_python_examples_run(text: str) -> None:
    failures, count = doctest.testfile(str(ROOT / text), module_relative=False)
    assert count
    assert not failures


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as name:

        def renewed(match: re.Match[str]) -> str:
            shown = [f"$ {c}\n{output(c, Path(name))}" for c, _ in commands(match[1])]
            return f"```console\n{''.join(shown)}```"

        README.write_text(BLOCK.sub(renewed, README.read_text()))
