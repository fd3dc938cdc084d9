"""The page Statistics: chosen in words, errors before and after the run, one charge, and what reads real rows."""

import io
import json
from dataclasses import replace

import pandas as pd
import pytest
from driving import change, linked, opened, press, run, shown, started
from prepared import PEOPLE, data, files, fresh, nothing_new
from screen import books, charts, errors, marked, mendable, metrics, said, widget

from dpcore.domain.unit import PrivacyUnit

PAGE = "statistics"


def asked(at) -> list[str]:
    """The statistics that the Run button would release."""
    return at.session_state[f"{PAGE}.chosen"][1]["queries"].splitlines()


@pytest.fixture
def released():
    """The page after a new user pressed Run."""
    return press(started(PAGE), f"{PAGE}.run")


def test_a_new_user_presses_run_and_sees_a_mean_with_both_errors():
    at = started(PAGE)
    assert asked(at) == ["mean of age by sex"]
    expected = [text for text in said(at).split("\n") if "mean of age by sex" in text]
    assert "from the noise" in expected[0]
    change(at, epsilon=0.1)
    assert "from the noise" in said(at)
    assert expected[0] not in said(at)  # it follows the slider
    press(at, f"{PAGE}.run")
    assert metrics(at)[0].startswith("0.1")
    ((spec, tables),) = charts(at)
    assert spec["title"]["text"] == ["mean of age by sex"]
    table = next(one for one in tables if {"estimate", "noise_low", "low"} <= {*one})
    assert table["label"].tolist() == ["sex Female", "sex Male"]
    assert (table["low"] <= table["noise_low"]).all()
    assert marked(at) == [False]
    change(at, epsilon=1.0)
    assert "The release below was made with other settings" in said(at)
    assert len(opened(opened(at, "ledger"), PAGE).tabs) == 6  # and it is still there
    at.session_state[f"{PAGE}.tab"], at.session_state["dpcore.language"] = "Numbers", "zh"
    (table,) = run(at).dataframe
    assert len({*table.value}) == 13  # no two headings are alike
    assert "noisy sums" not in str(table.value.iloc[0].tolist())


def test_real_values_are_marked_and_a_finding_has_an_epsilon_all_for_one_charge(released):
    first, spent = shown(released), books(released)
    widget(released, f"{PAGE}.real_values").set_value(True)
    assert marked(run(released)) == [True]
    assert "· real" in str(charts(released)[0][1])
    released.session_state[f"{PAGE}.tab"] = "Does the finding survive?"
    at = run(released)
    assert "sex Female − sex Male" in said(at)
    assert marked(at) == [False]
    widget(at, f"{PAGE}.other").set_value(0.01)
    widget(at, f"{PAGE}.real_difference").set_value(True)
    assert marked(run(at)) == [True]
    assert nothing_new(at, first, spent)


def test_redraws_are_charged_and_become_dots(released):
    released.session_state[f"{PAGE}.tab"] = "Run-to-run variation"
    press(run(released), f"{PAGE}.redraws.go")
    assert books(released).popitem()[1][2] == pytest.approx(1 + 20)  # epsilon
    assert len(next(table for table in charts(released)[0][1] if {*table} == {"label", "value"})) == 40


def test_statistics_are_chosen_box_by_box_added_removed_and_linked():
    at = change(started(PAGE), what="difference", between="sex")
    assert asked(at) == ["difference of age between sex = Female and sex = Male"]
    press(at, f"{PAGE}.add")
    change(at, what="share", column="income", value=">50K", by="race", where="age", sign=">=")
    change(at, **{"limit.age": 60})
    assert asked(at) == [
        "difference of age between sex = Female and sex = Male",
        "share of income = >50K by race where age >= 60",
    ]
    link = at.session_state[f"dpcore.settings:{PAGE}"][""]
    press(at, f"{PAGE}.remove.0")
    assert asked(at) == ["share of income = >50K by race where age >= 60"]
    press(at, f"{PAGE}.run")
    assert len(shown(at).release.artifact.answers) == 5
    other = linked(PAGE, **{name: json.dumps(value) for name, value in link.items() if value is not None})
    assert len(asked(other)) == 2


def test_what_cannot_be_estimated_is_said_with_a_remedy():
    at = change(started(PAGE), lines="mean of town")
    assert "There is no column 'town' in the schema." in mendable(at)[0]
    assert widget(at, f"{PAGE}.run").disabled
    words = PEOPLE.train[["town", "ill"]]
    assert asked(fresh(data(words, "words"))) == ["histogram of town"]
    schema = replace(PEOPLE.schema, unit=PrivacyUnit(max_contributions=2, id_column="who"))
    rows = PEOPLE.train.assign(who=[f"p{i // 2}" for i in range(len(PEOPLE.train))])
    persons = change(fresh(replace(PEOPLE, train=rows, schema=schema, token="persons")), what="persons")
    press(persons, f"{PAGE}.run")
    assert not errors(persons)
    assert shown(persons).release.artifact.answers["unit"].tolist() == ["persons"]


def test_the_zip_has_answers_charts_and_a_script(released, downloads):
    released.session_state[f"{PAGE}.tab"] = "Download"
    run(released)
    content = files(downloads[-1]())
    assert {"answers.csv", "chart-1.svg", "card.md", "replay.py", "report.html"} <= {*content}
    answers = pd.read_csv(io.BytesIO(content["answers.csv"]))
    assert [*answers][:6] == ["statistic", "group", "of", "value", "low", "high"]
    assert b"No real row is copied" not in content["report.html"]
