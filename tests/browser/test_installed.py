"""The dashboard as people install it: from the wheel, started by its command, in a folder in which there is nothing.

The wheel is built and installed without a network: what it needs is taken from the environment of the tests, and the
package itself, which is not installed there, can come from the wheel alone.
"""

import json
import os
import socket
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dpcore.accounting.store import LedgerStore
from scripts.screenshots import ROOT, Server, settle, start_dashboard

pytestmark = pytest.mark.browser

# A page that tells what is in force, and breaks as a page would over a cell that it cannot read.
BROKEN = """
import json
import streamlit as st
import dpcore
from dpcore.dashboard.shell import draw_frame

draw_frame("Broken", "")
st.code(json.dumps([dpcore.__file__, {{name: st.get_option(name) for name in {names!r}}}]))
raise ValueError("x7-HIV+")
"""


def ended_well(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def installed(program: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment, in which the wheel is installed."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-deps"]
    ended_well([*pip, "wheel", *offline, "--no-build-isolation", "--wheel-dir", str(folder), "."], ROOT)
    venv.create(folder / "env", symlinks=os.name != "nt")
    programs = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    (wheel,) = folder.glob("*.whl")
    ended_well([*pip, "--python", str(programs / "python"), "install", *offline, str(wheel)], folder)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = ended_well([str(programs / "python"), "-c", where], folder)
    shared = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    (Path(site.strip()) / "shared.pth").write_text("\n".join(shared), encoding="utf-8")
    return programs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of somebody who never used it, with an empty folder in it."""
    found = tmp_path_factory.mktemp("home")
    (found / "empty").mkdir()
    return found


@pytest.fixture(scope="module")
def server(installed: Path, folder: Path) -> Iterator[Server]:
    """What the command serves from the empty folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPATH", raising=False)
        patch.setenv("HOME", str(folder))
        patch.setenv("DPCORE_LEDGER", str(folder / "ledger.sqlite"))
        command = [str(installed / "dpcore")]
        with start_dashboard(folder / "server.log", command=command, folder=folder / "empty") as found:
            yield found


def test_a_release_from_an_empty_folder(person, folder):
    """The first thing that is set behind a deep link is not lost."""
    person.open_first("naive_bayes")
    heading = person.page.get_by_role("heading", level=1)
    assert heading.evaluate("e => getComputedStyle(e).fontSize") == "25.5px"  # 1.5rem of 17, as config.toml has them
    person.keyed("naive_bayes.epsilon").get_by_role("slider").press("ArrowRight")
    settle(person.page)
    person.run()
    assert person.proven() == "1.5"
    assert sum(line.looks for line in LedgerStore(folder / "ledger.sqlite").accounts()) == 1
    assert len(person.take_home()) > 100_000
    assert list((folder / "empty").iterdir()) == []
    # Its other processes start too: the one that reads files of people, and those that share a comparison's runs.
    person.upload("people.csv", b"age,ill\n" + b"30,no\n50,yes\n" * 50)
    expect(person.button("data.use")).to_be_visible()
    person.go("compare")
    person.page.get_by_role("button", name="Which method keeps most?").click()
    settle(person.page, 240)
    assert sum(line.looks for line in LedgerStore(folder / "ledger.sqlite").accounts()) >= 10
    assert "Traceback" not in (folder / "server.log").read_text(errors="replace")


def test_it_serves_this_computer_only_and_tells_nothing_of_errors(person, server, installed, folder):
    with pytest.raises(OSError, match=r"refused|unreachable|timed out"):  # other addresses of this computer
        socket.create_connection(("127.0.0.2", server.port), timeout=5)
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    names = [f"{section}.{name}" for section in ("server", "browser", "client", "runner") for name in config[section]]
    (page,) = installed.parent.rglob("dpcore/dashboard/app/pages/mechanisms.py")
    whole = page.read_bytes()
    page.write_text(BROKEN.format(names=names), encoding="utf-8")
    try:
        person.open()
        person.go("mechanisms")
        shown = person.page.get_by_test_id("stException")
        expect(shown).to_contain_text("ValueError")
        assert "HIV" not in person.page.content()
        assert shown.get_by_role("link").count() == 0
        source, options = json.loads(person.page.get_by_test_id("stCode").inner_text())
    finally:
        page.write_bytes(whole)
    assert Path(source).is_relative_to(installed.parent)
    wanted = {name: config[name.split(".")[0]][name.split(".")[1]] for name in names}
    assert options == wanted | {"client.showSidebarNavigation": True}  # off until the app has a menu of its own
    assert "x7-HIV+" in (folder / "server.log").read_text(errors="replace")  # it did break, for who started it to see
