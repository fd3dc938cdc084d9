"""The figures of paper 001: made on request, charged run by run, kept when somebody cancels."""

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import driving
import numpy as np
import pandas as pd
import pytest
from driving import (
    books,
    charts,
    csv,
    dataset,
    edit,
    key_of,
    mendable,
    opened,
    people,
    press,
    released,
    run,
    said,
    shown,
    started,
    tab,
    upload,
    widget,
)
from streamlit.testing.v1 import AppTest
from test_app_repeats import by_a_widget, by_the_menu, cancel, nothing_runs

from dpcore import datasets
from dpcore.dashboard.sections import schema_editor
from dpcore.dashboard.tabs import paper_figures
from dpcore.errors import DataError, ParameterError
from dpcore.experiment import engine
from dpcore.experiment.figures import networks as figures_001
from dpcore.experiment.figures.base import Figure
from dpcore.methods import JTree

TITLES = {"figure_5": "Fig. 5: utility", "figure_4": "Fig. 4: disclosure", "figure_6": "Fig. 6: run time"}
RUNS = {"figure_5": 9 * 2 + 1, "figure_4": 4 * 2, "figure_6": 2 * 2}  # with one repeat and the grids below
MOST_ROWS = 2_000  # of a chart's table
MARK = "do not publish"


@pytest.fixture(autouse=True)
def this_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small grids, one process, and no data set but the one in use."""
    monkeypatch.setattr(driving, "PAGE", "networks")
    monkeypatch.setattr(figures_001, "EPSILONS", (0.2, 1.0))
    monkeypatch.setattr(figures_001, "ROWS", (100, 200))
    monkeypatch.setattr(figures_001, "PARENTS", {"adult": (1,), "big5": (1, 2)})
    monkeypatch.setattr(engine, "effective_n_jobs", lambda _: 1)
    monkeypatch.setattr(paper_figures, "here", lambda _: False)


def using(frame: pd.DataFrame, target: str | None = "ill", ignored: tuple[str, ...] = ()) -> AppTest:
    """The page with a release of an uploaded table."""
    at = upload(started("data"), "people.csv", csv(frame))
    edit(at, {i: {"use": schema_editor.IGNORED} for i, name in enumerate(frame) if name in ignored})
    if target is not None:
        widget(at, "data.target").set_value(target)
    widget(at, "data.declared").check()
    press(at, "data.use")
    at = tab(released(opened(at, "networks")), "The paper's figures")
    at.number_input("networks.repeats").set_value(1)
    return run(at)


@pytest.fixture
def small() -> AppTest:
    return using(people())


def figure(at: AppTest, key: str) -> AppTest:
    widget(at, "networks.figure").set_value(TITLES[key])
    return run(at)


def made(at: AppTest, key: str) -> AppTest:
    return press(figure(at, key), f"networks.{key}.go")


def entries(at: AppTest, key: str) -> list[Any]:
    """The releases that were booked for a figure, by the accounts' names: fits here, or notes of other processes'."""
    return [made for child in children(at) if TITLES[key] in child.name for made in child.children or child.entries]


def children(at: AppTest) -> list[Any]:
    """All parts of all accounts."""
    return [child for account in at.session_state["dpcore.accounts"].values() for child in account.children]


def runs_of(at: AppTest) -> pd.DataFrame:
    """All finished runs in the session's memory, one row each."""
    return pd.concat([frame.head(1) for frame in kept(at)], ignore_index=True)


def kept(at: AppTest) -> list[pd.DataFrame]:
    """What the session remembers of finished runs."""
    memories = [at.session_state[key] for key in at.session_state if str(key).startswith("dpcore.figure:")]
    return [frame for memory in memories for frame in memory]


@pytest.mark.parametrize("key", TITLES)
def test_a_figure_is_made_and_every_run_is_charged(small: AppTest, key: str) -> None:
    at = small
    first, before = shown(at), books(at)
    ((account, spent),) = before.items()
    assert len(charts(at)) == 1  # nothing is made unasked
    made(at, key)
    assert not mendable(at)
    assert not at.warning
    nothing_runs(at)
    assert len(charts(at)) == 2
    found, booked = runs_of(at), entries(at, key)
    assert len(found) == len(booked) == RUNS[key]
    assert set(found["relation"]) == {"replace"}
    after = books(at)
    assert after[account] == spent  # the release's own relation
    charged = after[account[0], "replace"]
    assert charged[1] == pytest.approx(found["epsilon_claimed"].sum())
    assert charged[2] == pytest.approx(found["epsilon_bound"].sum())
    finite = found["epsilon_bound"] < math.inf
    assert (found.loc[~finite, "mode"] == "as printed").all()
    assert sum(float(e.epsilon_claimed) for e in booked if e.epsilon_claimed < math.inf) == pytest.approx(
        found.loc[found["epsilon_claimed"] < math.inf, "epsilon_claimed"].sum()
    )
    for _ in range(2):
        run(at)
    tab(tab(at, "Price"), "The paper's figures")
    assert len(charts(at)) == 2
    assert books(at) == after
    assert shown(at) is first
    assert TITLES[key] in str([table.value.to_numpy() for table in opened(at, "ledger").dataframe])


def test_figures_do_not_stand_in_each_others_way(small: AppTest) -> None:
    at = made(made(small, "figure_6"), "figure_4")
    spent = books(at)
    for key in TITLES:
        assert len(charts(figure(at, key))) == 1 + (key in ("figure_6", "figure_4")), key
    assert books(at) == spent
    frame = runs_of(at)
    assert len(frame) == RUNS["figure_6"] + RUNS["figure_4"]
    made(at, "figure_6")  # again: the earlier runs give way, and stay charged
    assert len(entries(at, "figure_6")) == 2 * RUNS["figure_6"]
    assert len(runs_of(at)) == len(frame)


def test_repeats_are_runs(small: AppTest) -> None:
    at = figure(small, "figure_6")
    at.number_input("networks.repeats").set_value(2)
    made(run(at), "figure_6")
    assert len(entries(at, "figure_6")) == 2 * RUNS["figure_6"]
    assert set(runs_of(at)["repeat"]) == {0, 1}


@pytest.mark.parametrize("how", [by_a_widget, by_the_menu])
@pytest.mark.parametrize("key", TITLES)
def test_a_canceled_figure_keeps_what_is_finished(
    small: AppTest, monkeypatch: pytest.MonkeyPatch, key: str, how: Callable[[], BaseException]
) -> None:
    first = shown(small)
    with monkeypatch.context() as patch:
        cancel(patch, ": 3 done", how)
        made(small, key)
    at = run(small)
    nothing_runs(at)
    assert not mendable(at)
    assert shown(at) is first
    assert len(entries(at, key)) == len(runs_of(at)) == 3
    assert len(charts(at)) == 2
    assert charts(at)[-1][1][0].shape[0] >= 3
    made(at, key)
    assert len(runs_of(at)) == RUNS[key]  # made anew
    assert len(entries(at, key)) == 3 + RUNS[key]


class Broken(JTree):
    def _fit(self, table: Any, progress: Any) -> None:
        raise ParameterError("There is [no] luck.", "Try *again*.")


def compared(only: tuple[str, ...]) -> list[tuple[str, Any]]:
    found = [(name, method) for name, method in ORIGINAL() if name in only and method.mode == "corrected"]
    return [*found, ("JTree", Broken(relation="replace"))]


ORIGINAL = figures_001.compared


def test_failed_runs_are_told_in_words_and_cost_nothing(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures_001, "compared", lambda: compared(("PrivBayes",)))
    at = made(small, "figure_5")
    (warning,) = [w.value.replace("\\", "") for w in at.warning]
    assert "2 runs of JTree, corrected, failed" in warning
    assert "There is [no] luck." in warning
    assert "Try *again*." in warning
    assert len(charts(at)) == 2
    assert set(runs_of(at)["series"]) == {"PrivBayes", "NoPrivacy", "JTree"}
    assert len(entries(at, "figure_5")) == 3
    assert "JTree" not in {value for table in charts(at)[-1][1] for value in table.get("series", [])}


def test_if_all_runs_fail_there_is_no_chart(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: Any, **__: Any) -> Any:
        raise DataError("Lost.", "Look for it.")

    monkeypatch.setattr(figures_001, "PARENTS", {"big5": (1,)})
    monkeypatch.setattr(figures_001.HMPrivBayes, "fit", lost)
    monkeypatch.setattr(figures_001.PrivBayes, "fit", lost)
    figure(small, "figure_6")
    at = press(run(small), "networks.figure_6.go")
    assert "1 runs of HMPrivBayes" in at.warning[0].value
    assert len(charts(at)) == 1
    assert entries(at, "figure_6") == []


@pytest.mark.parametrize("key", ["figure_4", "figure_6"])
def test_a_figure_goes_on_after_runs_that_fail(small: AppTest, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    original, seen = figures_001.HMPrivBayes.fit, []

    def sometimes(self: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(self)
        if len(seen) > 1:
            raise DataError("The rows ran [out].", "Bring *more*.")
        return original(self, *args, **kwargs)

    monkeypatch.setattr(figures_001.HMPrivBayes, "fit", sometimes)
    at = made(small, key)
    assert not mendable(at)
    nothing_runs(at)
    (warning,) = [w.value.replace("\\", "") for w in at.warning]
    assert "1 runs of HMPrivBayes, as printed, failed: The rows ran [out]. Bring *more*." in warning
    frame = runs_of(at)
    assert len(frame) == RUNS[key]
    assert (frame["error"] != "").sum() == 1
    assert len(entries(at, key)) == RUNS[key] - 1
    assert len(charts(at)) == 2


def test_every_run_that_failed_is_counted(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> pd.DataFrame:
        raise DataError("The rows ran out.", "Bring more.")

    monkeypatch.setattr(figures_001.Risk, "release", never)
    at = made(small, "figure_4")
    assert not mendable(at)
    assert len(at.warning) == 4  # methods
    assert all("2 runs of" in w.value for w in at.warning)  # they differ in the number of rows alone
    assert entries(at, "figure_4") == []
    assert not any(child.epsilon_claimed for child in children(at) if TITLES["figure_4"] in child.name)
    assert len(charts(at)) == 1


def test_an_error_between_runs_keeps_what_is_finished(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Figure.stream

    def work(*args: Any, **how: Any) -> Iterator[tuple[float, pd.DataFrame]]:
        for number, found in enumerate(original(*args, **how)):
            if number == 2:
                raise DataError("The rows ran out.", "Bring more.")
            yield found

    monkeypatch.setattr(Figure, "stream", work)
    at = made(small, "figure_6")
    (error,) = mendable(at)
    assert "The rows ran out." in error
    assert "Bring more." in error
    nothing_runs(at)
    assert len(entries(at, "figure_6")) == 3  # the third was drawn, and so is charged, though nobody saw it
    assert len(runs_of(at)) == 2
    assert len(charts(at)) == 2


def test_curves_hold_aggregates_only() -> None:
    frame = people().assign(pay=np.linspace(0, 5000, 80).round(5))
    frame.loc[40, "pay"] = 1234.56789
    at = using(frame)
    for key in TITLES:
        made(at, key)
        (spec, tables) = charts(at)[-1]
        assert MARK in json.dumps(spec["title"]), key  # run times hang on the rows as well
        assert len(spec["description"]) > 20
        assert "datasets" not in spec
        every = [*tables, *(element.value for element in at.dataframe)]
        assert len(every) > len(tables)
        for table in every:
            assert 0 < len(table) <= MOST_ROWS
            text = table.to_csv(float_format="%.12g")
            assert not re.search(r"Zq|1234\.5", text), key
            assert not set(table) & set(frame), key


def test_a_figure_is_of_the_data_in_use(small: AppTest) -> None:
    at = made(small, "figure_6")
    opened(at, "data")
    upload(at, "others.csv", csv(people().iloc[[*range(78), 79, 78]]))  # the same schema
    widget(at, "data.target").set_value("ill")
    widget(at, "data.declared").check()
    press(at, "data.use")
    at = opened(at, "networks")
    assert dataset(at).name == "others.csv"
    at = figure(tab(at, "The paper's figures"), "figure_6")
    assert widget(at, "networks.sets").value == ["others.csv"]
    assert len(charts(at)) == 1  # the other table's figure is not this one's
    made(at, "figure_6")
    assert set(runs_of(at)["data"]) == {"people.csv", "others.csv"}
    assert {key for key, relation in books(at) if relation == "replace"} >= {key_of(at)}


def test_nothing_chosen_is_said(small: AppTest) -> None:
    widget(small, "networks.sets").set_value([])
    at = run(small)
    assert "Choose a data set." in said(at)
    assert not [button for button in at.button if button.label == "Make this figure"]


@pytest.mark.parametrize(
    ("key", "target", "ignored", "why"),
    [
        ("figure_4", None, (), "needs a class column"),
        ("figure_4", "ill", ("age", "town"), "needs a class column and another one"),
        ("figure_5", "ill", ("town",), "three columns at a time"),
        ("figure_5", None, ("town", "age"), "three columns at a time"),
    ],
)
def test_what_cannot_be_made_is_said(key: str, target: str | None, ignored: tuple[str, ...], why: str) -> None:
    at = figure(using(people(), target, ignored), key)
    assert "No such figure of people.csv: it" in said(at)
    assert why in said(at)
    assert not [button for button in at.button if button.label == "Make this figure"]
    assert not mendable(at)
    assert len(charts(made(at, "figure_6"))) == 2  # run time needs nothing


def test_more_rows_than_the_padding(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures_001, "ROWS", (10, 20))
    assert "pads data to 20 rows" in said(figure(small, "figure_4"))


def test_a_figure_without_a_class_has_distances_only() -> None:
    at = made(using(people(), None), "figure_5")
    assert not mendable(at)
    assert len(charts(at)) == 2
    measured = {metric for frame in kept(at) for metric in frame["metric"]}
    assert measured == {measure for measure in figures_001.MEASURES if "AVD" in measure}


def test_what_distances_are_of_can_be_chosen(small: AppTest) -> None:
    at = made(small, "figure_5")
    spent = books(at)
    seen = []
    for view, measures in figures_001.VIEWS.items():
        widget(at, "view.001").set_value(view)
        run(at)
        tables = charts(at)[-1][1]
        panels = {value for table in tables for value in table.get("panel", [])}
        assert panels == {f"{measure.split(' on ')[0]}, people.csv" for measure in measures}
        seen.append(sorted(value for table in tables for value in table.get("value", [])))
    assert seen[0] != seen[1]
    assert books(at) == spent


def test_published_data_are_offered_where_they_are(monkeypatch: pytest.MonkeyPatch, adult: datasets.Dataset) -> None:
    monkeypatch.setattr(paper_figures, "here", lambda name: name == "adult")
    at = using(people())
    sets = widget(at, "networks.sets")
    assert sets.options == ["people\\.csv", "adult"]  # a file's name, and no Markdown
    sets.set_value(["people.csv", "adult"])
    made(run(at), "figure_6")
    assert set(runs_of(at)["data"]) == {"people.csv", "adult"}
    assert len(entries(at, "figure_6")) == RUNS["figure_6"] + 2
    assert {key for key, relation in books(at) if relation == "replace"} == {key_of(at), key_of(at, adult)}
    opened(at, "data")
    widget(at, "data.source").set_value("adult")
    run(at)
    press(at, "data.use")
    at = tab(opened(at, "networks"), "The paper's figures")
    assert dataset(at).name == "adult"
    assert (widget(at, "networks.sets").options, widget(at, "networks.sets").value) == (["adult"], ["adult"])
    assert len(charts(figure(at, "figure_6"))) == 1  # what is there is of both data sets
