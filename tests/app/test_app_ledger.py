"""The ledger page: what all sessions together spent, caps, and files that cannot be used."""

import io
import math
import os
import zipfile
from pathlib import Path

import pytest
from driving import (
    PAGE,
    TIMEOUT,
    books,
    change,
    charts,
    errors,
    key_of,
    mendable,
    opened,
    press,
    released,
    run,
    said,
    shown,
    started,
    widget,
    words,
)
from streamlit.testing.v1 import AppTest

from dpcore.accounting.store import Books

KEY = "add_remove"


def account(at, path, relation=KEY):
    return Books(path).account(key_of(at), relation)


def test_a_second_session_adds_to_the_first(ledger_file) -> None:
    """Two tabs, or today and tomorrow."""
    first = released(epsilon=1.0)
    second = released(epsilon=0.5)
    found = account(first, ledger_file)
    assert (found.looks, found.epsilon_claimed, found.epsilon_bound) == (2, 1.5, 1.5)
    for at in (first, second):
        text = said(opened(at, "ledger"))
        assert "You have looked 2 times: total epsilon 1.5." in text
        assert "2 releases, epsilon 1.5 (add or remove one row)" in text  # beside the data in use, on every page
        assert len(next(iter(books(at).values()))) == 3  # each session lists its own questions
    assert books(first) != books(second)


def test_toggling_spends_nothing(ledger_file) -> None:
    at = released(epsilon=1.0)
    before = account(at, ledger_file)
    for name in ("Columns", "Take home", "Price"):
        at.session_state[f"{PAGE}.tab"] = name
        run(at)
    opened(opened(at, "ledger"), PAGE)
    assert account(at, ledger_file) == before


def test_pressing_run_twice_charges_what_was_drawn(ledger_file) -> None:
    """Presses that arrive together ask for one run; each run is charged once."""
    at = started(PAGE)
    widget(at, f"{PAGE}.run").click()
    widget(at, f"{PAGE}.run").click()
    run(at)
    assert account(at, ledger_file).looks == 1
    press(at, f"{PAGE}.run")
    assert account(at, ledger_file).looks == 2


def test_a_press_that_was_on_its_way_is_no_second_run(ledger_file) -> None:
    """The browser may have sent it before it showed the run, and it may come when all is over."""
    at = started(PAGE)
    late = widget(at, f"{PAGE}.run").click()._widget_state
    run(at)
    states = at._tree.get_widget_states()
    states.widgets.append(late)
    at._run(states)
    assert account(at, ledger_file).looks == 1


def test_what_has_no_proof_has_no_total(ledger_file) -> None:
    at = change(started(PAGE), mode="paper")
    variant = widget(at, f"{PAGE}.variant.paper")
    variant.set_value(next(option for option in variant.options if "no privacy" in option))
    run(at)
    press(at, f"{PAGE}.run")
    assert "no total can be proved" in said(opened(at, "ledger"))
    assert "no guarantee is left" in said(at)
    assert account(at, ledger_file).totals.bound == math.inf


def test_a_cap_refuses_and_says_so(ledger_file) -> None:
    at = released(epsilon=1.0)
    opened(at, "ledger")
    widget(at, f"ledger.cap.{key_of(at)}.{KEY}").set_value(1.5)
    run(at)
    assert account(at, ledger_file).cap is None  # typing is not yet asking
    press(at, f"ledger.set.{key_of(at)}.{KEY}")
    assert account(at, ledger_file).cap == 1.5
    assert "Cap 1.5" in said(at)
    opened(at, PAGE)
    before = shown(at)
    press(at, f"{PAGE}.run")
    (error,) = mendable(at)
    assert "capped at 1.5" in error
    assert "Nothing was drawn" in error
    assert shown(at) is before  # the earlier release stays
    assert account(at, ledger_file).epsilon_bound == 1.0
    press(opened(at, "ledger"), f"ledger.free.{key_of(at)}.{KEY}")
    assert account(at, ledger_file).cap is None


def damage(path: Path) -> bytes:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(b"no ledger" * 1000)
    return path.read_bytes()


def test_a_damaged_ledger_draws_nothing_and_leads_on(ledger_file) -> None:
    whole = damage(ledger_file)
    at = started(PAGE)
    assert "cannot be read" in said(at)
    press(at, f"{PAGE}.run")
    (error,) = mendable(at)
    assert "is damaged" in error
    assert "Nothing was drawn" in error
    assert shown(at) is None
    assert books(at) == {} or next(iter(books(at).values()))[1:] == (0.0, 0.0)
    opened(at, "ledger")
    assert any("is damaged" in error for error in errors(at))
    press(at, "ledger.aside")
    assert not errors(at)
    (aside,) = ledger_file.parent.glob("*.aside-*")
    assert aside.read_bytes() == whole
    assert aside.name in said(at)
    released(opened(at, PAGE))
    assert account(at, ledger_file).looks == 1


def test_a_ledger_put_back_from_an_older_copy_is_for_a_person_to_judge(ledger_file) -> None:
    at = released(epsilon=1.0)
    older = ledger_file.read_bytes()
    press(at, f"{PAGE}.run")
    ledger_file.write_bytes(older)
    press(at, f"{PAGE}.run")
    assert "changes that were written to it" in mendable(at)[0]
    assert "charges may be missing" in said(opened(at, "ledger"))
    press(at, "ledger.go_on")
    assert not errors(at)
    assert "You have looked once: total epsilon 1." in said(at)


def test_a_copy_is_offered(ledger_file) -> None:
    at = opened(released(epsilon=1.0), "ledger")
    assert widget(at, "ledger.copy").label == "Save a copy"
    with zipfile.ZipFile(io.BytesIO(at.session_state["dpcore.books"].copy())) as archive:
        assert archive.read(ledger_file.name) == ledger_file.read_bytes()


def test_a_damaged_ledger_can_be_left_for_the_session(ledger_file) -> None:
    whole = damage(ledger_file)
    at = press(started("ledger"), "ledger.session")
    assert "for this session only" in said(at)
    released(opened(at, PAGE))
    assert "You have looked once" in said(opened(at, "ledger"))
    assert ledger_file.read_bytes() == whole


@pytest.mark.skipif(os.name != "posix" or not Path("/proc/1").exists(), reason="needs a folder that nobody can write")
def test_a_ledger_that_cannot_be_written(monkeypatch) -> None:
    monkeypatch.setenv("DPCORE_LEDGER", "/proc/dpcore/ledger.sqlite")
    at = press(started(PAGE), f"{PAGE}.run")
    assert "cannot be opened" in mendable(at)[0]
    assert shown(at) is None


def test_a_hosted_demo_keeps_nothing(monkeypatch, ledger_file) -> None:
    monkeypatch.setenv("DPCORE_LEDGER", "session")
    at = released()
    assert "You have looked once" in said(opened(at, "ledger"))
    assert "for this session only" in said(at)
    assert not ledger_file.exists()
    assert "nothing on it yet" in said(started("ledger"))  # nor is one visitor's spending shown to another


def test_a_visitor_opens_no_file_of_the_host(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("DPCORE_LEDGER", "session")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    at = started("ledger")
    assert not [button for button in at.button if "file" in button.label]
    assert not at.code
    assert str(tmp_path) not in words(at, everywhere=True)
    at = AppTest.from_function(pressed_as_before, default_timeout=TIMEOUT).run()  # by a page of an earlier start
    assert at.session_state["dpcore.books"].kept is False
    assert not list(tmp_path.iterdir())


def pressed_as_before() -> None:
    from dpcore.accounting.store import usual_path
    from dpcore.dashboard import session as state

    state.keep_books(usual_path())
    state.books().accounts()


def test_from_the_session_back_to_the_file(ledger_file) -> None:
    at = started("ledger")
    at.checkbox("ledger.sure").check()
    press(run(at), "ledger.session")
    assert "go with the session" in said(at)
    press(at, "ledger.keep")
    assert str(ledger_file) in "".join(code.value for code in at.code)


def test_redraws_are_looks(ledger_file) -> None:
    at = released(epsilon=0.1)
    at.session_state[f"{PAGE}.tab"] = "Draw again"
    press(run(at), f"{PAGE}.redraws.go")
    found = account(at, ledger_file)
    assert (found.looks, found.epsilon_bound) == (21, pytest.approx(2.1))
    assert [line.looks for line in Books(ledger_file).runs(key_of(at), KEY)] == [1, 20]


def test_a_figure_is_written_down_by_its_workers_and_once(ledger_file) -> None:
    """Runs in other processes charge the file themselves; the session only lists them."""
    at = released(epsilon=0.1)
    at.session_state[f"{PAGE}.tab"] = "The paper's figures"
    widget(run(at), f"{PAGE}.figures.repeats").set_value(1)
    run(at)
    keys = [button.key.partition(":")[0] for button in at.button]
    (go,) = [key for key in keys if key.startswith(f"{PAGE}.figures.") and key.endswith(".go")]
    press(at, go)
    assert charts(at)
    session = at.session_state["dpcore.accounts"]
    for (key, relation), asked in session.items():
        found = Books(ledger_file).account(key, relation)
        assert found.epsilon_claimed == pytest.approx(asked.epsilon_claimed)
        assert found.epsilon_bound == pytest.approx(asked.epsilon_bound)
        assert found.looks == sum(max(len(part.children), len(part.entries)) for part in asked.children[1:]) + 1
