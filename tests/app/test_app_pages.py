"""Every file in pages/ runs through the app, and behind a deep link into a server that was just started."""

import hashlib
import logging
import time
from threading import Thread

import pytest
from driving import MENU, PAGE, PAGES, ROOT, TIMEOUT, csv, opened, people, press, run, shown, started, tab, using
from prepared import with_release
from screen import books, dataset, elements, said, tabs, widget, words
from streamlit.testing.v1 import AppTest

from dpcore.dashboard import housekeeping, shell


def test_every_page_through_the_app() -> None:
    at = started()
    home = at.title[0].value
    for page in MENU:
        run(opened(at, page))
        assert len(at.title) == 1
        assert (at.title[0].value == home) == (page == "home")
        assert at.sidebar.markdown[0].value.startswith("**sample**")
        assert not at.error, page
        assert books(at) == {}  # no page asks the rows unasked


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
        assert dataset(at).token in screen or page not in ("data", PAGE, "networks")
        assert hashlib.sha256(raw).hexdigest()[:12] not in screen + words(at, everywhere=True), page
        assert shown(opened(at, PAGE)) is first, page
        assert books(at) == spent, page


@pytest.mark.parametrize("page", PAGES)
def test_first_thing_done_behind_a_deep_link_counts(page: str, server) -> None:
    """A server that nobody has opened yet runs the page without app.py, where widgets have other identities."""
    server.fresh = True
    at = AppTest.from_file(ROOT / "app.py", default_timeout=TIMEOUT)
    run(at.switch_page(f"pages/{page}.py"))
    server.fresh = False
    before = [found.id for found in elements(at) if getattr(found, "id", "")]
    assert before
    if page in ("naive_bayes", "networks", "taxonomy", "forests"):  # the first setting and press
        widget(at, f"{page}.epsilon").set_value(0.5)
        press(run(at), f"{page}.run")
        assert at.session_state["dpcore.shown"][page].release.ledger.epsilon_bound == pytest.approx(0.5)
        return
    assert [found.id for found in elements(run(at)) if getattr(found, "id", "")] == before


def test_home_leads_on_and_its_primer_moves_without_touching_data() -> None:
    at = started()
    assert "73.1% sure" in said(at)
    for option in at.select_slider("home.epsilon").options[::-4]:
        at.select_slider("home.epsilon").set_value(float(option))
        text = said(run(at))
        assert "% sure**" in text or "practically certain" in text
        assert "100.0" not in text
    assert "so that its guarantee is proved" in said(at)
    assert books(at) == {}
    assert press(at, "home.own").title[0].value == "Data & schema"


def test_a_server_without_the_guard_says_so_on_home_and_once_in_its_log(monkeypatch, caplog) -> None:
    """Whoever types `streamlit run app.py` would not know that a page of any site can talk to it."""
    assert not started().warning  # a test of pages, which starts no server, is not taken for one
    monkeypatch.setattr(housekeeping, "unguarded", lambda: True, raising=False)
    monkeypatch.setattr(shell, "_loading", Thread(target=list))
    at = started()
    (line,) = run(at).warning
    assert "without its guard" in line.value
    assert [record.getMessage() for record in caplog.records if "guard" in record.getMessage()] == [line.value]
    assert not opened(at, "data").warning


def test_without_the_command_as_well_a_server_that_is_to_ask_who_comes_shows_no_page(monkeypatch, caplog) -> None:
    monkeypatch.setenv("DPCORE_LOGIN", "1")
    at = AppTest.from_file(ROOT / "app.py", default_timeout=TIMEOUT).run()
    assert at.exception
    assert "let a proxy in front of it ask who comes" in caplog.text
    assert not at.title
    assert not at.sidebar.markdown


def test_a_display_widget_answers_at_once(slow_charts: None, whole_sample) -> None:
    """Processor seconds of a run after which only a tab or a choice differs; the aim is 0.15."""
    at = with_release(given=whole_sample)
    seconds = {}
    for name in [*tabs(at), "Columns"]:
        tab(at, name)
        if name in seconds:  # another column, which was looked at before
            for step in (1, -1):
                box = at.selectbox(f"{PAGE}.column")
                box.select_index((box.index + step) % len(box.options))
                name = "another column"
                start = time.process_time()
                run(at)
        else:
            start = time.process_time()
            run(at)
        seconds[name] = time.process_time() - start
    logging.getLogger(__name__).info("seconds: %s", {name: round(found, 2) for name, found in seconds.items()})
    assert max(seconds.values()) < 1.0, seconds


def test_what_hangs_on_the_rows_is_marked() -> None:
    """The time of a run and, under add_remove, the number of rows are answers that nobody paid for."""
    at = with_release("Accuracy")
    (time,) = [metric for metric in at.metric if metric.label == "⚠ Run time"]
    assert time.proto.help.startswith("⚠ Uses real data: do not publish.")
    in_use = at.sidebar.markdown[0]
    assert in_use.value.endswith("⚠")
    assert "nor must these row counts and the time that a run takes." in in_use.proto.help
    (told,) = [text.value for text in at.markdown if "real rows that no method has seen" in text.value]
    assert "Uses real data" in told
