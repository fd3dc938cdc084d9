"""The papers' figures on their pages: made on request, charged run by run, told where runs fail, and marked."""

import math
from collections.abc import Iterator
from typing import Any

import driving
import numpy as np
import pandas as pd
import pytest
from driving import people, press, run, shown, tab
from figure_grids import FIGURES, small_grids
from prepared import data, nothing_new, with_release
from screen import books, charts, dataset, key_of, marked, mendable, pictures, widget
from streamlit.testing.v1 import AppTest

from dpcore import datasets
from dpcore.dashboard import hosting
from dpcore.errors import DataError
from dpcore.experiment import study
from dpcore.experiment.figures.figure import Figure

FRAME = people().assign(pay=np.linspace(0, 5000, 80).round(5))
FRAME.loc[40, "pay"] = 1234.56789
PEOPLE = data(FRAME, max_rows=500)


@pytest.fixture(autouse=True)
def this_page(request: pytest.FixtureRequest, monkeypatch) -> None:
    """Small grids, one process, and no data set but the one in use; the page of the case."""
    named = getattr(request.node, "callspec", None)
    monkeypatch.setattr(driving, "PAGE", named.params.get("name", "networks") if named else "networks")
    small_grids(monkeypatch)
    monkeypatch.setattr(study, "effective_n_jobs", lambda _: 1)
    monkeypatch.setattr(hosting, "is_offered", lambda _: False)


def figures(at: AppTest | None = None) -> AppTest:
    """The tab, of a session with a release, with one repeat."""
    at = with_release("figures", given=PEOPLE) if at is None else tab(at, "figures")
    widget(at, f"{driving.PAGE}.repeats").set_value(1)
    return run(at)


def figure(at: AppTest, key: str) -> AppTest:
    if driving.PAGE != "naive_bayes":
        widget(at, f"{driving.PAGE}.figure").set_value(FIGURES[driving.PAGE, key][0])
    return run(at)


def made(at: AppTest, key: str) -> AppTest:
    return press(figure(at, key), f"{driving.PAGE}.{key}.go")


def entries(at: AppTest, key: str) -> list[Any]:
    """The releases that were booked for a figure: fits here, or notes of other processes'."""
    parts = [part for account in at.session_state["dpcore.accounts"].values() for part in account.children]
    made = [part for part in parts if FIGURES[driving.PAGE, key][0] in part.name]
    return [release for part in made for release in part.children or part.entries]


def runs_of(at: AppTest) -> pd.DataFrame:
    """One row of each finished run that the session remembers."""
    memories = [at.session_state[key] for key in at.session_state if str(key).startswith("dpcore.figure:")]
    return pd.concat([frame.head(1) for memory in memories for frame in memory.frames], ignore_index=True)


def claims(at: AppTest) -> list[str]:
    """What came of the paper's claims, each with how many runs it rests on."""
    return [found.value for found in at.markdown if found.value.startswith(":material/fact_check:")]


@pytest.mark.parametrize(("name", "key"), dict(FIGURES.keys()).items())  # the last of each page
def test_a_figure_is_made_charged_run_by_run_and_marked(name: str, key: str) -> None:
    _, references, _, runs = FIGURES[name, key]
    at = figures()
    first, drawn = shown(at), len(pictures(figure(at, key)))
    made(at, key)
    assert not mendable(at)
    assert not at.warning
    found, booked = runs_of(at), entries(at, key)
    assert len(found) == len(booked) == runs
    (relation,) = set(found["relation"])
    account = books(at)[key_of(at), relation]
    assert account[1:] == pytest.approx((found["epsilon_claimed"].sum(), found["epsilon_bound"].sum()))
    assert (found.loc[found["epsilon_bound"] == math.inf, "mode"] == "as published").all()
    assert marked(at)[drawn:] == [True] * (len(pictures(at)) - drawn) != []
    _, tables = charts(at)[-1]
    assert all(any(table.isin([label]).any(axis=None) for table in tables) for label in references)
    for table in [*tables, *(element.value for element in at.dataframe)]:
        assert not any(part in table.to_csv(float_format="%.12g") for part in ("Zq", "1234.5"))
        assert not set(table) & set(FRAME)
    spent = books(at)
    figures(tab(at, "privacy"))
    assert nothing_new(at, first, spent)  # still there, not made again


def test_figures_do_not_stand_in_each_others_way_and_are_of_the_data_in_use() -> None:
    at = made(made(figures(), "figure_6"), "figure_4")
    for key in ("figure_4", "figure_5", "figure_6"):
        assert len(pictures(figure(at, key))) == (key != "figure_5"), key
    widget(at, "networks.repeats").set_value(2)
    before = claims(figure(at, "figure_6"))
    made(at, "figure_6")  # again: the earlier runs give way, and stay charged
    assert claims(at) != before != []
    assert len(entries(at, "figure_6")) == 3 * 4
    assert len(runs_of(at)) == 8 + 8
    at.session_state["dpcore.data"] = data(FRAME.iloc[[*range(78), 79, 78]], "others", max_rows=500)  # the same schema
    at = figure(tab(run(at), "figures"), "figure_6")
    assert widget(at, "networks.set").value == "others"
    assert not pictures(at)  # the other table's figure is not this one's


def test_an_error_between_runs_keeps_what_is_finished_and_says_so(monkeypatch) -> None:
    original = Figure.stream

    def work(*args: Any, **how: Any) -> Iterator[tuple[float, pd.DataFrame]]:
        for number, found in enumerate(original(*args, **how)):
            if number == 2:
                raise DataError("The rows ran [out].", "Bring *more*.")
            yield found

    monkeypatch.setattr(Figure, "stream", work)
    at = made(figures(), "figure_6")
    (error,) = mendable(at)
    assert "The rows ran [out]." in error
    assert not at.get("progress")
    assert len(at.warning) == 1  # which says that it was stopped
    found = runs_of(at)
    account = at.session_state["dpcore.books"].account(key_of(at), found["relation"].iloc[0])
    assert account.looks + account.void_looks == 3  # the third was drawn, and so is charged, though nobody saw it
    assert (len(entries(at, "figure_6")), len(found), len(pictures(at))) == (2, 2, 1)


@pytest.mark.parametrize("name", ["naive_bayes"])
def test_published_data_are_offered_where_they_are_and_alone_have_what_the_paper_states(name: str, monkeypatch) -> None:
    adult = data(people(100, seed=5), "adult")
    monkeypatch.setattr(hosting, "is_offered", lambda known: known == "adult")
    monkeypatch.setattr(datasets, "load", lambda _: adult)
    at = figures()
    assert widget(at, "naive_bayes.set").options == ["people", "adult"]
    for name, more in (("people", 0), ("adult", 1)):  # what the paper states
        widget(at, "naive_bayes.set").set_value(name)
        made(run(at), "figure_1")
        assert not mendable(at)
        _, tables = charts(at)[-1]
        labels = {label for table in tables for label in table.get("label", []) if label}
        assert len(labels - FIGURES["naive_bayes", "figure_1"][1]) == more
    assert {key for key, _ in books(at)} == {key_of(at), key_of(at, adult)}
    assert len(entries(at, "figure_1")) == 8
    assert dataset(at).name == "people"
