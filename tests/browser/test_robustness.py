"""What goes wrong in lecture halls: killed servers, two tabs, impatient fingers, and people who look elsewhere.

The ledger is a file, as it is for a user, and it is read here from outside: what was drawn is charged, once.
"""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from dpcore import datasets
from dpcore.accounting.store import Books
from dpcore.accounting.store.lines import Account
from dpcore.datasets import Dataset
from dpcore.text import number
from scripts.screenshots import Server, settle, started

pytestmark = pytest.mark.browser

SAMPLE = datasets.load("sample")
MORE = "naive_bayes.redraws"
LONG = 240_000  # milliseconds; many releases on a busy computer
SOME = re.compile(r"Drawing 20 more: (?:[4-9]|1\d) of 20")  # three or more are drawn, and not all


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def server(program: str, folder: Path) -> Iterator[Server]:
    """A dashboard whose ledger is a file."""
    log = folder / "server.log"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPCORE_LEDGER", str(folder / "ledger.sqlite"))
        with started(log) as found:
            yield found
    assert "Traceback" not in log.read_text(errors="replace")


@pytest.fixture
def ledger(server: Server, folder: Path) -> Path:
    """That file, on which there is nothing yet."""
    for path in folder.glob("ledger.sqlite*"):
        path.unlink()
    return folder / "ledger.sqlite"


@pytest.fixture
def person(visitor, server: Server, ledger: Path):
    """The visitor of that dashboard."""
    visitor.address = server.address
    return visitor


def account(ledger: Path, data: Dataset = SAMPLE) -> Account:
    """What is written down of some data, which is what its runs sum to."""
    books = Books(ledger)
    key = books.key(data)
    found, runs = books.account(key, "add_remove"), books.runs(key, "add_remove")
    while found != (found := books.account(key, "add_remove")):  # the server may write between two looks
        runs = books.runs(key, "add_remove")
    assert found is not None
    assert sum(run.looks for run in runs) == found.looks
    assert sum(run.epsilon_bound for run in runs) == pytest.approx(found.epsilon_bound, rel=1e-12)  # each is rounded
    return found


def draw_more(person, page: Page) -> None:
    """Start 20 redraws, and come back when some of them are drawn."""
    person.tab("Draw again")
    person.button(MORE).click()
    expect(page.get_by_text(SOME)).to_be_visible(timeout=LONG)


def charged(person, found: Account) -> None:
    """The page Ledger shows what is written down."""
    looks, claimed, proved = person.ledger()
    assert looks == f"{found.looks:,}"
    assert (claimed, proved) == (number(found.epsilon_claimed), number(found.epsilon_bound))


def test_a_server_that_is_killed_forgets_no_charge(visitor, context, tmp_path, monkeypatch):
    page = context.new_page()  # of which nobody watches the console: it says that the server is gone
    ledger, log = tmp_path / "ledger.sqlite", tmp_path / "again.log"
    monkeypatch.setenv("DPCORE_LEDGER", str(ledger))
    with started(tmp_path / "server.log") as server:
        person = type(visitor)(page, server.address)
        person.try_now()
        draw_more(person, page)
        seen = account(ledger)
        server.process.kill()
    left = account(ledger)
    assert seen.looks >= 4
    assert seen.looks <= left.looks < 21
    assert seen.epsilon_bound <= left.epsilon_bound < 21 * person.epsilon
    with started(log, server.port):
        expect(person.metrics).to_have_count(0)  # the page finds the new server by itself
        settle(page)
        person.run()
        found = account(ledger)
        assert (found.looks, found.epsilon_bound) == (left.looks + 1, left.epsilon_bound + person.epsilon)
        charged(person, found)
        expect(page.get_by_test_id("stException")).to_have_count(0)
        page.close()
    assert "Traceback" not in log.read_text(errors="replace")


def test_two_tabs_share_the_ledger_and_nothing_else(person, ledger, context):
    other = type(person)(context.new_page(), person.address)
    presses = {person: ("ArrowLeft", "0.5"), other: ("ArrowRight", "2")}
    for each, (key, _) in presses.items():
        each.page.bring_to_front()  # Chromium hardly paints a page behind another one
        each.open("naive_bayes")
        for _ in range(2):
            each.keyed("naive_bayes.epsilon").get_by_role("slider").press(key)
        settle(each.page)
    for each in presses:
        each.page.bring_to_front()
        each.run_button.click()
    for each, (_, shown) in presses.items():
        each.page.bring_to_front()
        expect(each.metrics.nth(1)).to_have_text(shown)
        settle(each.page)
        assert each.headline()[:2] == [shown, shown]
    found = account(ledger)
    assert (found.looks, found.epsilon_bound) == (2, 2.5)
    for each, (_, shown) in presses.items():
        each.page.bring_to_front()
        charged(each, found)
        each.go("naive_bayes")
        assert each.headline()[:2] == [shown, shown]
    other.run()  # both have looked at the ledger by now
    found = account(ledger)
    assert (found.looks, found.epsilon_bound) == (3, 4.5)
    other.page.close()
    charged(person, found)


def test_run_pressed_twice_is_one_run(person, ledger):
    """Presses that come before the first one's run began are that run; then the button rests until it is over."""
    person.open("naive_bayes")
    button = person.run_button
    button.dblclick()
    expect(person.metrics.nth(1)).to_have_text(person.usual)
    settle(person.page)
    assert account(ledger).looks == 1
    expect(button).to_be_enabled()
    # A run is over in a moment here; that the button rests meanwhile is seen at the longer one below.
    button.evaluate("button => { button.click(); setTimeout(() => button.click(), 20); }")
    end = time.monotonic() + LONG / 1000
    while account(ledger).looks < 2 and time.monotonic() < end:
        person.page.wait_for_timeout(50)
    settle(person.page)
    expect(button).to_be_enabled()
    found = account(ledger)
    assert (found.looks, found.epsilon_bound) == (2, 2 * person.epsilon)
    person.tab("Draw again")
    more = person.button(MORE)
    more.dblclick()
    expect(person.cancel_button).to_be_visible()
    expect(more).to_be_disabled()
    expect(more).to_be_enabled(timeout=LONG)
    settle(person.page)
    found = account(ledger)
    assert (found.looks, found.epsilon_bound) == (22, 22 * person.epsilon)
    expect(person.page.get_by_test_id("stException")).to_have_count(0)
    charged(person, found)


def workers(server: Server) -> list[str]:
    """The processes that do a server's runs, where the system says which these are."""
    told = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    children = " ".join(path.read_text() for path in told).split()
    return [child for child in children if "LokyProcess" in Path(f"/proc/{child}/cmdline").read_text()]


def make_figure(person, done: str) -> None:
    """Begin 640 releases, and come back when some of them are drawn."""
    person.tab("The paper's figures")
    person.number("Repeats", 20)
    expect(person.page.get_by_text("A repeat is 32 releases")).to_be_visible()
    person.page.get_by_role("button", name="Make this figure").click()
    expect(person.page.get_by_text(re.compile(rf"Making releases: {done} done"))).to_be_visible(timeout=LONG)


def test_work_ends_soon_when_it_is_stopped_or_its_tab_is_closed(visitor, server, ledger, context):
    page = context.new_page()
    person = type(visitor)(page, server.address)
    person.try_now()
    before = person.headline()
    make_figure(person, r"[1-9]\d+")
    person.cancel_button.click()
    settle(page)
    expect(person.cancel_button).to_have_count(0)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert person.headline() == before
    marks = page.get_by_role("tabpanel", name="The paper's figures").locator("svg .role-mark.mark-symbol path")
    expect(marks.first).to_be_visible()
    assert 10 <= marks.count() < 1000
    found = account(ledger)
    assert 10 < found.looks < 641  # the release, and what the figure drew until then
    assert 1 < found.epsilon_claimed < 481  # charged for what was drawn, and not for all 640
    charged(person, found)
    person.go("naive_bayes")
    person.run()  # the page still works
    make_figure(person, r"[1-9]\d*")
    assert workers(server) or not Path("/proc").is_dir()
    page.close()
    end = time.monotonic() + LONG / 1000
    while workers(server) and time.monotonic() < end:
        time.sleep(0.2)
    assert not workers(server)
    assert found.looks + 1 < account(ledger).looks < found.looks + 641
