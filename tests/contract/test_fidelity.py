"""docs/fidelity.md names what there is: its functions and tests exist, and every row says how it stands."""

import re
from functools import reduce
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
STATES = {"as printed", "in part", "read otherwise", "shown wrong", "missing"}
COLUMNS = ["paper", "what it has", "status", "where it is", "what holds it", "reading taken"]


def rows():
    for line in (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells != COLUMNS and set(line) - set("|- :"):
            yield cells


def test_the_tables_name_what_there_is():
    found = list(rows())
    assert len(found) >= 115
    assert {cells[0][:3] for cells in found} == {"000", "001", "002", "003", "004"}
    for cells in found:
        assert len(cells) == len(COLUMNS), cells
        paper, _, status, where, tests, reading = cells
        assert status in STATES, cells
        assert (where == "-") == (status == "missing"), paper
        assert reading or status in ("as printed", "shown wrong", "missing"), paper
        for module, name in re.findall(r"`(dpcore[\w.]*):([\w.]+)`", where):
            reduce(getattr, name.split("."), import_module(module))
        for file, name in re.findall(r"`(tests/[\w/.]+)::(\w+)`", tests):
            assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), (paper, file, name)
