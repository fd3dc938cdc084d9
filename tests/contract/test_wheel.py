"""What `pip wheel .` makes: the package with the dashboard inside it, and nothing else."""

import zipfile
from pathlib import Path

from hatchling import build

import dpcore

ROOT = Path(__file__).resolve().parents[2]
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
