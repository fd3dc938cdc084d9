"""The ledger page: what all sessions together spent, caps, and files that cannot be used."""

import io
import math
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from driving import PAGE, TIMEOUT, change, opened, people, press, released, run, shown, started, tab
from prepared import PEOPLE, data, page
from screen import books, charts, errors, key_of, mendable, metrics, said, widget, words
from streamlit.testing.v1 import AppTest

from dpcore import Schema
from dpcore.accounting.store import Books
from dpcore.datasets import Dataset
from dpcore.domain.unit import Unit
from dpcore.experiment.figures import naive_bayes as figures_000

KEY = "add_remove"


def account(at: AppTest, path: Path, relation: str = KEY) -> Any:
    return Books(path).account(key_of(at), relation)


def looked(at: AppTest) -> list[tuple[str, str]]:
    """Releases and epsilons of every account on the page."""
    looks, proved = (
        [value for label, value in metrics(at) if label == name]
        for name in ("Releases looked at", "It can cost up to, in all")
    )
    return list(zip(looks, proved, strict=True))


def test_a_second_session_adds_to_the_first(ledger_file: Path) -> None:
    """Two tabs, or today and tomorrow."""
    first, second = released(page(), epsilon=1.0), released(page(), epsilon=0.5)
    found = account(first, ledger_file)
    assert (found.looks, found.epsilon_claimed, found.epsilon_bound) == (2, 1.5, 1.5)
    for at in (first, second):
        text = said(opened(at, "ledger"))
        assert "You have looked 2 times: at most epsilon 1.5 in all." in text
        assert "2 releases, epsilon 1.5 (add or remove one row)" in text  # beside the data in use, on every page
        assert len(next(iter(books(at).values()))) == 3  # each session lists its own questions
    assert books(first) != books(second)


def test_presses_that_arrive_together_or_late_ask_for_one_run(ledger_file: Path) -> None:
    at = page()
    late = widget(at, f"{PAGE}.run").click()._widget_state
    widget(at, f"{PAGE}.run").click()
    run(at)
    assert account(at, ledger_file).looks == 1
    states = at._tree.get_widget_states()  # the browser sent it before it showed the run, and it comes when all is over
    states.widgets.append(late)
    at._run(states)
    assert account(at, ledger_file).looks == 1
    press(at, f"{PAGE}.run")
    assert account(at, ledger_file).looks == 2


def test_relations_and_data_have_accounts_of_their_own() -> None:
    at = released(page(), epsilon=2.0)
    released(at, relation="replace", epsilon=3.0)
    released(at)
    opened(at, "ledger")
    assert len({found.value for found in at.header}) == 2
    assert looked(at) == [("1", "2"), ("2", "6")]
    assert "together they cost at most epsilon **10** if one row is changed" in said(at)  # 2 * 2 + 6
    at.session_state["dpcore.data"] = data(people(60, seed=4), "others", source="inferred")
    released(opened(at, PAGE), epsilon=1.0)
    assert [spent[1:] for spent in books(at).values()] == [(2, 2), (6, 6), (1, math.inf)]
    assert len({key for key, _ in books(at)}) == 2


def test_runs_with_a_delta_have_an_account_that_says_so(ledger_file: Path) -> None:
    at = released(page(), epsilon=1.0)
    released(at, delta=1e-9)
    released(at)
    text = said(opened(at, "ledger"))
    assert [found.value for found in at.header][1].endswith("with delta 1e-09")
    (first, _), (second, both) = looked(at)
    assert (first, second) == ("1", "2")
    assert 1.4 < float(both) < 1.5  # rho adds up: epsilon does not
    assert "one in 1,000,000,000" in text
    assert "An epsilon with a delta and one without are different promises" in text
    assert f"epsilon {both} at delta 1e-09" in text  # beside the data in use, and beside the account without one
    assert Books(ledger_file).account(key_of(at), KEY, 1e-9).looks == 2
    change(opened(at, PAGE), delta=1e-6)
    press(at, f"{PAGE}.run")
    assert "The delta of" in " ".join(errors(at))
    assert Books(ledger_file).account(key_of(at), KEY, 1e-6) is None


def test_what_has_no_proof_is_listed_apart(ledger_file: Path) -> None:
    at = change(page(), mode="paper")
    variants = widget(at, f"{PAGE}.variant.paper").options
    change(at, variant__paper=next(option for option in variants if "no privacy" in option))
    press(at, f"{PAGE}.run")
    text = said(opened(at, "ledger"))
    assert "Listed apart: one release without a guarantee" in text
    assert "You have looked" not in text
    assert "Charged for them: 1 release without a guarantee, which no epsilon covers" in text
    (found,) = Books(ledger_file).accounts()
    assert (found.looks, found.apart, found.totals.bound) == (0, 1, 0)
    at = released(page(data(people(60, seed=4))), seed=3)  # so is what anybody can draw again
    released(at, relation="replace", seed=None)
    assert sorted(looked(opened(at, "ledger"))[-2:]) == [("0", "none"), ("1", "1")]
    assert any("For teaching only" in told for table in at.dataframe for told in table.value.get("why", ()))
    assert "together they cost at most" not in said(at)


def test_what_was_proved_before_a_run_without_a_guarantee_stays_so_and_is_said_to_be_a_part() -> None:
    at = released(page(), epsilon=1.5)
    at.session_state["dpcore.data"] = replace(PEOPLE, schema=replace(PEOPLE.schema, source="inferred"))
    released(run(at))
    text = said(opened(at, "ledger"))
    assert looked(at) == [("1", "1.5")]
    assert "from seeing those, and nothing else" in text
    assert "You have looked once with a guarantee: at most epsilon 1.5 in all." in text
    assert "The one above is of the other releases alone: whoever has seen this one may know anything" in text
    assert "1 release, epsilon 1.5 (add or remove one row); 1 release without a guarantee" in text
    proved, other = (table.value for table in at.dataframe[:2])
    assert (len(proved), len(other)) == (1, 1)
    assert "the schema was inferred" in other["why"][0].lower()


def test_a_cap_refuses_and_says_so(ledger_file: Path) -> None:
    at = opened(released(page(), epsilon=1.0), "ledger")
    set_cap(at, 1.5)
    assert account(at, ledger_file).cap is None  # typing is not yet asking
    press(at, f"ledger.set.{key_of(at)}.{KEY}")
    assert account(at, ledger_file).cap == 1.5
    assert "Cap 1.5" in said(at)
    before = shown(opened(at, PAGE))
    press(at, f"{PAGE}.run")
    (error,) = mendable(at)
    assert "capped at 1.5" in error
    assert "Nothing was drawn" in error
    assert shown(at) is before  # the earlier release stays
    assert account(at, ledger_file).epsilon_bound == 1.0
    press(opened(at, "ledger"), f"ledger.free.{key_of(at)}.{KEY}")
    assert account(at, ledger_file).cap is None


def test_accounts_of_rows_and_of_persons_of_one_file_name_each_other(ledger_file: Path) -> None:
    """Whoever declares whose rows they are, later, sees what a person has paid already, and no cap is left behind."""
    frame = people(90).assign(who=[f"p{i // 3}" for i in range(90)])
    declared = replace(Schema.infer(frame.drop(columns="who"), target="ill"), source="declared", notes=())
    rows, some, persons = (
        Dataset("own", frame.head(60), frame.tail(30), replace(declared, unit=unit))
        for unit in (None, Unit(rows=3), Unit(rows=3, column="who"))
    )
    at = opened(released(page(rows), epsilon=1.0), "ledger")
    assert "Whoever has several rows pays for each." in said(at)
    at.session_state["dpcore.data"] = some
    told = said(run(at))
    assert "That is per row, which is 3 × 1 = 3 for somebody with 3 rows. For them: Somebody who" in told
    assert "95.3% sure" in told
    at.session_state["dpcore.data"] = persons
    assert "Change one person" not in said(run(at))
    released(opened(at, PAGE), epsilon=0.5)
    told = said(opened(at, "ledger"))
    assert "1 release, epsilon 0.5 (add or remove one person); 1 release, epsilon 1 (add or remove one row)" in told
    assert "protect single rows, with at most epsilon 1 (add or remove one row)" in told
    assert "protect persons (own, persons of 'who'), with at most epsilon 0.5." in told
    assert "A row pays at most epsilon 1 for that, in all 2; a cap counts both." in told
    assert [found.value for found in at.header] == [
        "own, persons of 'who' · add or remove one person",
        "own · add or remove one row",
    ]
    press(set_cap(at, 9.0), f"ledger.set.{key_of(at)}.{KEY}")
    at.session_state["dpcore.data"] = rows
    press(opened(run(at), PAGE), f"{PAGE}.run")
    assert "runs on the same file that protect rows, or other persons, have no price" in mendable(at)[0]


def set_cap(at: AppTest, cap: float) -> AppTest:
    """Type a cap for the data in use."""
    widget(at, f"ledger.cap.{key_of(at)}.{KEY}").set_value(cap)
    return run(at)


def damage(path: Path) -> bytes:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(b"no ledger" * 1000)
    return path.read_bytes()


def test_a_damaged_ledger_draws_nothing_and_leads_on(ledger_file: Path) -> None:
    whole = damage(ledger_file)
    at = page()
    assert "cannot be read" in said(at)
    press(at, f"{PAGE}.run")
    (error,) = mendable(at)
    assert "is damaged" in error
    assert "Nothing was drawn" in error
    assert shown(at) is None
    assert books(at) == {} or next(iter(books(at).values()))[1:] == (0.0, 0.0)
    assert any("is damaged" in error for error in errors(opened(at, "ledger")))
    press(at, "ledger.aside")
    assert not errors(at)
    (aside,) = ledger_file.parent.glob("*.aside-*")
    assert aside.read_bytes() == whole
    assert aside.name in said(at)
    released(opened(at, PAGE))
    assert account(at, ledger_file).looks == 1


def test_a_ledger_put_back_from_an_older_copy_is_for_a_person_to_judge(ledger_file: Path) -> None:
    at = released(page(), epsilon=1.0)
    older = ledger_file.read_bytes()
    press(at, f"{PAGE}.run")
    ledger_file.write_bytes(older)
    press(at, f"{PAGE}.run")
    assert "changes that were written to it" in mendable(at)[0]
    assert "charges may be missing" in said(opened(at, "ledger"))
    press(at, "ledger.go_on")
    assert not errors(at)
    assert "You have looked once: at most epsilon 1 in all." in said(at)


def test_a_damaged_ledger_can_be_left_for_the_session_and_a_sound_one_too(ledger_file: Path) -> None:
    whole = damage(ledger_file)
    at = press(started("ledger"), "ledger.session")
    assert "for this session only" in said(at)
    released(opened(at, PAGE))
    assert "You have looked once" in said(opened(at, "ledger"))
    assert ledger_file.read_bytes() == whole
    ledger_file.unlink()
    at = started("ledger")
    assert press(at, "ledger.next").title[0].value == "Naive Bayes"  # where an empty one leads
    opened(at, "ledger").checkbox("ledger.sure").check()
    press(run(at), "ledger.session")
    assert "go with the session" in said(at)
    press(at, "ledger.keep")
    assert str(ledger_file) in "".join(code.value for code in at.code)


@pytest.mark.skipif(os.name != "posix" or not Path("/proc/1").exists(), reason="needs a folder that nobody can write")
def test_a_ledger_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPCORE_LEDGER", "/proc/dpcore/ledger.sqlite")
    at = press(page(), f"{PAGE}.run")
    assert "cannot be opened" in mendable(at)[0]
    assert shown(at) is None


def test_a_hosted_demo_keeps_nothing_and_opens_no_file_of_the_host(
    monkeypatch: pytest.MonkeyPatch, ledger_file: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("DPCORE_LEDGER", "session")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    at = opened(released(page()), "ledger")
    assert "You have looked once" in said(at)
    assert "for this session only" in said(at)
    assert not ledger_file.exists()
    at = started("ledger")
    assert "nothing on it yet" in said(at)  # nor is one visitor's spending shown to another
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


def test_redraws_and_runs_of_a_figure_are_looks_and_a_copy_has_them(
    ledger_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs in other processes charge the file themselves; the session only lists them."""
    monkeypatch.setattr(figures_000, "EPSILONS", (0.5, 1.0))
    at = tab(released(page(), epsilon=0.1), "Draw again")
    press(at, f"{PAGE}.redraws.go")
    found = account(at, ledger_file)
    assert (found.looks, found.epsilon_bound) == (21, pytest.approx(2.1))
    assert [line.looks for line in Books(ledger_file).runs(key_of(at), KEY)] == [1, 20]
    widget(tab(at, "The paper's figures"), f"{PAGE}.figures.repeats").set_value(1)
    press(run(at), f"{PAGE}.figures.figure_1.go")
    assert charts(at)
    for (key, relation, _), asked in at.session_state["dpcore.accounts"].items():
        found = Books(ledger_file).account(key, relation)
        assert found.epsilon_claimed == pytest.approx(asked.epsilon_claimed)
        assert found.epsilon_bound == pytest.approx(asked.epsilon_bound)
        assert found.looks == 21 + sum(max(len(part.children), len(part.entries)) for part in asked.children[2:])
    assert widget(opened(at, "ledger"), "ledger.copy").label == "Save a copy"
    with zipfile.ZipFile(io.BytesIO(at.session_state["dpcore.books"].copy())) as archive:
        assert archive.read(ledger_file.name) == ledger_file.read_bytes()
