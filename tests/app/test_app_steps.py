"""The way from rows to what is taken home: the strip of steps, the recommended variant, and what a stopped run cost."""

import driving
import pytest
from driving import change, opened, press, released, run, started
from prepared import choose, data, page
from screen import dataset, said, widget
from streamlit.testing.v1 import AppTest

from dpcore.accounting.ledger import Entry, Ledger
from dpcore.dashboard.steps import AHEAD, DONE, HERE, STEPS
from dpcore.dashboard.workbench import paid


@pytest.fixture(autouse=True)
def on_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driving, "PAGE", "networks")


def strip(at: AppTest) -> list[str]:
    """How far somebody is: a letter for each step."""
    letters = {DONE: "x", HERE: "o", AHEAD: "."}
    return [letters[widget(at, f"steps.{number}").proto.icon] for number in range(len(STEPS))]


def test_the_strip_says_how_far_somebody_is_and_leads_on() -> None:
    at = page()
    assert strip(at) == list("xxo..")
    assert widget(at, "steps.4").disabled
    released(at)
    assert strip(at) == list("xxxo.")
    press(at, "steps.4")
    assert at.session_state["networks.tab"] == "Take home"
    assert strip(at) == list("xxxxo")
    at.session_state["dpcore.data"] = data(name="others")
    assert strip(run(at)) == list("xxo..")  # what is shown was made from other rows


def test_the_strip_remembers_the_method_somebody_works_with() -> None:
    at = opened(started("forests"), "data")
    assert strip(at) == list("o....")
    assert at.title[0].value != "Trees & forests"
    assert press(at, "steps.2").title[0].value == "Trees & forests"
    assert not [button for button in opened(at, "home").button if "steps" in button.key]


def test_own_data_begin_at_the_upload() -> None:
    at = press(started(), "home.own")
    assert at.segmented_control("data.source").value == "upload"
    assert at.file_uploader("data.file")
    assert dataset(at).name == "sample"  # until somebody uploads


def test_the_recommended_variant_comes_first_and_the_others_are_for_comparison() -> None:
    at = page()
    (fold,) = [found for found in at.expander if found.label == "Others, for comparison"]
    variants = fold.radio[0].options
    assert f"**{variants[0]}** (recommended)" in said(at)
    assert not fold.proto.expanded
    assert f"**{variants[1]}** (for comparison)" in said(choose(at, "corrected", variants[1]))
    (fold,) = [found for found in at.expander if found.label == "Others, for comparison"]
    assert fold.proto.expanded
    change(at, mode="paper")
    assert not [found for found in at.expander if found.label == "Others, for comparison"]


def test_what_a_stopped_run_cost() -> None:
    ledger = Ledger("add_remove")
    assert "nothing was charged" in paid(ledger)
    asked = {"epsilon_claimed": 0.25, "epsilon_of_noise": 0.25, "sensitivity": 1, "claimed_sensitivity": 1, "scale": 4}
    ledger.charge(Entry(name="a table", mechanism="laplace", **asked))
    assert "stays charged: epsilon 0.25" in paid(ledger)
