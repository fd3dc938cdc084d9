"""Test that `import dpcore` is light, and that stubs, README and wheel are complete."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling import build

import dpcore
from dpcore import METHODS, methods
from scripts.registry import generated_files

HEAVY = {"sklearn", "scipy", "altair", "joblib", "streamlit", "charset_normalizer", "opendp", "vl_convert"}
ROOT = Path(dpcore.__file__).parents[1]


def loaded(*stages: str) -> list[set[str]]:
    """Return the modules that a new process has loaded after each of some pieces of code."""
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


def test_importing_dpcore_loads_nothing_and_light_modules_load_nothing_heavy() -> None:
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
    assert dpcore.__all__ == sorted({*dpcore.LOCATIONS, *(kind.__name__ for kind in METHODS.values())})
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
    stale = [path.name for path, text in generated_files().items() if path.read_text(encoding="utf-8") != text]
    assert not stale, f"{', '.join(stale)}: run `python scripts/registry.py`"


INSIDE = "dpcore/dashboard/app"


def test_the_wheel_holds_the_package_the_dashboard_and_their_command(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)  # where a builder is called, as the standard has it
    wheel = zipfile.ZipFile(tmp_path / build.build_wheel(str(tmp_path)))
    inside = [path for path in (ROOT / "dpcore").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    dashboard = [ROOT / "app.py", *(ROOT / "pages").glob("*.py"), ROOT / ".streamlit" / "config.toml"]
    dashboard += [ROOT / "docs" / "teaching.md"]
    sources = {path.relative_to(ROOT).as_posix(): path for path in inside}
    sources |= {f"{INSIDE}/{path.relative_to(ROOT).as_posix()}": path for path in dashboard}
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == set(sources)
    assert {name for name in held if wheel.read(name) != sources[name].read_bytes()} == set()
    commands = wheel.read(f"dpcore-{dpcore.__version__}.dist-info/entry_points.txt")
    assert b"dpcore = dpcore.dashboard.__main__:main" in commands
