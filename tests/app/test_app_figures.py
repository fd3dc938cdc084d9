"""The papers' figures on their pages: made on request, charged run by run, told where runs fail, and marked."""

import json
import math
from collections.abc import Iterator
from typing import Any

import driving
import numpy as np
import pandas as pd
import pytest
from driving import opened, people, press, run, shown, tab
from figure_grids import FIGURES, small_grids
from prepared import data, marked, nothing_new, page, with_release
from screen import books, charts, dataset, key_of, mendable, said, tabs, widget
from streamlit.testing.v1 import AppTest

from dpcore import datasets
from dpcore.dashboard.tabs import paper_figures
from dpcore.errors import DataError
from dpcore.experiment import engine
from dpcore.experiment.figures import groups, naive_bayes, networks
from dpcore.experiment.figures.base import Figure

FRAME = people().assign(pay=np.linspace(0, 5000, 80).round(5))
FRAME.loc[40, "pay"] = 1234.56789
PEOPLE = data(FRAME, max_rows=500)


@pytest.fixture(autouse=True)
def this_page(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small grids, one process, and no data set but the one in use; the page of the case."""
    named = getattr(request.node, "callspec", None)
    monkeypatch.setattr(driving, "PAGE", named.params.get("name", "networks") if named else "networks")
    small_grids(monkeypatch)
    monkeypatch.setattr(engine, "effective_n_jobs", lambda _: 1)
    monkeypatch.setattr(paper_figures, "here", lambda _: False)


def of_page() -> str:
    """What the keys of the figures begin with."""
    return "naive_bayes.figures" if driving.PAGE == "naive_bayes" else driving.PAGE


def open_figures(at: AppTest, repeats: int = 1) -> AppTest:
    tab(at, next(name for name in tabs(at) if name in ("The paper's figures", "The patent's claims")))
    widget(at, f"{of_page()}.repeats").set_value(repeats)
    return run(at)


def figures(given: Any = PEOPLE) -> AppTest:
    """The tab, of a session with a release."""
    return open_figures(with_release(given=given))


def figure(at: AppTest, key: str) -> AppTest:
    if driving.PAGE != "naive_bayes":
        widget(at, f"{of_page()}.figure").set_value(FIGURES[driving.PAGE, key][0])
    return run(at)


def made(at: AppTest, key: str) -> AppTest:
    return press(figure(at, key), f"{of_page()}.{key}.go")


def children(at: AppTest) -> list[Any]:
    """All parts of all accounts."""
    return [child for account in at.session_state["dpcore.accounts"].values() for child in account.children]


def entries(at: AppTest, key: str) -> list[Any]:
    """The releases that were booked for a figure: fits here, or notes of other processes'."""
    parts = [child for child in children(at) if FIGURES[driving.PAGE, key][0] in child.name]
    return [release for part in parts for release in part.children or part.entries]


def kept(at: AppTest) -> list[pd.DataFrame]:
    """What the session remembers of finished runs."""
    memories = [at.session_state[key] for key in at.session_state if str(key).startswith("dpcore.figure:")]
    return [frame for memory in memories for frame in memory.frames]


def runs_of(at: AppTest) -> pd.DataFrame:
    """One row of each finished run."""
    return pd.concat([frame.head(1) for frame in kept(at)], ignore_index=True)


def makes(at: AppTest) -> bool:
    """Whether there is a button that makes the figure."""
    return "Make this figure" in [button.label for button in at.button]


@pytest.mark.parametrize(("name", "key"), FIGURES)
def test_a_figure_is_made_charged_run_by_run_and_marked(name: str, key: str) -> None:
    _, references, _, runs = FIGURES[name, key]
    at = figures()
    first, drawn = shown(at), len(charts(figure(at, key)))
    made(at, key)
    assert not mendable(at)
    assert not at.warning
    found, booked = runs_of(at), entries(at, key)
    assert len(found) == len(booked) == runs
    (relation,) = set(found["relation"])
    account = books(at)[key_of(at), relation]
    assert account[1:] == pytest.approx((found["epsilon_claimed"].sum(), found["epsilon_bound"].sum()))
    assert (found.loc[found["epsilon_bound"] == math.inf, "mode"] == "as printed").all()
    assert marked(at)[drawn - len(charts(at)) :] == [True] * (len(charts(at)) - drawn) != []
    spec, tables = charts(at)[-1]
    assert len(spec["description"]) > 20
    assert {label for table in tables for label in table.get("label", []) if label} >= references - {"leaves only"}
    assert all(any(table.isin([label]).any(axis=None) for table in tables) for label in references)
    for table in [*tables, *(element.value for element in at.dataframe)]:
        assert len(table) <= 2_000
        assert not {"Zq", "1234.5"} & {part for part in ("Zq", "1234.5") if part in table.to_csv(float_format="%.12g")}
        assert not set(table) & set(FRAME)
    spent, whole = books(at), len(charts(at))
    open_figures(tab(at, "Price"))
    assert len(charts(at)) == whole  # still there, not made again
    assert nothing_new(at, first, spent)


def test_figures_do_not_stand_in_each_others_way_and_are_of_the_data_in_use() -> None:
    at = made(made(figures(), "figure_6"), "figure_4")
    spent, frame = books(at), runs_of(at)
    for key in ("figure_4", "figure_5", "figure_6"):
        assert len(charts(figure(at, key))) == 1 + (key != "figure_5"), key
    assert len(frame) == 4 + 8
    widget(at, "networks.repeats").set_value(2)
    assert "(4 runs in the figure)" in said(figure(at, "figure_6"))
    made(run(at), "figure_6")  # again: the earlier runs give way, and stay charged
    assert "(8 runs in the figure)" in said(at)
    assert len(entries(at, "figure_6")) == 3 * 4
    again = runs_of(at)
    assert len(again) == 8 + 8
    assert set(again["repeat"]) == {0, 1}
    assert books(at) != spent
    titles = [table.value.to_numpy() for table in opened(at, "ledger").dataframe]
    assert all(FIGURES["networks", key][0] in str(titles) for key in ("figure_4", "figure_6"))
    at.session_state["dpcore.data"] = data(FRAME.iloc[[*range(78), 79, 78]], "others", max_rows=500)  # the same schema
    at = figure(tab(opened(at, "networks"), "The paper's figures"), "figure_6")
    assert widget(at, "networks.sets").value == ["others"]
    assert len(charts(at)) == 1  # the other table's figure is not this one's
    widget(at, "networks.sets").set_value([])
    assert "Choose a data set." in said(run(at))
    assert not makes(at)


def refuse(*_: Any, **__: Any) -> Any:
    raise DataError("The rows ran [out].", "Bring *more*.")


@pytest.mark.parametrize(("name", "key"), [("taxonomy", "ranges"), ("taxonomy", "accuracy")])
def test_runs_that_fail_are_told_and_cost_nothing(name: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a figure whose runs may share the computer, and of one whose runs go one by one."""
    at = figures()
    drawn, runs = len(charts(at)), FIGURES[name, key][-1]
    monkeypatch.setattr(groups.DiffGen, "fit", refuse)
    made(at, key)
    assert not mendable(at)
    (warning,) = [w.value.replace("\\", "") for w in at.warning]
    assert f"{runs // 5} runs of DiffGen, corrected, failed: The rows ran [out]. Bring *more*." in warning
    assert len(runs_of(at)) == runs
    assert len(entries(at, key)) == runs - runs // 5
    assert len(charts(at)) > drawn


def test_where_all_runs_fail_there_is_no_chart_and_where_the_last_do_the_others_are_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at, original = figures(), networks.HMPrivBayes.fit
    with monkeypatch.context() as patch:
        patch.setattr(networks.Risk, "release", refuse)
        made(at, "figure_4")
    assert len(at.warning) == 4  # methods
    assert all("2 runs of" in w.value for w in at.warning)  # they differ in the number of rows alone
    assert entries(at, "figure_4") == []
    assert not any(child.epsilon_claimed for child in children(at))
    assert len(charts(at)) == 1
    seen: list[Any] = []

    def once(self: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(self)
        return original(self, *args, **kwargs) if len(seen) == 1 else refuse()

    monkeypatch.setattr(networks.HMPrivBayes, "fit", once)
    made(at, "figure_6")
    assert "1 runs of HMPrivBayes, as printed, failed" in at.warning[0].value
    assert (runs_of(at)["error"] != "").sum() == 8 + 1
    assert len(entries(at, "figure_6")) == 3
    assert len(charts(at)) == 2


def test_an_error_between_runs_keeps_what_is_finished_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Figure.stream

    def work(*args: Any, **how: Any) -> Iterator[tuple[float, pd.DataFrame]]:
        for number, found in enumerate(original(*args, **how)):
            if number == 2:
                refuse()
            yield found

    monkeypatch.setattr(Figure, "stream", work)
    at = made(figures(), "figure_6")
    (error,) = mendable(at)
    assert "The rows ran [out]." in error
    assert not at.get("progress")
    assert "Stopped before it was finished: 2 runs are drawn" in said(at)
    assert len(entries(at, "figure_6")) == 3  # the third was drawn, and so is charged, though nobody saw it
    assert (len(runs_of(at)), len(charts(at))) == (2, 2)
    monkeypatch.setattr(Figure, "stream", original)
    assert "Stopped before" not in said(made(at, "figure_6"))


def test_what_cannot_be_made_is_said() -> None:
    lacking = {"class": data(FRAME, target=None), "two": data(people()[["age", "ill"]]), "one": data(people()[["ill"]])}
    lacks = {figure.key: figure.lacks for figure in networks.FIGURES}
    assert "needs a class column" in lacks["figure_4"](lacking["class"])
    assert "needs a class column and another one" in lacks["figure_4"](lacking["one"])
    assert "three columns at a time" in lacks["figure_5"](lacking["two"])
    assert not any(lacks["figure_6"](each) for each in lacking.values())
    numbers = data(people()[["age"]].assign(pay=np.arange(80.0)), target=None)
    assert all("class column" in figure.lacks(numbers) for figure in (*naive_bayes.FIGURES, *groups.FIGURES[::2]))
    assert "pads data to 200 rows" in lacks["figure_4"](data(pd.concat([people()] * 4, ignore_index=True)))
    at = figure(figures(lacking["class"]), "figure_4")
    assert "No such figure of people: it" in said(at)
    assert not makes(at)
    assert not mendable(at)
    made(at, "figure_5")  # of distances only
    assert {metric for frame in kept(at) for metric in frame["metric"]} == {
        measure for measure in networks.MEASURES if "AVD" in measure
    }


def test_how_a_figure_is_measured_can_be_chosen() -> None:
    at = made(figures(), "figure_5")
    spent, seen = books(at), []
    for view, measures in networks.VIEWS.items():
        widget(at, "view.001").set_value(view)
        tables = charts(run(at))[-1][1]
        panels = {value for table in tables for value in table.get("panel", [])}
        assert panels == {f"{measure.split(' on ')[0]}, people" for measure in measures}
        seen.append(sorted(value for table in tables for value in table.get("value", [])))
    assert seen[0] != seen[1]
    assert books(at) == spent


@pytest.mark.parametrize("name", ["responses"])
def test_one_rule_has_one_line_per_branch_against_the_epsilon_of_one_answer(name: str) -> None:
    at = made(open_figures(page(PEOPLE)), "trees")
    spent = books(at)
    at.segmented_control("axis.004").set_value("answer")
    assert "epsilon of one answer" in json.dumps([spec for spec, _ in charts(run(at))])
    frame = next(frame.value for frame in at.dataframe if "epsilon_bound" in frame.value)
    assert set(frame["series"]) == {"PPNB", "DTPD", "DTPD, theta below 1/2"}
    assert books(at) == spent
    found = pd.concat(kept(at))
    assert found.loc[found["x"] == 0.9, "answer"].nunique() == 2  # p0 = .9 and theta = .9 protect differently


@pytest.mark.parametrize("name", ["naive_bayes"])
def test_published_data_are_offered_where_they_are_and_alone_have_what_the_paper_states(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    adult = data(people(100, seed=5), "adult")
    monkeypatch.setattr(paper_figures, "here", lambda known: known == "adult")
    monkeypatch.setattr(datasets, "load", lambda _: adult)
    at = figures()
    assert widget(at, "naive_bayes.figures.sets").options == ["people", "adult"]
    widget(at, "naive_bayes.figures.sets").set_value(["people", "adult"])
    made(run(at), "figure_1")
    assert not mendable(at)
    lines = [{label for table in tables for label in table.get("label", []) if label} for _, tables in charts(at)[-2:]]
    assert [line - {"trained on real rows", "majority class"} for line in lines] == [
        set(),
        {"paper at 1.5: this or more"},
    ]
    here = [text for text in said(at).splitlines() if "synthetic rows per run" in text]
    assert [("Here on people" in text, "Here on adult" in text) for text in here] == [(True, False), (False, True)]
    assert {key for key, _ in books(at)} == {key_of(at), key_of(at, adult)}
    assert len(entries(at, "figure_1")) == 8
    assert "Epsilon that all these runs together can cost" in said(at)
    assert dataset(at).name == "people"
