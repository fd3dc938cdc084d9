"""No page names a sum of the rows, and what is done first behind a deep link into a new server counts."""

import hashlib

import pytest
from driving import MENU, PAGE, ROOT, TIMEOUT, csv, opened, people, press, run, shown, started, using
from prepared import with_release
from screen import books, dataset, elements, said, widget, words
from streamlit.testing.v1 import AppTest

from dpcore.charts.base import REAL_DATA


def test_a_release_stays_and_no_page_names_a_sum_of_the_rows() -> None:
    """Whoever sees a screen, a widget's key included, and knows all rows but one, could test guesses of that one."""
    raw = csv(people())
    at = using("people.csv", raw)
    press(opened(at, PAGE), f"{PAGE}.run")
    first, spent = shown(at), books(at)
    for page in MENU:
        screen = "".join(
            f"{found.key} {getattr(found, 'proto', '')}"
            for found in elements(opened(at, page))
            if hasattr(found, "key")
        )
        assert dataset(at).token.removesuffix("-tested") in screen or page not in ("data", PAGE, "networks")
        assert hashlib.sha256(raw).hexdigest()[:12] not in screen + words(at, everywhere=True), page
        assert shown(opened(at, PAGE)) is first, page
        assert books(at) == spent, page


def test_first_thing_done_behind_a_deep_link_counts(server) -> None:
    """A server that nobody has opened yet runs the page without app.py, where widgets have other identities."""
    server.fresh = True
    at = AppTest.from_file(ROOT / "app.py", default_timeout=TIMEOUT)
    run(at.switch_page(f"pages/{PAGE}.py"))
    server.fresh = False
    widget(at, f"{PAGE}.epsilon").set_value(0.5)
    press(run(at), f"{PAGE}.run")
    assert shown(at).release.ledger.epsilon_bound == pytest.approx(0.5)


def test_what_hangs_on_the_rows_is_marked() -> None:
    """Under add_remove, the number of rows is an answer that nobody paid for."""
    at = with_release("summary")
    assert all(metric.label.startswith("⚠") for metric in at.metric[1:])
    in_use = at.sidebar.markdown[0]
    assert in_use.value.endswith("⚠")
    assert "⚠" in in_use.proto.help
    assert REAL_DATA in said(at)


def test_start_hands_a_file_over_and_takes_its_epsilon_along() -> None:
    at = started()
    widget(at, "home.epsilon").set_value(0.5)
    press(run(at), "home.try")
    assert shown(at).release.ledger.epsilon_bound == pytest.approx(0.5)
    widget(opened(at, "home"), "home.file").set_value(("people.csv", csv(people()), "text/csv"))
    assert run(at).session_state["dpcore.page"] == "data"
