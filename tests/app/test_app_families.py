"""What holds on every page of methods: each variant from Run to zip, settings that only wait, and odd tables."""

import json
from typing import Any

import driving
import numpy as np
import own_tabs
import pandas as pd
import pytest
from driving import people, press, released, run, shown, tab
from prepared import MARK, another, asked, choose, data, files, marked, nothing_new, page, with_release
from screen import books, charts, dataset, elements, errors, key_of, mendable, metrics, said, sums, tabs, widget
from streamlit.testing.v1 import AppTest

from dpcore.dashboard import controls
from dpcore.dashboard.tabs import paper_figures, redraw
from dpcore.export import report
from dpcore.methods import METHODS
from dpcore.text import claim, limit

FIGURES = {"taxonomy": "The patent's claims"}
OWN = {  # tabs that no other page has; the figures stand in the middle
    "naive_bayes": ["Draw again"],
    "networks": ["Network", "Clusters", "Draw again"],
    "taxonomy": ["Tree", "Ask a range", "Error by range", "Draw again"],
}
TABS = {
    name: [
        *("Rows", "Price", "Columns", "Pairs", "Accuracy", *own),
        *(FIGURES.get(name, "The paper's figures"), "Risk", "Take home"),
    ]
    for name, own in OWN.items()
} | {
    "forests": [
        *("Price", "Trees", "Where the budget went", "Accuracy", "Draw again", "Predict"),
        *("The paper's figures", "Risk", "Take home"),
    ],
    "responses": [
        *("Price", "Reports", "Accuracy", "Draw again", "Tree", "Predict", "Risk"),
        *("Take home", "The paper's figures"),
    ],
}
SAME = {"Columns", "Pairs", "Accuracy", "Draw again", "Predict", "The paper's figures", "The patent's claims"}
OFFERED = {(name, mode): controls.offered(name, mode) for name in TABS for mode in ("corrected", "paper")}
VARIANTS = [(name, mode, label) for (name, mode), offers in OFFERED.items() for label in offers]
OWN_TABS = {name: getattr(own_tabs, name) for name in ("networks", "taxonomy", "forests", "responses")}
BOUNDED = data(max_rows=500)
every_page = pytest.mark.parametrize("name", TABS)


@pytest.fixture(autouse=True)
def this_page(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of the case, and no data set but the one in use."""
    monkeypatch.setattr(driving, "PAGE", request.node.callspec.params["name"])
    monkeypatch.setattr(paper_figures, "here", lambda _: False)
    monkeypatch.setattr(redraw, "REDRAWS", 4)
    monkeypatch.setattr(report, "svg", lambda *_: "<svg></svg>")


@pytest.mark.parametrize(("name", "mode", "variant"), VARIANTS)
def test_every_variant_from_run_to_zip(name: str, mode: str, variant: str, downloads: list[Any]) -> None:
    """The release is what was asked for, is charged as its ledger says, and is told, marked and taken home as that."""
    kind, offer = OFFERED[name, mode][variant]
    chosen = {"mode": mode, f"variant.{mode}": variant, "tab": "Draw again"}  # a tab without charts
    at = page(BOUNDED, **{f"{name}.{key}": value for key, value in chosen.items()})
    wanted = asked(at)
    release = shown(released(at)).release
    assert (release.method, release.parameters["mode"]) == (kind, mode)
    assert {key: release.parameters[key] for key in {**wanted, **offer.given}} == {**wanted, **offer.given}
    ledger = release.ledger
    account = key_of(at), METHODS[kind](**wanted).relation
    assert books(at) == {account: (len(ledger.entries), ledger.epsilon_claimed, ledger.epsilon_bound)}
    assert [value for _, value in metrics(at)[:2]] == [claim(ledger.epsilon_claimed), limit(ledger.epsilon_bound)]
    assert errors(at) == ([release.guarantee_void] if release.guarantee_void else [])
    if mode == "corrected":
        assert ledger.epsilon_bound == pytest.approx(ledger.epsilon_claimed) == pytest.approx(wanted["epsilon"])
        assert not release.guarantee_void
        assert release.publishable
    elif METHODS[kind].provable_printed == "none":
        assert metrics(at)[1][1] == "no limit"
        assert release.guarantee_void
    gone = {one for one, there in (("Reports", release.artifact.reports), ("Tree", "DT" in kind)) if not there}
    assert tabs(at) == [one for one in TABS[name] if name != "responses" or one not in gone]
    first = variant == next(iter(OFFERED[name, mode]))
    for each in tabs(at):
        if first or each not in SAME:
            assert not mendable(tab(at, each)), each
    assert books(at) == {account: (len(ledger.entries), ledger.epsilon_claimed, ledger.epsilon_bound)}
    content = files(downloads[-1]()) if downloads else {}
    if name in OWN_TABS:
        OWN_TABS[name](at, variant, content)
    if not content:
        assert release.noiseless
        assert "stays here" in said(tab(at, "Take home"))
        return
    assert json.loads(content["config.json"])["parameters"] == json.loads(json.dumps(release.parameters))
    assert (MARK in content["README.md"].decode()) == bool(release.guarantee_void)
    assert not any(secret.encode() in raw for raw in content.values() for secret in sums(at))


REACHED = {  # a page's settings that were moved: at least these
    "naive_bayes": {"relation", "smoothing", "target", "rows"},
    "networks": {"relation", "n_clusters", "max_parents", "score", "affinity", "partition", "target", "rows"},
    "taxonomy": {"relation", "iterations", "shares", "with_class", "fanout", "rounds", "target", "rows"},
    "forests": {"relation", "n_trees", "max_depth", "criterion", "resample", "cuts", "rounds", "target"},
    "responses": {"p0", "theta", "numbers", "randomizer", "depth", "pairs", "target"},
}


def waiting(at: AppTest, moved: set[str]) -> list[Any]:
    """What can be moved and was not yet; what puts others away comes last."""
    found = [
        w
        for w in elements(at)
        if w.key and w.key not in moved and not getattr(w, "disabled", False) and another(w) is not None
    ]
    return sorted(found, key=lambda w: (".mode" in w.key, ".variant" in w.key))


@every_page
def test_all_that_can_be_moved_reaches_the_next_run_and_draws_and_spends_nothing(name: str) -> None:
    """Found on the screen, so that new widgets are moved too: all settings of all variants, and all tabs."""
    at = with_release("Draw again", given=BOUNDED)  # a tab without charts, which every move would draw
    first, release = shown(at), shown(at).release
    moved = {"dpcore.language", *(f"{name}.{key}" for key in ("mode", "variant.corrected", "variant.paper", "what"))}
    idle: set[str] = set()

    def move() -> None:
        while found := waiting(at, moved):
            moved.add(found[0].key)
            before = at.session_state[f"{name}.chosen"]
            found[0].set_value(another(found[0]))
            run(at)
            assert nothing_new(at, first, {}), found[0].key
            assert shown(at).release is release
            if at.session_state[f"{name}.chosen"] == before:
                idle.add(found[0].key.removeprefix(f"{name}.").partition(":")[0].partition(".")[0])

    for mode in ("corrected", "paper"):
        for variant in OFFERED[name, mode]:
            choose(at, mode, variant)
            assert nothing_new(at, first, {}), variant
            assert (asked(at)["mode"], at.session_state[f"{name}.chosen"][0]) == (mode, OFFERED[name, mode][variant][0])
            move()
    settings = set(idle)
    for each in tabs(at):
        tab(at, each)
        move()
    names = {key.removeprefix(f"{name}.").partition(":")[0].partition(".")[0] for key in moved}
    assert names >= {"epsilon", "noise", "seed", *REACHED[name]}
    assert settings == set()
    assert {"column", "pair_x", "pair_y", "format"} <= names or name not in OWN


@every_page
def test_redraws_cost_as_many_times_what_the_release_did(name: str) -> None:
    at = tab(released(page(BOUNDED), epsilon=0.5), "Draw again")
    ((account, spent),) = books(at).items()
    drawn = len(charts(at))
    press(at, f"{name}.redraws.go")
    assert not mendable(at)
    after = books(at)[account]
    assert after[1:] == pytest.approx((5 * spent[1], 5 * spent[2]))
    assert set(shown(at).redraws["run"]) == set(range(5))
    assert all(marked(at)[-(len(charts(at)) - drawn) :])


# Other data

PAY = 1234.56789
ODD = people().rename(columns={"town": "a.b[0] **x**", "ill": "<b>:red[ill]"})
ODD = ODD.assign(pay=np.linspace(0, 5000, 80).round(5), report=ODD["age"] % 3 > 0)
ODD.loc[3, "pay"] = ODD.loc[60, "pay"] = PAY
ODD.loc[::7, ["age", "a.b[0] **x**"]] = None
NUMBERS = people()[["age"]].assign(pay=np.arange(80.0))
DATED = people().assign(bill=[f"${1_234.5 + 40 * place:,.2f}" for place in range(80)])
DATED["visit"] = [f"2021-{1 + place % 12:02}-{1 + place % 28:02}" for place in range(80)]
DATED["born"] = [f"{1 + place % 28}/{1 + place % 12}/{1930 + place}" for place in range(80)]
DATED.loc[::9, "visit"] = None
OTHERS: dict[str, tuple[pd.DataFrame, dict[str, Any]]] = {
    "odd": (ODD.rename(columns={"report": "(rows)"}), {"target": "<b>:red[ill]", "source": "inferred"}),
    "dates": (DATED, {}),
    "no class": (people().rename(columns={"age": "report", "town": "person"}), {"target": None}),
    "numbers": (NUMBERS, {"target": None}),
    "a number": (NUMBERS[["age"]], {"target": None}),
    "a category": (people()[["town"]], {"target": None}),
}
NEEDS = {"naive_bayes": {"numbers", "a number"}}  # a class, and other columns
NEEDS |= {name: {"numbers", "a number", "a category"} for name in ("forests", "responses")}


@every_page
@pytest.mark.parametrize("table", OTHERS)
def test_other_tables_go_through_every_tab_or_are_refused(name: str, table: str) -> None:
    frame, schema = OTHERS[table]
    at = page(data(frame, max_rows=500, **schema))
    if widget(at, f"{name}.run").disabled:
        assert table in NEEDS.get(name, ()), errors(at)
        assert len(mendable(at)) == 1
        return
    released(at)
    for each in tabs(at) if table in ("odd", "no class") else [one for one in tabs(at) if one not in SAME]:
        tab(at, each)
        assert not mendable(at), each
        assert "<b>:red[ill]" not in "".join(found.value for found in at.markdown)
        for spec, tables in charts(at):
            text = json.dumps(spec) + "".join(table.to_csv(float_format="%.12g") for table in tables)
            assert "1234.5" not in text, each
            assert "datasets" not in spec
            assert len(spec["description"]) > 20
    if table == "odd":
        assert metrics(at)[1] == ("Guarantee", "none")
        assert any("inferred from the private rows" in error for error in errors(at))


@every_page
def test_other_data_are_for_the_next_run(name: str) -> None:
    at = with_release("Draw again", given=BOUNDED)
    first = shown(at)
    assert not [found for found in at.info if "which was chosen since" in found.value]
    others = people(60, seed=4).rename(columns={"town": "city", "ill": "sick"})
    at.session_state["dpcore.data"] = data(others, "others", target="sick", max_rows=500)
    for each in tabs(run(at)):
        assert each in SAME - {"Accuracy"} or not mendable(tab(at, each)), each
    assert nothing_new(at, first, {})
    assert "made from people" in said(at)
    released(at)
    assert shown(at).data is dataset(at)
    assert asked(at).get("target", "sick") == "sick"
    assert "made from people" not in said(at)


@every_page
def test_a_second_run_replaces_the_first_and_both_are_paid(name: str) -> None:
    at = released(with_release("Draw again", given=BOUNDED))
    first = shown(at)
    released(at, epsilon=0.5 if name != "responses" else 2.0)
    ((_, claimed, _),) = books(at).values()
    assert claimed == pytest.approx(first.release.ledger.epsilon_claimed + shown(at).release.ledger.epsilon_claimed)
    released(at, seed=3)
    assert "For teaching only" in str(errors(at))
    assert not shown(at).release.publishable
    assert widget(at, f"{name}.seed").value == 3
