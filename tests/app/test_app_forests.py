"""The page of trees and forests: what it asks for, its trees, and predictions for files."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from driving import csv, people, press, released, run, shown, tab
from prepared import Journey, asked, at_once, data, follow, nothing_new, page, with_release
from screen import books, marked, mendable, metrics, widget, words
from streamlit.testing.v1 import AppTest
from test_app_repeats import cancel, nothing_runs

PAGE = "forests"
JOURNEYS: list[Journey] = [
    ("corrected", "DiffPRFs", {}, {"n_trees": None, "noise": "auto", "cuts": None}),
    ("corrected", "DT-Diff", {}, {"n_trees": None, "max_depth": None, "resample": None, "vote": None}),
    ("paper", "DiffPRFs", {}, {"n_trees": 25, "max_depth": 5, "resample": None, "cuts": None, "children": "values"}),
    ("paper", "DiffPRFs", {"children.printed": "one"}, {"children": "one"}),
    ("corrected", "DiffPRFs", {"resample": "poisson"}, {"resample": "poisson"}),
    ("corrected", "DiffPRFs", {"rate": 0.5, "split": True}, {"rate": 0.5, "rounds": None}),
]


def give(at: AppTest, key: str, name: str, raw: bytes) -> AppTest:
    widget(at, f"forests.{key}").set_value((name, raw, "application/octet-stream"))
    return run(at)


def predicted(at: AppTest) -> Any:
    return at.session_state["dpcore.predicted:forests"]["value"]


def test_what_a_method_does_not_know_is_not_asked_and_shares_that_leave_nothing_are_not_run() -> None:
    at = page()
    (table,) = at.table  # the paper's, and what can be proved
    assert len(table.value) == 7
    at = follow(at, JOURNEYS)
    at_once(at, count_share=0.5, leaf_share=0.5)
    assert widget(at, "forests.run").disabled
    assert not any(claimed for _, claimed, _ in books(at).values())


def test_the_page_has_the_papers_table_and_a_forest_comes_in_one_click() -> None:
    at = page()
    (table,) = at.table
    assert table.value.loc["DiffPRF"].tolist()[:4] == ["Laplace, exponential", "low", "interactive", "categories"]
    assert len(table.value) == 7
    (button,) = [button for button in at.button if button.proto.icon == ":material/forest:"]
    button.click()
    assert asked(run(at))["n_trees"] == 25
    assert not [button for button in at.button if button.proto.icon == ":material/forest:"]


def test_accuracy_is_computed_once_or_when_it_is_asked_for_again(monkeypatch) -> None:
    whole = data()
    at = with_release("accuracy", given=replace(whole, test=whole.test.head(0)))
    assert not marked(at)  # there are no rows to test on
    assert not mendable(tab(at, "redraws"))
    at = with_release()
    with monkeypatch.context() as patch:
        cancel(patch, "learning from the real rows")
        tab(at, "accuracy")
    run(at)
    nothing_runs(at)
    assert not marked(at)
    press(at, "forests.compared.go")
    assert marked(at) == [True] * 3
    first = shown(at).memory["compared"]
    assert first[0]["model"].nunique() >= 4
    tab(tab(at, "price"), "accuracy")
    assert shown(at).memory["compared"] is first
    assert books(at) == {}


# Predict


@pytest.fixture
def ready() -> AppTest:
    return with_release("predict", epsilon=5.0)


def test_predictions_for_a_file_and_by_another_model(ready: AppTest) -> None:
    at = ready
    rows = people().head(30).drop(columns="ill").assign(note="=1+1")
    give(at, "rows", "new.csv", csv(rows))
    assert not mendable(at)
    first = predicted(at)
    assert (first.rows["predicted ill"] == shown(at).release.model.predict(rows)).all()
    assert at.get("download_button")
    assert books(at) == {}
    released(at)
    again = predicted(at)
    assert again.model is shown(at).release.model is not first.model
    tab(tab(at, "price"), "predict")
    assert predicted(at).rows is again.rows
    widget(at, "forests.rows").set_value(None)
    released(run(at))
    assert predicted(at).model is again.model  # of an earlier one, as there is no file to predict anew
    assert shown(at).release.model is not again.model


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
    assert metrics(at)[-2:] == [found["predicted ill"], f"{100 * found['probability']:.1f}%"]
    assert books(at) == {}


def test_bad_files_are_told_and_lose_nothing(ready: AppTest) -> None:
    at, first = ready, shown(ready)
    give(at, "rows", "good.csv", csv(people().head(10)))
    good = predicted(at)
    for name, raw, cause in (
        ("lack.csv", csv(people().head(5)[["age", "ill"]]), "town"),
        ("out.csv", csv(people().head(5).assign(town="Zqx")), "town"),
        ("photo.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00", "text"),
    ):
        give(at, "rows", name, raw)
        for _ in range(2):  # the cause stays on the screen
            (told,) = mendable(at)
            assert cause in told
            assert "Zqx" not in words(at)
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
    rows = people().head(30)
    give(at, "rows", "new.csv", csv(rows))
    assert (predicted(at).rows["predicted ill"] == model.predict(rows)).all()
    give(at, "model_file", "photo.json", b"\x89PNG")
    assert len(mendable(at)) == 1
    assert predicted(at).model.to_json() == model.to_json()  # the earlier model is kept
    assert books(at) == {}
    at, other = ready, model.to_json().replace('"Zqa"', '"Oslo"').encode()
    source = next(w for w in at.get("button_group") if w.key.startswith("forests.model_from"))
    source.set_value(source.options[1])
    give(run(at), "model_file", "model.json", other)
    give(at, "rows", "new.csv", csv(people().head(10).replace("Zqa", "Oslo")))
    assert not mendable(at)
    assert len(predicted(at).rows) == 10
