"""What goes wrong in lecture halls: killed servers, impatient fingers, and people who look elsewhere.

The ledger is a file, as it is for a user, and it is read here from outside: what was drawn is charged, once.
"""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dpcore import datasets
from dpcore.accounting.store import Account, LedgerStore
from dpcore.datasets import Dataset
from dpcore.text import number
from scripts.screenshots import Server, settle, start_dashboard

pytestmark = pytest.mark.browser

SAMPLE = datasets.load("sample")
MORE = "naive_bayes.redraws"
LONG = 240_000  # milliseconds; many releases on a busy computer
SOME = re.compile(r"Drawing 20 more releases: run (?:[4-9]|1\d) of 20")  # three or more are drawn, and not all


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def server(program: str, folder: Path) -> Iterator[Server]:
    """A dashboard whose ledger is a file."""
    log = folder / "server.log"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPCORE_LEDGER", str(folder / "ledger.sqlite"))
        with start_dashboard(log) as found:
            yield found
    assert "Traceback" not in log.read_text(errors="replace")


@pytest.fixture
def ledger(server: Server, folder: Path) -> Path:
    """That file, on which there is nothing yet."""
    for path in folder.glob("ledger.sqlite*"):
        path.unlink()
    return folder / "ledger.sqlite"


def account(ledger: Path, data: Dataset = SAMPLE) -> Account:
    """What is written down of some data."""
    books = LedgerStore(ledger)
    found = books.account(books.key(data), "add_remove")
    assert found is not None
    return found


def charged(person, ledger: Path, looks: int) -> None:
    """So many releases are written down, and the page Ledger shows what is."""
    found = account(ledger)
    assert (found.looks, found.epsilon_bound) == (looks, pytest.approx(looks * person.epsilon))
    assert person.ledger() == [f"{looks}", number(found.epsilon_claimed), number(found.epsilon_bound)]


def test_a_server_that_is_killed_forgets_no_charge(visitor, context, tmp_path, monkeypatch):
    page = context.new_page()  # of which nobody watches the console: it says that the server is gone
    ledger, log = tmp_path / "ledger.sqlite", tmp_path / "again.log"
    monkeypatch.setenv("DPCORE_LEDGER", str(ledger))
    with start_dashboard(tmp_path / "server.log") as server:
        person = type(visitor)(page, server.address)
        person.try_now()
        person.tab("Paper", "Run-to-run variation")
        person.button(MORE).click()
        expect(page.get_by_text(SOME)).to_be_visible(timeout=LONG)
        seen = account(ledger)
        server.process.kill()
    left = account(ledger)
    assert seen.looks >= 4
    assert seen.looks <= left.looks < 21
    assert seen.epsilon_bound <= left.epsilon_bound < 21 * person.epsilon
    with start_dashboard(log, server.port):
        expect(person.metrics).to_have_count(0)  # the page finds the new server by itself
        settle(page)
        person.run()
        charged(person, ledger, left.looks + 1)
        expect(page.get_by_test_id("stException")).to_have_count(0)
        page.close()
    assert "Traceback" not in log.read_text(errors="replace")


def test_run_pressed_twice_is_one_run(person, ledger):
    """Presses that come before the first one's run began are that run; then the button rests until it is over."""
    person.open("naive_bayes")
    person.run_button.dblclick()  # the second press may come when the button has given way to the bar
    expect(person.metrics.first).to_contain_text(f"{person.usual} · ")
    settle(person.page)
    assert account(ledger).looks == 1
    expect(person.run_button).to_be_enabled()
    person.tab("Paper", "Run-to-run variation")
    more = person.button(MORE)
    more.dblclick()
    expect(person.cancel_button).to_be_visible()
    expect(more).to_be_disabled()
    expect(more).to_be_enabled(timeout=LONG)
    settle(person.page)
    expect(person.page.get_by_test_id("stException")).to_have_count(0)
    charged(person, ledger, 21)


def workers(server: Server) -> list[str]:
    """The processes that do a server's runs, where the system says which these are."""
    text = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    children = " ".join(path.read_text() for path in text).split()
    return [child for child in children if "LokyProcess" in Path(f"/proc/{child}/cmdline").read_text()]


def test_work_ends_soon_when_its_tab_is_closed(visitor, server, ledger, context):
    page = context.new_page()
    person = type(visitor)(page, server.address)
    person.try_now()
    person.tab("Paper")
    person.number("Number of repeats", 20)
    page.get_by_role("button", name="What the paper prints").click()
    expect(page.get_by_text("A repeat is 32 releases")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Make this figure").click()
    expect(page.get_by_text(re.compile(r"Making releases: [1-9]\d* done"))).to_be_visible(timeout=LONG)
    assert workers(server) or not Path("/proc").is_dir()
    page.close()
    end = time.monotonic() + LONG / 1000
    while workers(server) and time.monotonic() < end:
        time.sleep(0.2)
    assert not workers(server)
    assert 1 < account(ledger).looks < 641  # the release, and what the figure drew until then
