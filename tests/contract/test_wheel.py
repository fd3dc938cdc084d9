"""What `pip wheel .` makes: the package with the dashboard inside it, and nothing else."""

import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from hatchling import build

import dpcore

ROOT = Path(__file__).resolve().parents[2]
INSIDE = "dpcore/dashboard/app"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)  # where a builder is called, as the standard has it
        return zipfile.ZipFile(folder / build.build_wheel(str(folder)))


def test_the_wheel_holds_the_package_and_the_dashboard(wheel: zipfile.ZipFile) -> None:
    package = [path for path in (ROOT / "dpcore").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    pages = [path for path in (ROOT / "pages").iterdir() if path.suffix == ".py"]
    dashboard = [ROOT / "app.py", *pages, ROOT / ".streamlit" / "config.toml"]
    sources = {path.relative_to(ROOT).as_posix(): path for path in package}
    sources |= {f"{INSIDE}/{path.relative_to(ROOT).as_posix()}": path for path in dashboard}
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == set(sources)
    assert {name for name in held if wheel.read(name) != sources[name].read_bytes()} == set()


def test_the_wheel_is_what_the_package_says_it_is(wheel: zipfile.ZipFile) -> None:
    about = f"dpcore-{dpcore.__version__}.dist-info"
    metadata = Parser().parsestr(wheel.read(f"{about}/METADATA").decode())
    assert metadata["Version"] == dpcore.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert f"{about}/licenses/LICENSE" in wheel.namelist()
    assert "dpcore = dpcore.dashboard.__main__:main" in wheel.read(f"{about}/entry_points.txt").decode()
