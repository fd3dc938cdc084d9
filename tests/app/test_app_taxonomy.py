"""The page of taxonomy trees: what it asks for, its own tabs, and taxonomies that are changed."""

import json
import math
from dataclasses import replace

import pytest
from driving import change, edit, press, released, run, shown, tab
from prepared import PEOPLE, Journey, at_once, follow, nothing_new, offered, page, with_release
from screen import books, charts, dataset, marked, mendable, widget
from streamlit.testing.v1 import AppTest

from dpcore import TaxonomyRelease
from dpcore.dashboard.pages.data import schema_table
from dpcore.dashboard.pages.taxonomy import count_tree
from dpcore.dashboard.session import ShownRelease
from dpcore.datasets.catalog import adult_schema
from dpcore.domain.range_query import RangeQuery
from dpcore.domain.unit import PrivacyUnit
from dpcore.export import make_release
from dpcore.postprocess.count_tree import SURE, ReleasedTree

PAGE = "taxonomy"
ALL, PRINTED = (next(iter(offered(PAGE, mode))) for mode in ("corrected", "published"))
EQUAL, OWN = (1.0, 1.0, 1.0, 1.0), (0.0, 2.0, 1.0, 3.0)
WEIGHTS = "level_shares.each.4"
JOURNEYS: list[Journey] = [
    ("corrected", ALL, {"iterations": 2, "level_shares": "own"}, {"level_shares": EQUAL}),
    ("corrected", ALL, {WEIGHTS: "0; 2 ,1,3"}, {"level_shares": OWN}),
    ("published", PRINTED, {}, {"level_shares": None, "max_per_attribute": None}),
    ("published", PRINTED, {"max_per_attribute": "levels"}, {"max_per_attribute": "levels"}),
    ("published", "DiffGen", {"score": "IG"}, {"level_shares": None, "score": "IG"}),
    ("corrected", ALL, {}, {"level_shares": OWN}),
]


@pytest.fixture(autouse=True)
def few_queries(monkeypatch) -> None:
    monkeypatch.setattr(count_tree, "QUERIES", 40)


def test_own_shares_are_used_and_wrong_ones_are_told_and_never_run() -> None:
    at = released(follow(page(), JOURNEYS))
    first, spent = shown(at), books(at)
    release = first.release
    assert release.parameters["level_shares"] == OWN
    structure = release.structure["tree"]
    assert ReleasedTree.from_dict(release.schema, structure).measured_levels == [False, True, True, True]
    tab(at, "redraws")
    for text in ("1, many, 1, 1", "1, -1, 1, 1", ""):
        at_once(at, **{WEIGHTS: text})
        (error,) = mendable(at)
        assert "level_shares" in error
        assert widget(at, "taxonomy.run").disabled, text
        assert nothing_new(at, first, spent)


def test_true_counts_stand_in_the_tree_that_is_marked_alone() -> None:
    at = with_release("tree")
    assert marked(at)[-1]
    assert {"true", "noise"} <= set(at.dataframe[-2].value)
    _, tables = charts(change(at, tree_errors=False))[-1]
    assert not marked(at)[-1]
    assert all(table[column].isna().all() for table in tables for column in {"true", "noise"} & set(table))
    assert not {"true", "noise"} & set(at.dataframe[-2].value)


def query(at: AppTest) -> AppTest:
    """Ask for the ill with an age of 14 or more."""
    next(w for w in at.multiselect if w.key.startswith("taxonomy.ask:")).set_value(["age", "ill"])
    ages = next(w for w in run(at).select_slider if w.key.endswith(".age"))
    ages.set_value((ages.options[2], ages.options[-1]))
    next(w for w in at.selectbox if w.key.endswith(".ill")).select_index(2)
    return run(at)


def test_a_query_is_answered_in_every_way() -> None:
    at = with_release("ask", "corrected", "DiffGen")
    first = shown(at)
    (found,) = [table.value.set_index("release") for table in query(at).dataframe if "estimate" in table.value]
    *private, flat, groups = found.index
    real = dataset(at).train
    assert set(found["true"]) == {int(((real["age"] >= 14) & (real["ill"] == "yes")).sum())}
    assert marked(at)[-2:] == [True, False]  # the two settings are no data
    within = found.loc[[*private, flat]]
    assert ((within["low"] < within["estimate"]) & (within["estimate"] < within["high"])).all()
    assert found.loc[groups, ["low", "high"]].isna().all()
    assert nothing_new(at, first, {})


def test_counts_of_persons_are_compared_with_rows_that_are_cut_likewise() -> None:
    """Persons with 1 to 5 rows, 2 of which count: truth is near what was released, at a large epsilon."""
    frame = PEOPLE.train.assign(who=[f"p{round(4 * i**0.5)}" for i in range(len(PEOPLE.train))])
    kept = int(frame["who"].value_counts().clip(upper=2).sum())
    assert kept < len(frame)
    schema = replace(PEOPLE.schema, unit=PrivacyUnit(max_contributions=2, id_column="who"))
    method = TaxonomyRelease(epsilon=400.0, relation="add_remove", noise="laplace").fit(frame, schema=schema)
    release = make_release(method, "TaxonomyRelease", method.sample(50), data_name="people")
    made = ShownRelease(release, replace(PEOPLE, train=frame, schema=schema))
    assert count_tree.true_counts(made)[0].tolist() == [kept]
    found = count_tree.range_answers(made, RangeQuery.from_codes({"ill": (0, 1)})).set_index("release")
    assert set(found["true"]) == {kept}
    assert (found["estimate"] - kept).abs().max() < 5
    flat = found.loc["flat histogram"]  # at half of epsilon for one row, and as much noise as that
    columns = [name for name in schema.names if name in {*method.tree_.leaves.divided_columns, "ill"}]
    spread = SURE * math.sqrt(2 * math.prod(schema.select(columns).sizes)) / 200.0
    assert flat["high"] - flat["estimate"] == pytest.approx(spread)


def test_a_changed_taxonomy_survives_a_shut_drawer_and_is_for_the_next_release() -> None:
    at = released(page(**{"taxonomy.taxonomies": True}), fanout=3)
    first, spent = shown(at), books(at)
    widget(at, "taxonomy.editor.column").set_value("town")
    press(edit(run(at), {0: {"level 1": "Zqa"}}), "taxonomy.editor.apply")
    assert any("'Zqa'" in text.value for text in at.markdown)  # a group that is called as a value is
    assert dataset(at).schema["town"].taxonomy is None
    edit(at, {0: {"level 1": "Both"}, 1: {"level 1": "Both"}})  # two of the three towns under one name
    for there in (False, True):
        at.session_state["taxonomy.taxonomies"] = there
        assert bool(run(at).data_editor) == there
    press(at, "taxonomy.editor.apply")
    assert not mendable(at)
    assert dataset(at).schema["town"].taxonomy.paths[0] == ("Zqa", "Both", "(any)")
    assert nothing_new(at, first, spent)
    assert "Both" not in json.dumps(first.release.structure["tree"])
    at.session_state["taxonomy.taxonomies"] = False
    released(run(at))
    assert "Both" in json.dumps(shown(at).release.structure["tree"])
    assert list(books(at)) == list(spent)  # the same rows: the same account


def test_taxonomies_stay_with_their_values_in_any_order() -> None:
    schema = adult_schema()
    frame = schema_table.schema_frame(schema, schema.names, {})
    assert schema_table.parse_schema(frame, schema, target=schema.target, max_rows=schema.max_rows) == schema
    frame.at[3, "values"] = "; ".join(sorted(frame.at[3, "values"].split("; ")))
    frame.at[1, "values"] += "; Other"
    found = schema_table.parse_schema(frame, schema, target=None, max_rows=None)
    assert found["education"].taxonomy == schema["education"].taxonomy
    assert found["workclass"].taxonomy is None
    assert schema_table.lost_taxonomies(found, schema) == ["workclass"]
    assert schema_table.lost_taxonomies(found.select(["age"]), schema) == []
