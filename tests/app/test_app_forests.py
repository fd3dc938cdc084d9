"""The page of trees and forests: what it asks, its trees, and predictions for files."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from driving import change, csv, people, press, released, run, shown, tab
from prepared import asked, at_once, choose, data, marked, nothing_new, page, with_release
from screen import books, charts, mendable, metrics, said, widget, words
from streamlit.testing.v1 import AppTest
from test_app_repeats import cancel, nothing_runs

from dpcore.dashboard import controls
from dpcore.dashboard.tabs import classifier, forest

PAGE = "forests"
CORRECTED = list(controls.offered("forests", "corrected"))
PRFS, DTDIFF = CORRECTED[0], CORRECTED[6]


def give(at: AppTest, key: str, name: str, raw: bytes) -> AppTest:
    widget(at, f"forests.{key}").set_value((name, raw, "application/octet-stream"))
    return run(at)


def predicted(at: AppTest) -> Any:
    return at.session_state["dpcore.predicted:forests"]["value"]


# Settings and runs


def test_nothing_is_computed_in_tabs_that_are_shut(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(classifier, "compared", never)
    monkeypatch.setattr(forest, "forest_frames", None)
    at = with_release("Draw again")
    for name in ("Predict", "The paper's figures", "Take home"):
        tab(at, name)
    assert set(shown(at).memory) == {"zip csv False", "model", "card en", "notebook csv", "report, real: False"}


def test_accuracy_is_computed_once_or_when_it_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = data()
    at = with_release("Accuracy", given=replace(whole, test=whole.test.head(0)))
    assert "needs rows" in said(at)
    assert "needs rows" in said(tab(at, "Draw again"))
    at = with_release()
    with monkeypatch.context() as patch:
        cancel(patch, "learning from the real rows")
        tab(at, "Accuracy")
    run(at)
    nothing_runs(at)
    assert "stopped before it was finished" in said(at)
    press(at, "forests.compared.go")
    assert marked(at) == [True] * 3
    first = shown(at).memory["compared"]
    assert set(first[0]["model"]) >= {"released", "majority class", "same builder without noise", "scikit-learn tree"}
    tab(tab(at, "Price"), "Accuracy")
    assert shown(at).memory["compared"] is first
    assert books(at) == {}


def test_the_page_has_the_papers_table_and_its_two_readings_and_a_forest_in_one_click() -> None:
    at = page()
    (table,) = at.table
    assert table.value.loc["DiffPRF"].tolist()[:4] == ["Laplace, exponential", "low", "interactive", "categories"]
    assert len(table.value) == 7
    assert "By rule: one tree" in said(at)
    next(button for button in at.button if button.label == "Grow 25 trees all the same").click()
    assert asked(run(at))["n_trees"] == 25
    assert "By rule: one tree" not in said(at)
    assert asked(choose(at, "paper", "DiffPRFs"))["children"] == "values"
    change(at, **{"children.printed": "one"})
    assert asked(at)["children"] == "one"
    assert not books(at)


def test_what_a_method_does_not_know_is_not_asked() -> None:
    at = page()
    assert (asked(at)["n_trees"], asked(at)["noise"], asked(at)["cuts"]) == (None, "auto", None)
    assert "rounds" in asked(choose(at, "corrected", DTDIFF))
    assert not {"n_trees", "max_depth", "resample", "vote"} & set(asked(at))
    choose(at, "paper", "DiffPRFs")
    assert widget(at, "forests.bootstrap").disabled
    assert not {"resample", "cuts"} & set(asked(at))
    assert (asked(at)["n_trees"], asked(at)["max_depth"]) == (25, 5)
    change(choose(at, "corrected", PRFS), resample="poisson")
    at_once(at, rate=0.5, split=True)
    assert (asked(at)["resample"], asked(at)["rate"]) == ("poisson", 0.5)
    at_once(at, count_share=0.5, leaf_share=0.5)
    assert "Nothing is left" in said(at)
    assert next(button for button in at.button if (button.key or "").startswith("forests.run:")).disabled
    assert not any(claimed for _, claimed, _ in books(at).values())


# Predict


@pytest.fixture
def ready() -> AppTest:
    return with_release("Predict", epsilon=5.0)


def test_predictions_for_a_file_and_by_another_model(ready: AppTest) -> None:
    at = ready
    rows = people().head(30).drop(columns="ill").assign(note="=1+1")
    give(at, "rows", "new.csv", csv(rows))
    assert not mendable(at)
    first = predicted(at)
    assert (first.rows["predicted ill"] == shown(at).release.model.predict(rows)).all()
    assert "30 predictions for new.csv" in said(at).replace("**", "")
    assert "begin with an apostrophe" in said(at)
    assert "Download the predictions" in words(at)
    assert books(at) == {}
    released(at)
    again = predicted(at)
    assert again is not first
    assert again.model is shown(at).release.model
    tab(tab(at, "Price"), "Predict")
    assert predicted(at).rows is again.rows
    give(at, "rows", "new.csv", csv(rows))
    widget(at, "forests.rows").set_value(None)
    released(run(at))
    assert predicted(at).model is not shown(at).release.model
    assert "predicted by an earlier model" in said(at)


def test_one_person_by_hand_is_predicted_as_in_a_file(ready: AppTest) -> None:
    at, model = ready, shown(ready).release.model
    columns = [column for column in model.schema.columns if column.name != "ill"]
    controls = [one for one in (*at.selectbox, *at.select_slider) if one.key.startswith("forests.person.")]
    assert [one.label for one in sorted(controls, key=lambda one: one.key)] == [column.name for column in columns]
    last = {column.name: column.upper if column.numeric else column.categories[-1] for column in columns}
    for one in controls:
        one.set_value(last[one.label])
    run(at)
    found = model.predictions(pd.DataFrame([last])).iloc[0]
    told = dict(metrics(at))
    assert told["Predicted ill"] == found["predicted ill"]
    assert told["The model’s probability"] == f"{100 * found['probability']:.1f}%"
    assert books(at) == {}


def test_bad_files_are_told_and_lose_nothing(ready: AppTest) -> None:
    at, first = ready, shown(ready)
    give(at, "rows", "good.csv", csv(people().head(10)))
    good = predicted(at)
    for name, raw, cause in (
        ("lack.csv", csv(people().head(5)[["age", "ill"]]), "lacks what the model asks for: town"),
        ("out.csv", csv(people().head(5).assign(town="Zqx")), "town"),
        ("photo.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00", "not text"),
    ):
        give(at, "rows", name, raw)
        for _ in range(2):  # the cause stays on the screen
            (told,) = mendable(at)
            assert cause in told
            assert "Zqx" not in told
            run(at)
        assert predicted(at) is good
    assert nothing_new(at, first, {})
    give(at, "rows", "better.csv", csv(people().head(12)))
    assert not mendable(at)
    assert len(predicted(at).rows) == 12


def test_a_model_comes_back_tomorrow_and_beside_a_release(ready: AppTest) -> None:
    model = shown(ready).release.model
    at = page(data(people().rename(columns={"town": "city"}), "others"))
    give(at, "model_file", "model.json", model.to_json().encode())
    assert "DiffPRFs predicts ill" in said(at).replace("**", "")
    rows = people().head(30)
    give(at, "rows", "new.csv", csv(rows))
    assert (predicted(at).rows["predicted ill"] == model.predict(rows)).all()
    assert books(at) == {}
    give(at, "model_file", "photo.json", b"\x89PNG")
    assert "no model that can be read" in mendable(at)[0]
    assert "DiffPRFs predicts ill" in said(at).replace("**", "")  # the earlier model is kept
    at, other = ready, model.to_json().replace('"Zqa"', '"Oslo"').encode()
    next(w for w in at.get("button_group") if w.key.startswith("forests.model_from")).set_value("A model from a file")
    give(run(at), "model_file", "model.json", other)
    give(at, "rows", "new.csv", csv(people().head(10).replace("Zqa", "Oslo")))
    assert not mendable(at)
    assert len(predicted(at).rows) == 10


# Taken home


def test_noiseless_counts_stay_here() -> None:
    at = with_release("Take home", "paper", "Plain forest")
    assert not at.get("download_button")
    assert "forests.real" not in [toggle.key for toggle in at.toggle]
    assert [found.value for found in at.info if "stays here" in found.value]
    assert len(charts(at)) == 1  # the settings' icons
