"""The page of trees and forests: what it asks for, its trees, and predictions for files."""

from dataclasses import replace
from typing import Any

from driving import csv, people, released, run, shown
from prepared import Journey, asked, at_once, data, follow, page, with_release
from screen import books, marked, mendable, widget, words
from streamlit.testing.v1 import AppTest

from dpcore.methods import METHODS

PAGE = "forests"
PRINTED = {"n_trees": 25, "max_depth": 5, "resample": None, "cuts": None, "categorical_splits": "values"}
JOURNEYS: list[Journey] = [
    ("corrected", "DiffPRFs", {}, {"n_trees": None, "noise": "auto", "cuts": None}),
    ("corrected", "DT-Diff", {}, {"n_trees": None, "max_depth": None, "resample": None, "vote": None}),
    ("published", "DiffPRFs", {}, PRINTED),
    ("published", "DiffPRFs", {"categorical_splits": "one_vs_rest"}, {"categorical_splits": "one_vs_rest"}),
    ("corrected", "DiffPRFs", {"resample": "poisson"}, {"resample": "poisson"}),
    ("corrected", "DiffPRFs", {"rate": 0.5}, {"rate": 0.5, "rounds": None}),
]


def give(at: AppTest, key: str, name: str, raw: bytes) -> AppTest:
    widget(at, f"forests.{key}").set_value((name, raw, "application/octet-stream"))
    return run(at)


def predicted(at: AppTest, page: str = PAGE) -> Any:
    return at.session_state[f"dpcore.predicted:{page}"]["value"]


def test_the_page_has_the_papers_table_and_a_forest_comes_in_one_click() -> None:
    at = with_release("survey")
    (table,) = at.table
    assert table.value.loc["DiffPRF"].tolist()[:4] == ["Laplace, exponential", "low noise", "interactive", "categories"]
    assert len(table.value) == 7
    (button,) = [button for button in at.button if button.proto.icon == ":material/forest:"]
    button.click()
    assert asked(run(at))["n_trees"] == 25


def test_the_page_asks_for_every_parameter_that_is_published() -> None:
    unused = {"cuts", "resample", "rate", "count_share", "leaf_share", "split_selection", "growth", "consistency"}
    for kind in (kind for kind in METHODS.values() if "003" in kind.paper and "corrected" in kind.modes):
        wanted = {name for name, control in kind.control_map().items() if control.applies_to(kind(mode="published"))}
        assert {*kind.parameters()} - wanted - unused <= {"mode", "max_leaves"}, kind


def test_without_test_rows_the_worst_column_of_the_released_counts_is_shown() -> None:
    rows = data()
    at = released(page(replace(rows, test=rows.test.head(0))), n_trees=3)
    assert "No rows were set aside for testing" in words(at)
    assert [metric.label for metric in at.metric][1] == "⚠ Columns close to real"
    assert marked(at) == [True]


def test_what_a_method_does_not_know_is_not_asked_and_shares_that_leave_nothing_are_not_run() -> None:
    at = follow(page(), JOURNEYS)
    at_once(at, count_share=0.5, leaf_share=0.5)
    assert widget(at, "forests.run").disabled


def test_predictions_for_a_file_outlast_a_bad_one() -> None:
    at = with_release("predict", epsilon=5.0)
    rows = people().head(30).drop(columns="ill").assign(note="=1+1")
    give(at, "rows", "new.csv", csv(rows))
    first = predicted(at)
    assert (first.rows["predicted ill"] == shown(at).release.model.predict(rows)).all()
    assert books(at) == {}
    give(at, "rows", "out.csv", csv(people().head(5).assign(town="Zqx")))
    assert "town" in mendable(at)[0]
    assert "Zqx" not in words(at)
    assert predicted(at) is first


def test_a_model_comes_back_tomorrow() -> None:
    model = shown(with_release("predict", epsilon=5.0)).release.model
    at = page(data(people().rename(columns={"town": "city"}), "others"))
    give(at, "model_file", "model.json", model.to_json().encode())
    rows = people().head(30)
    give(at, "saved.rows", "new.csv", csv(rows))
    assert (predicted(at, "forests.saved").rows["predicted ill"] == model.predict(rows)).all()
    give(at, "model_file", "photo.json", b"\x89PNG")
    assert len(mendable(at)) == 1
    assert books(at) == {}
