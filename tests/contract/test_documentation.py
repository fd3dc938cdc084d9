"""Test that code in pages runs, commands exist, and docs/fidelity.md names real functions."""

import os
import re
import shlex
import tomllib
from functools import reduce
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pytest
from packaging.requirements import Requirement
from streamlit.web import cli

from dpcore.dashboard import __main__ as command
from dpcore.experiment.commands import make_parser

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
SHOWN = [  # page, kind and text of each block
    (path.relative_to(ROOT).as_posix(), kind, dedent(text))
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for _, kind, text in BLOCK.findall(path.read_text("utf-8"))
]
PAGES = sorted({page for page, kind, _ in SHOWN if kind == "python"})
COMMANDS = {line for _, kind, text in SHOWN if kind in ("sh", "text") for line in text.splitlines()}
LINES = sorted(line for line in COMMANDS if line.split(" ")[0] in ("dpcore", "make", "pip"))


@pytest.mark.parametrize(("page", "most"), [("README.md", 1_300), ("docs/start.md", 900)])
def test_first_pages_stay_short(page: str, most: int) -> None:
    assert len((ROOT / page).read_text("utf-8").split()) <= most


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPCORE_LEDGER", "session")
    names: dict[str, object] = {"__name__": "__main__"}
    for block in [text for there, kind, text in SHOWN if (there, kind) == (page, "python")]:
        exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize("line", LINES)
def test_commands_are_understood(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, *words = shlex.split(line.partition(" > ")[0], comments=True)
    if program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    elif program == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
        wanted = re.sub(r"^\./dpcore[^\[]*|^\.(?=\[)", "dpcore", words[1])  # a wheel, or this folder
        assert Requirement(wanted).name == "dpcore"
        assert Requirement(wanted).extras <= extras.keys()
    elif words and words[0] in command.COMMANDS:
        make_parser(words[0]).parse_intermixed_args(words[1:])
    else:
        monkeypatch.setattr(os, "environ", {**os.environ})
        monkeypatch.setattr(cli.main_run, "main", lambda *_, **__: None)
        assert command.main(words) == 0


STATES = {"as published", "in part", "read otherwise", "shown wrong", "missing"}
COLUMNS = ["paper", "what it has", "status", "where it is", "what holds it", "reading taken"]


def rows():
    for line in (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells != COLUMNS and set(line) - set("|- :"):
            yield cells


def test_tables_of_the_documentation_are_complete():
    found = list(rows())
    assert len(found) >= 115
    assert {cells[0][:3] for cells in found} == {"000", "001", "002", "003", "004"}
    for cells in found:
        assert len(cells) == len(COLUMNS), cells
        paper, _, status, where, tests, reading = cells
        assert status in STATES, cells
        assert (where == "-") == (status == "missing"), paper
        assert reading or status in ("as published", "shown wrong", "missing"), paper
        for module, name in re.findall(r"`(dpcore[\w.]*):([\w.]+)`", where):
            reduce(getattr, name.split("."), import_module(module))
        for file, name in re.findall(r"`(tests/[\w/.]+)::(\w+)`", tests):
            assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), (paper, file, name)
