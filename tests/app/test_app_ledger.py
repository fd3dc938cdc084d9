"""The ledger page: what all sessions together spent, caps, and files that cannot be used."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from driving import PAGE, change, opened, people, press, released, run, shown, started
from prepared import data, label, option, page
from screen import books, errors, key_of, mendable, metrics, said, widget, words
from streamlit.testing.v1 import AppTest

from dpcore.accounting.store import LedgerStore
from dpcore.domain.unit import PrivacyUnit

KEY = "add_remove"


def account(at: AppTest, path: Path, relation: str = KEY) -> Any:
    return LedgerStore(path).account(key_of(at), relation)


def accounts(at: AppTest) -> list[tuple[str, str]]:
    """Releases and proved epsilon of every account on the page."""
    found = metrics(at)
    return list(zip(found[::4], found[2::4], strict=True))


OTHERS = data(people(60, seed=4), "others")
NONE = {"method": option("published", label("published", "NB-Synth", variant="Alg1"))}  # which proves nothing
VOID = replace(OTHERS, schema=data(people(60, seed=4), source="inferred").schema)
# What is run in one session: settings, and other data; and what the page then shows of the accounts, and says of them.
JOURNEYS: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str]], str]] = {
    "relations": ([{}, {"relation": "replace", "epsilon": 3.0}, {}], [("1", "1"), ("2", "6")], "epsilon 8"),  # 2 + 6
    "a seed": ([{"seed": 3}, {"relation": "replace", "seed": None}], [("1", "1")], "For teaching only"),
    "a delta": ([{}, {"delta": 1e-9}, {}], [("1", "1"), ("2", "1.44")], "one in 1,000,000,000"),  # rho adds up
    "no proof": ([NONE], [], ""),
    "other data": ([{}, {"data": OTHERS, "epsilon": 1.5}, {"data": VOID}], [("1", "1.5"), ("1", "1")], ""),
}


@pytest.mark.parametrize("name", JOURNEYS)
def test_what_was_run_is_on_the_page_by_data_relation_and_delta(name: str, ledger_file) -> None:
    runs, accounts_shown, sentence = JOURNEYS[name]
    at = page()
    for settings in runs:
        if given := settings.get("data"):
            at.session_state["dpcore.data"] = given
        released(run(at), **{key: value for key, value in settings.items() if key != "data"})
    assert sorted(accounts(opened(at, "ledger"))) == sorted(accounts_shown)
    why = " ".join(reason for table in at.dataframe for reason in table.value.get("why no proof", ()))
    assert sentence in f"{said(at)} {why}"
    found = LedgerStore(ledger_file).accounts()
    assert sum(line.looks + line.void_looks for line in found) == len(runs)
    assert (":material/gpp_bad:" in [each.icon for each in at.warning]) == any(line.void_looks for line in found)


def test_a_second_session_adds_to_the_first(ledger_file) -> None:
    """Two tabs, or today and tomorrow."""
    first, second = released(page(), epsilon=1.0), released(page(), epsilon=0.5)
    found = account(first, ledger_file)
    assert (found.looks, found.epsilon_claimed, found.epsilon_bound) == (2, 1.5, 1.5)
    for at in (first, second):
        assert accounts(opened(at, "ledger")) == [("2", "1.5")]
        assert "1.5" in at.sidebar.caption[0].value  # beside the data in use, on every page
    assert books(first) != books(second)  # each session lists its own questions


def test_presses_that_arrive_together_or_late_ask_for_one_run(ledger_file) -> None:
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


def test_a_cap_refuses_and_says_so(ledger_file) -> None:
    at = opened(released(page(), epsilon=1.0), "ledger")
    set_cap(at, 1.5)
    assert account(at, ledger_file).cap is None  # typing is not yet asking
    assert "no cap set" in at.sidebar.caption[0].value
    press(at, f"ledger.set.{key_of(at)}.{KEY}")
    (bar,) = at.sidebar.get("progress")
    assert (bar.proto.value, "epsilon 1 of 1.5" in bar.proto.text) == (66, True)
    before = shown(opened(at, PAGE))
    assert "1.5" in mendable(at)[0]  # and Run rests: no query of a run is charged that cannot be charged to its end
    assert widget(at, f"{PAGE}.run").disabled
    assert shown(change(at, epsilon=0.5)) is before  # the earlier release stays
    assert not mendable(at)
    assert shown(press(at, f"{PAGE}.run")) is not before
    press(opened(at, "ledger"), f"ledger.free.{key_of(at)}.{KEY}")
    assert account(at, ledger_file).cap is None


def test_accounts_of_rows_and_of_persons_of_one_file_name_each_other(ledger_file) -> None:
    """Whoever declares whose rows they are, later, sees what a person has paid already, and no cap is left behind."""
    frame = people(90).assign(who=[f"p{i // 3}" for i in range(90)])
    declared = data(frame.drop(columns="who")).schema
    rows = replace(data(frame, "own"), schema=declared)
    persons = replace(rows, schema=replace(declared, unit=PrivacyUnit(max_contributions=3, id_column="who")))
    at = released(page(rows), epsilon=1.0)
    at.session_state["dpcore.data"] = persons
    released(run(at), epsilon=0.5)
    text = said(opened(at, "ledger"))
    assert accounts(at) == [("1", "0.5"), ("1", "1")]
    assert text.count("**Besides, ") == 2
    assert "in all **epsilon 2**" in text  # what both can cost a row
    press(set_cap(at, 9.0), f"ledger.set.{key_of(at)}.{KEY}")
    at.session_state["dpcore.data"] = rows
    assert len(mendable(opened(run(at), PAGE))) == 1  # runs that protect persons have no price for a row under a cap


def set_cap(at: AppTest, cap: float) -> AppTest:
    """Type a cap for the data in use."""
    widget(at, f"ledger.cap.{key_of(at)}.{KEY}").set_value(cap)
    return run(at)


def test_a_damaged_ledger_draws_nothing_and_leads_on(ledger_file) -> None:
    whole = b"no ledger" * 1000
    ledger_file.parent.mkdir(exist_ok=True, parents=True)
    ledger_file.write_bytes(whole)
    at = press(page(), f"{PAGE}.run")
    assert len(mendable(at)) == 1
    assert shown(at) is None
    assert errors(opened(at, "ledger"))
    press(at, "ledger.aside")
    assert not errors(at)
    (aside,) = ledger_file.parent.glob("*.aside-*")
    assert aside.read_bytes() == whole
    assert aside.name in said(at)
    released(opened(at, PAGE))
    assert account(at, ledger_file).looks == 1


def test_a_hosted_demo_keeps_nothing_and_opens_no_file_of_the_host(monkeypatch, ledger_file, tmp_path) -> None:
    monkeypatch.setenv("DPCORE_LEDGER", "session")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    at = opened(released(page()), "ledger")
    assert accounts(at) == [("1", "1")]
    assert not ledger_file.exists()
    at = started("ledger")
    assert accounts(at) == []  # nor is one visitor's spending shown to another
    assert str(tmp_path) not in words(at, everywhere=True)
    assert not list(tmp_path.iterdir())
