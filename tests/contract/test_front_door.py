"""`import dpcore` loads nothing, every public name is there when it is used, and type checkers see the same names."""

import ast
import subprocess
import sys
from importlib import import_module
from itertools import takewhile
from pathlib import Path

import pytest

import dpcore
from dpcore.methods import METHODS
from scripts.registry import written

HEAVY = {"sklearn", "scipy", "altair", "joblib", "streamlit", "charset_normalizer", "opendp", "vl_convert"}
ROOT = Path(dpcore.__file__).parents[1]


def loaded(code: str) -> set[str]:
    """Every module, and the top of every package, that a fresh process holds after some code."""
    command = [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    return {*names, *(name.partition(".")[0] for name in names)}


def test_the_front_door_loads_nothing() -> None:
    names = loaded("import dpcore")
    assert not names & (HEAVY | {"numpy", "pandas", "pyarrow"})
    assert {name for name in names if name.startswith("dpcore")} == {"dpcore"}


def test_what_is_light_loads_nothing_heavy() -> None:
    names = "Schema", "Taxonomy", "Ledger", "ERRPH", "Forest", "durable_ledger", "datasets"
    code = "import dpcore\n" + "\n".join(f"dpcore.{name}" for name in names)
    assert not loaded(code) & HEAVY  # pandas itself loads pyarrow


def test_the_first_page_is_shown_before_anything_heavy_is_loaded() -> None:
    body = ast.parse((ROOT / "pages" / "home.py").read_text(encoding="utf-8")).body[1:]
    first = list(takewhile(lambda node: isinstance(node, ast.Import | ast.ImportFrom), body))
    assert len(first) > 1
    assert not loaded("\n".join(map(ast.unparse, first))) & HEAVY - {"streamlit"}


def test_what_stands_above_the_first_page_loads_nothing_heavy() -> None:
    until_title = """import os, streamlit
from streamlit.testing.v1 import AppTest
streamlit.title = lambda *_, **__: (print(*sys.modules, flush=True), os._exit(0))
AppTest.from_file("app.py", default_timeout=60).run()
sys.exit("The page has no title.")"""
    assert not loaded(until_title) & HEAVY - {"streamlit"}


def test_nor_does_a_picker_of_epsilon_load_methods() -> None:
    assert not loaded("from dpcore.dashboard.sections import epsilon_in_use") & {"sklearn", "scipy", "joblib"}


def test_every_public_name_is_there() -> None:
    assert dpcore.__all__ == sorted({*dpcore.PLACES, *(kind.__name__ for kind in METHODS.values())})
    assert set(dir(dpcore)) == {*dpcore.__all__, "__version__"}
    assert [name for name in dpcore.__all__ if not hasattr(dpcore, name)] == []
    assert list(METHODS) == [kind.title for kind in METHODS.values()]


def test_a_wrong_name_is_refused_as_usual() -> None:
    for module in ("dpcore", "dpcore.methods"):
        with pytest.raises(AttributeError, match=f"^module '{module}' has no attribute 'PrivBayse'$"):
            getattr(import_module(module), "PrivBayse")  # noqa: B009
        with pytest.raises(ImportError):
            exec(f"from {module} import PrivBayse")


def test_the_registry_is_a_mapping_that_imports_on_demand() -> None:
    names = loaded(
        "import dpcore\nassert 'JTree' in dpcore.METHODS and len(list(dpcore.METHODS)) == len(dpcore.METHODS)"
    )
    assert not {name for name in names if name.startswith("dpcore.methods.") and name != "dpcore.methods.registry"}
    assert METHODS.get("no such method") is None
    with pytest.raises(TypeError):
        METHODS["JTree"] = object


@pytest.mark.listed
def test_stubs_and_readme_follow_from_the_registry() -> None:
    stale = [path.name for path, text in written().items() if path.read_text(encoding="utf-8") != text]
    assert not stale, "run python scripts/registry.py"
