"""`import dpcore` loads nothing, every public name is there when it is used, and type checkers see the same names."""

import subprocess
import sys
from pathlib import Path

import pytest

import dpcore
from dpcore import METHODS, methods
from scripts.registry import written

HEAVY = {"sklearn", "scipy", "altair", "joblib", "streamlit", "charset_normalizer", "opendp", "vl_convert"}
ROOT = Path(dpcore.__file__).parents[1]


def loaded(*stages: str) -> list[set[str]]:
    """Every module, and the top of every package, that a fresh process holds after each of some pieces of code."""
    command = [sys.executable, "-c", "\nprint(*sys.modules, flush=True)\n".join(["import sys", *stages, ""])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    lines = done.stdout.splitlines()
    return [{part for name in line.split() for part in (name, name.partition(".")[0])} for line in lines[1:]]


UNTIL_LAST_DOOR = """import os, streamlit
from streamlit.testing.v1 import AppTest
def slider(*_, **__):
    print(*sys.modules, flush=True)
    os._exit(0)
streamlit.select_slider = slider
AppTest.from_file("app.py", default_timeout=60).run()
sys.exit("Start has no last door.")"""


def test_the_front_door_loads_nothing_and_what_is_light_or_the_first_page_loads_nothing_heavy() -> None:
    registry = "assert 'JTree' in dpcore.METHODS and len(list(dpcore.METHODS)) == len(dpcore.METHODS)"
    light = ("Schema", "Taxonomy", "Ledger", "ERRPH", "Forest", "persistent_ledger", "datasets")
    used_names = "\n".join(f"dpcore.{name}" for name in light)
    door, methods, used, page = loaded("import dpcore", registry, used_names, UNTIL_LAST_DOOR)
    assert not door & (HEAVY | {"numpy", "pandas", "pyarrow"})
    assert {name for name in door if name.startswith("dpcore")} == {"dpcore"}
    assert {name for name in methods if name.startswith("dpcore.methods.")} == {"dpcore.methods.registry"}
    assert not used & HEAVY  # pandas itself loads pyarrow
    assert not page & HEAVY - {"streamlit"}


def test_every_public_name_is_there() -> None:
    assert dpcore.__all__ == sorted({*dpcore.PLACES, *(kind.__name__ for kind in METHODS.values())})
    assert set(dir(dpcore)) == {*dpcore.__all__, "__version__"}
    assert [name for name in dpcore.__all__ if not hasattr(dpcore, name)] == []
    assert not any(hasattr(module, "PrivBayse") for module in (dpcore, methods))
    for name, advice in (
        ("mst", "Did you mean 'MST'?"),
        ("AdaptiveMarginal", "Did you mean 'AdaptiveMarginals'?"),
        ("Context", r"dp\.Ledger"),
        ("GaussianNB", r"dp\.DiffPRFs"),
        ("Synthesizer", r"dp\.MST"),
        ("Metadata", r"dp\.Schema"),
    ):
        with pytest.raises(AttributeError, match=advice):
            getattr(dpcore, name)
    with pytest.raises(KeyError, match="Did you mean 'MST'"):
        METHODS["mst"]
    for name, advice in (("ledger_", "Call fit"), ("fit_sample", r"sample\(100\)"), ("predict", "releases rows")):
        with pytest.raises(AttributeError, match=advice):
            getattr(dpcore.MST(), name)
    assert list(METHODS) == [kind.title for kind in METHODS.values()]


@pytest.mark.listed
def test_stubs_and_readme_follow_from_the_registry() -> None:
    stale = [path.name for path, text in written().items() if path.read_text(encoding="utf-8") != text]
    assert not stale, f"{', '.join(stale)}: run `python scripts/registry.py`"
