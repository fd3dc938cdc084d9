"""The page of trees and forests: every method of both modes, its tabs, predictions for files, and its figures."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import driving
import numpy as np
import pandas as pd
import pytest
from driving import (
    ROOT,
    TIMEOUT,
    books,
    change,
    charts,
    csv,
    dataset,
    elements,
    errors,
    key_of,
    mendable,
    metrics,
    people,
    press,
    released,
    run,
    said,
    shown,
    tab,
    tabs,
    widget,
    words,
)
from prepared import another, asked, choose, data, files, marked, nothing_new, page, with_release
from streamlit.testing.v1 import AppTest
from test_app_repeats import by_a_widget, by_the_menu, cancel, nothing_runs

from dpcore import datasets
from dpcore.dashboard import controls
from dpcore.dashboard.tabs import classifier, forest, paper_figures, redraw
from dpcore.experiment import engine
from dpcore.experiment.figures import trees as figures_003
from dpcore.export.model_file import Model

CORRECTED = list(controls.offered("forests", "corrected"))
RARE = {"DiffP-C4.5", "DiffP-ID3", "PINQ-ID3", "SuLQ-ID3", "DT-Diff"}  # printed right, and as corrected but for prices
VARIANTS: list[Any] = [("corrected", name) for name in CORRECTED]
VARIANTS += [
    pytest.param("paper", x, marks=pytest.mark.slow if x in RARE else ()) for x in controls.offered("forests", "paper")
]
PRFS, DTDIFF = CORRECTED[0], CORRECTED[6]
TABS = [
    "Price",
    "Trees",
    "Where the budget went",
    "Accuracy",
    "Draw again",
    "Predict",
    "The paper's figures",
    "Take home",
]


@pytest.fixture(autouse=True)
def this_page(monkeypatch: pytest.MonkeyPatch, quick_sample: None) -> None:
    """Small grids, one process, and no data set but the one in use."""
    monkeypatch.setattr(driving, "PAGE", "forests")
    monkeypatch.setattr(figures_003, "EPSILONS", {"depths": (0.5, 1.0), "forests": (0.5, 1.0)})
    monkeypatch.setattr(figures_003, "DEPTHS", (2,))
    monkeypatch.setattr(figures_003, "TREES", 2)
    monkeypatch.setattr(figures_003, "DEPTH", 2)
    monkeypatch.setattr(engine, "effective_n_jobs", lambda _: 1)
    monkeypatch.setattr(paper_figures, "here", lambda _: False)


def give(at: AppTest, key: str, name: str, raw: bytes) -> AppTest:
    widget(at, f"forests.{key}").set_value((name, raw, "application/octet-stream"))
    return run(at)


def predicted(at: AppTest) -> Any:
    return at.session_state["dpcore.predicted:forests"]["value"]


# Settings and runs


@pytest.mark.parametrize(("mode", "variant"), VARIANTS)
def test_every_method_and_mode_runs_on_the_sample(mode: str, variant: str) -> None:
    at = choose(page(datasets.load("sample")), mode, variant)
    wanted = asked(at)
    release = shown(released(at)).release
    assert {key: release.parameters[key] for key in wanted} == wanted
    name = variant.partition(":")[0].partition(" (")[0]
    assert (release.method, release.parameters["mode"]) == (name, mode)
    ledger = release.ledger
    assert books(at) == {
        (key_of(at), "add_remove"): (len(ledger.entries), ledger.epsilon_claimed, ledger.epsilon_bound)
    }
    exact = name == "Plain forest"
    assert metrics(at)[0] == ("Epsilon claimed", "none" if exact else "1")
    unproved = exact or (mode == "paper" and name in ("DiffPRFs", "DiffGen tree"))
    assert (metrics(at)[1][1] == "none") == unproved
    assert errors(at) == ([release.guarantee_void] if release.guarantee_void else [])
    assert bool(release.guarantee_void) == (unproved or (mode, name) == ("paper", "DiffPRF"))  # its bootstrap samples
    assert (mode == "corrected") <= (ledger.epsilon_bound == pytest.approx(1.0))
    assert tabs(at) == TABS
    for each in ("Trees", "Where the budget went"):
        tab(at, each)
        assert not mendable(at), each
        assert all(found == exact for found in marked(at)), each


@pytest.mark.parametrize("variant", [PRFS, DTDIFF])
def test_from_run_to_zip(variant: str, downloads: list[Any]) -> None:
    at = released(choose(page(), "corrected", variant), epsilon=5.0)
    for each in TABS:
        tab(at, each)
        assert not mendable(at), each
    content = files(downloads[-1]())
    model, config = Model.from_json(content["model.json"]), json.loads(content["config.json"])
    assert config["parameters"]["epsilon"] == 5.0
    rows = people().head(40)
    assert (model.predict(rows) == shown(at).release.model.predict(rows)).all()


def test_nothing_is_computed_in_tabs_that_are_shut(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(classifier, "compared", never)
    monkeypatch.setattr(forest, "forest_frames", None)
    at = released(page())
    for name in ("Draw again", "Predict", "The paper's figures", "Take home"):
        tab(at, name)
    assert set(shown(at).memory) == {"zip csv False", "model", "card", "notebook csv", "report, real: False"}


def test_accuracy_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    at = with_release("Accuracy")
    first = shown(at).memory["compared"]
    assert all(marked(at))
    assert len(marked(at)) == 3
    assert set(first[0]["model"]) >= {"released", "majority class", "same builder without noise", "scikit-learn tree"}
    tab(tab(at, "Price"), "Accuracy")
    assert shown(at).memory["compared"] is first
    assert books(at) == {}


@pytest.mark.parametrize("how", [by_a_widget, by_the_menu])
def test_a_stopped_comparison_waits_until_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, how: Callable[[], BaseException]
) -> None:
    at = released(page())
    spent = books(at)
    with monkeypatch.context() as patch:
        cancel(patch, "learning from the real rows", how)
        tab(at, "Accuracy")
    run(at)
    nothing_runs(at)
    assert "stopped before it was finished" in said(at)
    press(at, "forests.compared.go")
    assert len(marked(at)) == 3
    assert books(at) == spent


def test_moving_widgets_draws_nothing_and_spends_nothing() -> None:
    at = change(with_release("Predict"), n_trees_ruled=False)  # a tab without charts, which every move would draw
    first, moved = shown(at), set()
    for name in ("Predict", *TABS):
        tab(at, name)
        while waiting := [
            w
            for w in elements(at)
            if w.key and w.key not in moved and not getattr(w, "disabled", False) and another(w) is not None
        ]:
            found = min(waiting, key=lambda w: (".mode" in w.key, ".variant" in w.key))  # they put others away
            moved.add(found.key)
            found.set_value(another(found))
            run(at)
            assert nothing_new(at, first, {}), (name, found.key)
    names = {key.removeprefix("forests.").partition(":")[0] for key in moved}
    assert {"epsilon", "mode", "variant.corrected", "variant.paper", "noise", "seed", "figure", "repeats"} <= names


def test_what_a_method_does_not_know_is_not_asked() -> None:
    at = page()
    assert "n_trees" in asked(at)
    choose(at, "corrected", DTDIFF)
    assert not {"n_trees", "max_depth", "resample", "vote"} & set(asked(at))
    assert "rounds" in asked(at)
    choose(at, "paper", "DiffPRFs")
    assert widget(at, "forests.bootstrap").disabled
    assert not {"resample", "cuts", "children"} & set(asked(at))
    assert (asked(at)["n_trees"], asked(at)["max_depth"]) == (25, 5)
    choose(at, "corrected", PRFS)
    assert asked(at)["n_trees"] is None
    change(at, resample="poisson")
    change(at, rate=0.5, split=True)
    assert (asked(at)["resample"], asked(at)["rate"]) == ("poisson", 0.5)
    change(at, count_share=0.5, leaf_share=0.5)
    assert "Nothing is left" in said(at)
    press(at, "forests.run")
    assert mendable(at)
    assert books(at) == {} or max(claimed for _, claimed, _ in books(at).values()) == 0


def test_the_noise_that_pages_begin_with_may_be_published_and_cuts_anywhere() -> None:
    at = released(page())
    assert (asked(at)["noise"], asked(at)["cuts"]) == ("auto", None)
    assert shown(at).release.publishable
    assert all(not mendable(tab(at, name)) for name in ("Trees", "Accuracy"))
    choose(at, "paper", "DiffPRFs")
    released(at)
    assert not mendable(at)
    assert "exact discrete noise" in shown(at).release.noise_label.lower()


def test_a_second_run_replaces_the_first() -> None:
    at = tab(released(page()), "Trees")
    first = shown(at)
    released(at, epsilon=2.0)
    assert shown(at) is not first
    assert metrics(at)[0][1] == "2"
    ((_, claimed, _),) = books(at).values()
    assert claimed == pytest.approx(3.0)


def test_a_tree_is_chosen_by_its_number() -> None:
    at = change(page(), n_trees_ruled=False)
    number = next(w for w in at.number_input if w.key.startswith("forests.n_trees"))
    number.set_value(3)
    at = tab(released(run(at)), "Trees")
    spent = books(at)
    box = next(w for w in at.number_input if w.key.startswith("forests.tree"))
    assert (box.min, box.max) == (1, 3)
    box.set_value(3)
    run(at)
    assert "Tree 3 of 3" in words(at, everywhere=True)
    assert books(at) == spent
    tab(at, "Where the budget went")
    assert "in **one tree only**" in said(at)


def test_redraws_are_charged() -> None:
    at = tab(released(page(), epsilon=0.5), "Draw again")
    press(at, "forests.redraws.go")
    nothing_runs(at)
    ((_, claimed, bound),) = books(at).values()
    assert (claimed, bound) == pytest.approx((10.5, 10.5))
    frame = shown(at).redraws
    assert set(frame["metric"]) == {"accuracy", "balanced accuracy"}
    assert set(frame["run"]) == set(range(1 + redraw.REDRAWS))
    assert "Nine of ten runs" in said(at)
    assert marked(at) == [True]


def test_charts_hold_no_cell_of_the_rows() -> None:
    frame = people().assign(pay=np.linspace(0, 5000, 80).round(5))
    frame.loc[30, "pay"] = 1234.56789
    at = released(page(data(frame)))
    for name in TABS[:4]:
        tab(at, name)
        for spec, tables in charts(at):
            text = json.dumps(spec) + "".join(table.to_csv(float_format="%.12g") for table in tables)
            assert "1234.56" not in text, name
            assert len(spec["description"]) > 20


# Predict


@pytest.fixture
def ready() -> AppTest:
    return with_release("Predict", epsilon=5.0)


def test_predictions_for_a_file(ready: AppTest) -> None:
    at, spent = ready, books(ready)
    rows = people().head(30).drop(columns="ill").assign(note="=1+1")
    give(at, "rows", "new.csv", csv(rows))
    assert not mendable(at)
    found = predicted(at).rows
    assert (found["predicted ill"] == shown(at).release.model.predict(rows)).all()
    assert "30 predictions for new.csv" in said(at).replace("**", "")
    assert "begin with an apostrophe" in said(at)
    assert "Download the predictions" in words(at)
    tab(tab(at, "Price"), "Predict")
    assert predicted(at).rows is found
    assert books(at) == spent


@pytest.mark.parametrize(
    ("name", "raw", "cause"),
    [
        ("lack.csv", csv(people().head(5)[["age", "ill"]]), "lacks what the model asks for: town"),
        ("out.csv", csv(people().head(5).assign(town="Zqx")), "town"),
        ("empty.csv", b"", "empty"),
        ("header.csv", b"age,town\n", "rows"),
        ("photo.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00", "not text"),
    ],
)
def test_bad_files_are_told_and_lose_nothing(ready: AppTest, name: str, raw: bytes, cause: str) -> None:
    at, first, spent = ready, shown(ready), books(ready)
    give(at, "rows", "good.csv", csv(people().head(10)))
    good = predicted(at)
    give(at, "rows", name, raw)
    for _ in range(2):  # the cause stays on the screen
        (told,) = mendable(at)
        assert cause in told
        assert "Zqx" not in told
        run(at)
    assert predicted(at) is good
    assert nothing_new(at, first, spent)
    give(at, "rows", "better.csv", csv(people().head(12)))
    assert not mendable(at)
    assert len(predicted(at).rows) == 12


def test_a_model_comes_back_tomorrow(ready: AppTest) -> None:
    model = shown(ready).release.model
    raw = model.to_json().encode()
    at = page(data(people().rename(columns={"town": "city"}), "others"))
    give(at, "model_file", "model.json", raw)
    assert "DiffPRFs predicts ill" in said(at).replace("**", "")
    rows = people().head(30)
    give(at, "rows", "new.csv", csv(rows))
    assert (predicted(at).rows["predicted ill"] == model.predict(rows)).all()
    assert books(at) == {}
    give(at, "model_file", "photo.json", b"\x89PNG")
    assert "no model that can be read" in mendable(at)[0]
    assert "DiffPRFs predicts ill" in said(at).replace("**", "")  # the earlier model is kept


def test_another_model_predicts_anew(ready: AppTest) -> None:
    at = give(ready, "rows", "new.csv", csv(people().head(10)))
    first = predicted(at)
    released(at)
    assert predicted(at) is not first
    assert predicted(at).model is shown(at).release.model
    widget(at, "forests.rows").set_value(None)
    released(run(at))
    assert predicted(at).model is not shown(at).release.model
    assert "predicted by an earlier model" in said(at)


def test_a_model_from_a_file_beside_a_release(ready: AppTest) -> None:
    at = ready
    raw = shown(at).release.model.to_json().replace('"Zqa"', '"Oslo"').encode()
    next(w for w in at.get("button_group") if w.key.startswith("forests.model_from")).set_value("A model from a file")
    give(run(at), "model_file", "model.json", raw)
    give(at, "rows", "new.csv", csv(people().head(10).replace("Zqa", "Oslo")))
    assert not mendable(at)
    assert len(predicted(at).rows) == 10


# Other data


def test_data_without_a_class_with_categories() -> None:
    frame = people()[["age"]].assign(pay=np.arange(80.0))
    at = page(data(frame, target=None))
    assert "needs a column with categories as class" in said(at)
    press(at, "forests.run")
    assert "class" in mendable(at)[0]
    assert shown(at) is None


def test_data_without_a_target_use_what_is_chosen() -> None:
    at = released(change(page(data(target=None)), target="town"))
    assert shown(at).release.model.target == "town"
    for name in TABS[:4]:
        assert not mendable(tab(at, name)), name


def test_no_rows_to_test_on() -> None:
    whole = data()
    at = released(page(replace(whole, test=whole.test.head(0))))
    assert "needs rows" in said(tab(at, "Accuracy"))
    assert "needs rows" in said(tab(at, "Draw again"))


def test_only_a_class_column() -> None:
    at = page(data(people()[["ill"]]))
    for variant in (PRFS, DTDIFF):
        press(choose(at, "corrected", variant), "forests.run")
        if not mendable(at):
            for name in TABS[:4]:
                assert not mendable(tab(at, name)), name


def test_names_that_look_like_markup() -> None:
    frame = people().rename(columns={"town": "a.b[0] **x**", "ill": "<b>:red[ill]"})
    at = released(page(data(frame, target="<b>:red[ill]")))
    for name in TABS:
        assert not mendable(tab(at, name)), name
        assert "<b>:red[ill]" not in "".join(m.value for m in at.markdown)


def test_missing_values_and_an_inferred_schema() -> None:
    frame = people()
    frame.loc[::7, ["age", "town"]] = None
    at = released(page(data(frame, source="inferred")))
    assert metrics(at)[1] == ("Epsilon proved", "none")
    for name in TABS[:4]:
        assert not mendable(tab(at, name)), name


def test_other_data_are_for_the_next_run() -> None:
    at = released(page())
    first = shown(at)
    others = people(60, seed=4).rename(columns={"town": "city", "ill": "sick"})
    at.session_state["dpcore.data"] = data(others, "others", target="sick")
    run(at)
    for name in TABS[:4]:
        assert not mendable(tab(at, name)), name
    assert shown(at) is first
    released(at)
    assert shown(at).release.model.target == "sick"
    assert len(books(at)) == 2


def test_behind_a_deep_link(server) -> None:
    server.fresh = True
    at = AppTest.from_file(ROOT / "app.py", default_timeout=TIMEOUT)
    run(at.switch_page("pages/forests.py"))
    server.fresh = False
    change(at, epsilon=0.1)
    press(at, "forests.run")
    assert shown(at).release.ledger.epsilon_bound == pytest.approx(0.1)


# Figures

TITLES = {"depths": "Fig. 1: depth and score", "forests": "Fig. 2: three forests"}
RUNS = {"depths": 2 * 2 * 2, "forests": 5 * 2}  # with one repeat and the grid above


@pytest.mark.parametrize("key", TITLES)
def test_a_figure_is_made_and_every_run_is_charged(key: str) -> None:
    at = with_release("The paper's figures")
    first = shown(at)
    at.number_input("forests.repeats").set_value(1)
    widget(at, "forests.figure").set_value(TITLES[key])
    press(run(at), f"forests.{key}.go")
    assert not mendable(at)
    assert not at.warning
    nothing_runs(at)
    assert marked(at)[-1]
    _, tables = charts(at)[-1]
    for label in ("majority class", "no privacy, depth 5"):
        assert any(table.isin([label]).any(axis=None) for table in tables), label
    memories = [at.session_state[name] for name in at.session_state if str(name).startswith("dpcore.figure:")]
    found = pd.concat([frame.head(1) for memory in memories for frame in memory], ignore_index=True)
    assert len(found) == RUNS[key]
    assert books(at)[key_of(at), "add_remove"][1] == pytest.approx(found["epsilon_claimed"].sum())
    assert shown(at) is first


# What a first visitor stumbled over


def test_a_release_of_other_data_says_so() -> None:
    at = with_release()
    assert not [found for found in at.info if "which was chosen since" in found.value]
    other = replace(dataset(at), name="other", token="other")
    at.session_state["dpcore.data"] = other
    (told,) = [found.value for found in run(at).info if "which was chosen since" in found.value]
    assert "made from people" in told


@pytest.mark.parametrize(("variant", "word"), [("SuLQ-ID3", "one tree"), ("DiffPRF", "bootstrap sample")])
def test_only_forests_are_said_to_draw_bootstrap_samples(variant: str, word: str) -> None:
    at = with_release("Where the budget went", "paper", variant)
    said = " ".join(found.value for found in at.markdown)
    assert word in said
    assert ("bootstrap sample" in said) == (variant == "DiffPRF")


def test_comparisons_with_real_rows_are_in_the_report_only_if_asked_for(downloads: list[Any]) -> None:
    at = with_release("Take home")
    reports = []
    for real in (False, True):
        at.toggle("forests.real").set_value(real)
        run(at)
        content = files(downloads[-1]())
        assert {"card.md", "replay.ipynb"} <= set(content)
        reports.append(content["report.html"].decode())
        assert ("do not publish it" in content["README.md"].decode()) == real
    assert ["Uses real data" in html for html in reports] == [False, True]
    assert reports[1].count("The numbers behind this chart") == reports[0].count("The numbers behind this chart") + 2
    assert any("do not publish" in error.value for error in at.error)


def test_exact_counts_stay_here() -> None:
    at = with_release("Take home", "paper", "Plain forest")
    assert not at.get("download_button")
    assert "forests.real" not in [toggle.key for toggle in at.toggle]
    assert [found.value for found in at.info if "stays here" in found.value]
