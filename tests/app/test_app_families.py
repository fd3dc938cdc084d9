"""What holds on every page of methods: each variant from Run to zip, settings that only wait, and odd tables."""

import io
import json
import math
from collections.abc import Iterator
from typing import Any

import driving
import numpy as np
import pandas as pd
import prepared
import pytest
from driving import change, names, people, released, run, shown, tab
from prepared import FAMILIES, Journey, asked, choose, data, files, follow, nothing_new, option, page, with_release
from screen import books, charts, dataset, elements, errors, key_of, marked, mendable, metrics, said, sums, widget
from streamlit.testing.v1 import AppTest

from dpcore import datasets
from dpcore.dashboard import panels
from dpcore.dashboard.panels import paper, redraw
from dpcore.domain.column import Column
from dpcore.export import facts, report
from dpcore.export.artifacts import Model
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateClassifier
from dpcore.methods.local.base import LocalClassifier
from dpcore.text import limit

# Tabs that no method changes.
SAME = {"summary", "marginals", "pairs", "accuracy", "redraws", "predict", "figures", "survey"}
LOOKED_AT = {"network", "trees", "privacy", "download"}
OFFERED = {(name, mode): prepared.offered(name, mode) for name in FAMILIES for mode in ("corrected", "published")}
VARIANTS = [(name, mode, label) for (name, mode), offers in OFFERED.items() for label in offers]
BOUNDED = data(max_rows=500)
every_page = pytest.mark.parametrize("name", FAMILIES)


@pytest.fixture(autouse=True)
def this_page(request: pytest.FixtureRequest, monkeypatch) -> None:
    """The page of the case, and no data set but the one in use."""
    named = getattr(request.node, "callspec", None)
    monkeypatch.setattr(driving, "PAGE", named.params["name"] if named else "networks")
    monkeypatch.setattr(paper, "read_published", lambda _: {})
    monkeypatch.setattr(redraw, "REDRAWS", 4)
    monkeypatch.setattr(report, "svg", lambda *_: "<svg></svg>")


# What the tabs that one family alone has must show of a release, whichever of its methods made it


def own_networks(at: AppTest, content: dict[str, bytes]) -> None:
    """The graph, and nothing in the file but names, sizes, prices and noisy scores."""
    structure, noiseless = shown(at).release.structure, shown(at).release.noiseless
    assert marked(tab(at, "network")) == [noiseless]
    assert not any(marked(tab(at, "clusters"))) or noiseless
    assert json.loads(content["structure.json"]) == json.loads(json.dumps(structure))
    assert set(structure) <= {"families", "clusters", "similarity", "edges"}
    for family in structure["families"]:
        assert set(family) == {"child", "parents", "cluster", "cells", "epsilon"}
    assert set(structure.get("similarity", {"names", "scores"})) == {"names", "scores"}


def own_forests(at: AppTest, content: dict[str, bytes]) -> None:
    """Trees are released, and so unmarked; the file's model predicts as the released one."""
    release, rows = shown(at).release, dataset(at).test
    assert set(marked(tab(at, "trees"))) <= {release.noiseless}
    if content:
        assert (Model.from_json(content["model.json"]).predict(rows) == release.model.predict(rows)).all()


def own_responses(at: AppTest, content: dict[str, bytes]) -> None:
    """Reports are taken home with their rules, but where they hold true answers."""
    if not content:
        return
    readme = content["README.md"].decode()
    if shown(at).release.parameters["mode"] == "published":  # reports, and what they taught, hold true answers
        assert "reports.csv" not in " ".join([*content, readme])
        return
    rows = pd.read_csv(io.BytesIO(content["reports.csv"]))
    assert len(rows) == len(dataset(at).train)
    assert "reports.csv" in readme
    assert len(json.loads(content["rules.json"])["questions"]) == rows.shape[1] - 1  # people are numbered


OWN_TABS = {"networks": own_networks, "forests": own_forests, "responses": own_responses}


@pytest.mark.parametrize(("name", "mode", "variant"), VARIANTS)
def test_every_variant_from_run_to_zip(name: str, mode: str, variant: str, downloads) -> None:
    """The release is what was asked for, is charged as its ledger says, and is told, marked and taken home as that."""
    kind, offer = OFFERED[name, mode][variant]
    at = page(BOUNDED, **{f"{name}.method": option(mode, variant)})
    wanted = asked(at)
    release = shown(released(at)).release
    assert (release.method, release.parameters["mode"]) == (kind, mode)
    assert {key: release.parameters[key] for key in {**wanted, **offer.parameters}} == {**wanted, **offer.parameters}
    ledger = release.ledger
    account = key_of(at), METHODS[kind](**wanted).relation
    spent = {account: (len(ledger.entries), ledger.epsilon_claimed, ledger.epsilon_bound)}
    assert books(at) == spent
    unbounded = math.isinf(ledger.epsilon_bound)
    assert metrics(at)[0].split(" · ")[0] == ("none" if unbounded else limit(ledger.epsilon_bound))
    assert errors(at) == ([release.guarantee_void] if unbounded else [])
    assert unbounded or release.guarantee_void in said(at)  # of a wrong claim, in a band
    if mode == "corrected":
        assert ledger.epsilon_bound == pytest.approx(ledger.epsilon_claimed) == pytest.approx(wanted["epsilon"])
        assert not release.guarantee_void
        assert release.exactly_sampled
    elif METHODS[kind].provable_published == "none":
        assert ledger.epsilon_bound == np.inf
        assert release.guarantee_void
    first = variant == next(iter(OFFERED[name, mode]))
    for each in names(at):
        if first or each not in SAME | LOOKED_AT:
            assert not mendable(tab(at, each)), each
    assert books(at) == spent
    assert not mendable(tab(at, "download"))
    content = files(downloads[-1]()) if downloads else {}
    stays = release.noiseless and name in ("forests", "responses")  # a model of noiseless counts
    assert bool(content) == bool(at.get("download_button")) == (not stays)
    if content:
        assert json.loads(content["config.json"])["parameters"] == json.loads(json.dumps(release.parameters))
        card, text = content["card.md"].decode(), facts.facts(release).card
        assert [what for what, about in text if about not in card] == []
        assert release.guarantee_void in card
        secrets = [secret.encode() for secret in sums(at)]
        assert not any(secret in raw for raw in content.values() for secret in secrets)
    if name in OWN_TABS:
        OWN_TABS[name](at, content)


def waiting(at: AppTest, moved: set[str]) -> list[Any]:
    """What can be moved and was not yet."""
    return [
        w
        for w in elements(at)
        if w.key and w.key not in moved and not getattr(w, "disabled", False) and prepared.another(w) is not None
    ]


@every_page
def test_all_that_can_be_moved_reaches_the_next_run_and_draws_and_spends_nothing(name: str) -> None:
    """Found on the screen, so that new widgets are moved too: all settings of all variants, and all tabs."""
    at = with_release("redraws", given=BOUNDED)  # a tab without charts, which every move would draw
    first, release = shown(at), shown(at).release
    moved = {
        "dpcore.language",
        *(f"{name}.{key}" for key in ("method", "marginals.part", "privacy.part", "model.part", "paper.part")),
    }

    def move(*, settings: bool = False) -> None:
        while found := waiting(at, moved):
            moved.add(found[0].key)
            before = at.session_state[f"{name}.chosen"]
            found[0].set_value(prepared.another(found[0]))
            run(at)
            assert nothing_new(at, first, {}), found[0].key
            assert shown(at).release is release
            assert not settings or at.session_state[f"{name}.chosen"] != before, found[0].key

    headed: set[str] = set()  # own parameters of what is as published
    for mode in ("corrected", "published"):
        for variant in OFFERED[name, mode]:
            choose(at, mode, variant)
            assert nothing_new(at, first, {}), variant
            assert (asked(at)["mode"], at.session_state[f"{name}.chosen"][0]) == (mode, OFFERED[name, mode][variant][0])
            headed |= {mode} if "**Paper**" in [text.value for text in at.markdown] else set()
            move(settings=True)
    for each in [one for one in names(at) if name == "naive_bayes" or one not in SAME - {"figures"}]:
        tab(at, each)
        move()
    reached = {key.removeprefix(f"{name}.").partition(":")[0].partition(".")[0] for key in moved}
    assert reached >= {"epsilon", "noise", "seed", "target"}
    assert headed == {"published"}


BITS = next(offer.label for offer in METHODS["PrivBayes"].presets if offer.parameters == {"variant": "binary"})
CHOICES = {"eta": 0.2, "first": "random", "weights": "equal"}
JOURNEYS: dict[str, list[Journey]] = {
    "networks": [
        ("corrected", "HMPrivBayes", CHOICES, CHOICES | {"relation": "replace"}),  # until someone chooses
        ("corrected", "PrivBayes", {"relation": "add_remove"}, {"relation": "add_remove"}),
        ("published", "PrivBayes", {"theta": 2.0}, {"relation": "replace", "theta": 2.0}),  # papers know this one only
        ("corrected", BITS, {"max_parents": 4}, {"relation": "add_remove", "score": "F", "max_parents": 3}),
        ("corrected", BITS, {"score": "MI"}, {"score": "MI", "max_parents": 4}),
    ],
    "responses": [
        ("corrected", "PPNB", {}, {"epsilon": LocalClassifier.control_map()["epsilon"].initial, "relation": "replace"}),
        ("corrected", "PPNB", {"pairs": False}, {"pairs": False, "numbers": ..., "merge": ...}),
        ("corrected", "PPNB", {"numbers": "moments"}, {"merge": None}),
        ("published", "PPNB", {}, {"epsilon": None, "p0": 0.5}),
        ("published", "DTPD", {}, {"theta": 0.7}),
        ("published", "DTCRD", {}, {"randomizer": "uniform"}),
    ],
}


@pytest.mark.parametrize("name", JOURNEYS)
def test_settings_reach_the_method_and_fit_its_mode(name: str) -> None:
    at = follow(page(BOUNDED), JOURNEYS[name])
    if name == "networks":  # F has three parents
        widget(at, "networks.score").set_value("F")
        assert shown(released(run(at))).release.parameters["max_parents"] == 3


def test_the_reference_without_noise_is_for_the_screen() -> None:
    at = with_release("accuracy", "published", "JTree", BOUNDED)
    assert shown(at).memory["accuracy"]["trained_on"].nunique() == 3  # the release, real rows; without noise
    assert all(marked(at))
    assert type(panels.fit_noiseless(shown(at))).__name__ == "JTree"


@pytest.mark.parametrize("name", ["responses"])
def test_reports_stand_beside_the_truth_and_are_marked(name: str) -> None:
    at = with_release("reports", given=datasets.load("sample"))
    assert marked(at)[0]
    tab(released(choose(at, "published", "PPNB")), "reports")
    for column in ("income", "age"):
        assert all(marked(change(at, reported__PPNB=column)))


@pytest.mark.parametrize("name", ["responses"])
def test_reports_of_a_known_seed_stay_here(name: str, downloads) -> None:
    """Whoever has the seed can undo every report."""
    tab(released(page(), seed=7), "download")
    content = files(downloads[-1]())
    assert "model.json" in content
    assert "reports.csv" not in content


@pytest.mark.parametrize("name", ["forests"])
def test_other_data_are_for_the_next_run_which_replaces_the_release_and_is_charged(name: str) -> None:
    at = with_release("redraws", given=BOUNDED)
    first = shown(at)
    others = people(60, seed=4).rename(columns={"town": "city", "ill": "sick"})
    at.session_state["dpcore.data"] = data(others, "others", target="sick", max_rows=500)
    assert not mendable(tab(run(at), "accuracy"))
    assert nothing_new(at, first, {})
    assert ":material/update:" in [found.icon for found in at.info]  # that other data were chosen since
    second = shown(released(at))
    assert second.data is dataset(at)
    released(at, epsilon=0.5)
    ((_, claimed, _),) = books(at).values()
    assert claimed == pytest.approx(second.release.ledger.epsilon_claimed + 0.5)
    released(at, seed=3)
    assert errors(at) == [shown(at).release.guarantee_void]
    assert not shown(at).release.exactly_sampled


# Odd tables

PAY = 1234.56789
ODD = people().rename(columns={"town": "a.b[0] **x**", "ill": "<b>:red[ill]"})
ODD = ODD.assign(pay=np.linspace(0, 5000, 80).round(5), report=ODD["age"] % 3 > 0)
ODD.loc[3, "pay"] = ODD.loc[60, "pay"] = PAY
ODD.loc[::7, ["age", "a.b[0] **x**"]] = None
OTHERS: dict[str, tuple[pd.DataFrame, dict[str, Any]]] = {
    "odd": (ODD.rename(columns={"report": "(rows)"}), {"target": "<b>:red[ill]", "source": "inferred"}),
    "no class": (people().rename(columns={"age": "report", "town": "person"}), {"target": None}),
    "a number": (people()[["age"]], {"target": None}),
}
NEEDS = ("naive_bayes", "forests", "responses")  # a class, and other columns


@every_page
@pytest.mark.parametrize("table", OTHERS)
def test_other_tables_go_through_every_tab_or_are_refused(name: str, table: str) -> None:
    frame, schema = OTHERS[table]
    at = page(data(frame, max_rows=500, **schema))
    if widget(at, f"{name}.run").disabled:
        assert name in NEEDS, errors(at)
        assert len(mendable(at)) == 1
        if table == "a number":
            return
        change(at, target="ill")  # no class is chosen before somebody does
    released(at)
    for each in [one for one in names(at) if table == "odd" or one not in SAME]:
        tab(at, each)
        assert not mendable(at), each
        assert "<b>:red[ill]" not in "".join(found.value for found in at.markdown)
        for spec, tables in charts(at):
            text = json.dumps(spec) + "".join(table.to_csv(float_format="%.12g") for table in tables)
            assert "1234.5" not in text, each
            assert "datasets" not in spec
            assert len(spec["description"]) > 20
    if table == "odd":
        assert errors(at) == [shown(at).release.guarantee_void]


# The first press, on a table without a declared bound on its rows: it runs, or says what is missing

UPLOAD = data(people(60), max_rows=None)


@pytest.mark.parametrize("mode", ["corrected", "published"])
@every_page
def test_every_offer_runs_with_its_own_defaults(name: str, mode: str) -> None:
    """One after the other in one session, as somebody looks through them: one's settings are not the next one's."""
    at = prepared.fresh(UPLOAD)
    for label, (kind, offer) in OFFERED[name, mode].items():
        choose(at, mode, label)
        method, given, *rows = at.session_state[f"{name}.chosen"]
        assert method == kind
        own = METHODS[kind]().get_params()
        free = ["noise", *(["relation"] if len(METHODS[kind].relations_in(mode)) > 1 else [])]
        assert {one: given[one] for one in free if one in given} == {one: own[one] for one in free if one in given}
        assert not widget(at, f"{name}.run").disabled, (label, mendable(at))
        made = METHODS[kind](**given).fit(UPLOAD.train, schema=UPLOAD.schema)
        if not isinstance(made, PrivateClassifier):
            assert len(made.sample(*rows)) == (rows[0] or made.estimated_rows()), offer.label


# No number of a private column reaches a picture, whatever tab is open, but for public ends of intervals. The column's
# cells are larger than any count, share, epsilon or place on a page: whatever is drawn of that size is a cell, an order
# statistic, or something between cells.

LOW, HIGH, BINS = 1e6, 3e6, 16
SALARY = Column(name="pay", kind="continuous", lower=LOW, upper=HIGH, bins=BINS)
ROWS = people().assign(pay=np.random.default_rng(5).uniform(LOW + 1, HIGH - 1, 80))
REST = tuple(column for column in data(ROWS).schema if column.name != "pay")
PAID = data(ROWS, name="paid", columns=(*REST, SALARY))


def numbers(found: Any) -> Iterator[float]:
    """All numbers of a specification."""
    if isinstance(found, dict | list):
        for part in found.values() if isinstance(found, dict) else found:
            yield from numbers(part)
    elif isinstance(found, int | float):
        yield float(found)


def private(drawn: list[tuple[dict[str, Any], list[pd.DataFrame]]]) -> list[float]:
    """The numbers of some charts that are of the column's size and stand at no end or middle of public intervals."""
    seen = [number for spec, _ in drawn for number in numbers(spec)]
    tables = [table.infer_objects().select_dtypes("number") for _, frames in drawn for table in frames]
    seen += [float(number) for table in tables for number in table.to_numpy(dtype=float).ravel()]
    steps = np.arange(0, 1 + 1e-9, 1 / (4 * BINS * 40))  # of bins, and of the 40 intervals in which reports are drawn
    public = LOW + steps * (HIGH - LOW)
    return [x for x in seen if LOW <= x <= HIGH and np.abs(public - x).min() > 1e-3]


@every_page
def test_no_cell_of_a_column_is_in_a_picture(name: str) -> None:
    at = with_release(given=PAID)
    real = 0
    own = names(at) if name in NEEDS else [each for each in names(at) if each not in SAME - {"accuracy"}]
    for each in own:  # what all pages draw alike, one draws
        assert private(charts(tab(at, each))) == [], each
        for key in [box.key for box in at.selectbox if SALARY.name in box.options]:
            at.selectbox(key).set_value(SALARY.name)
            assert private(charts(run(at))) == [], (each, key)
        real += sum(marked(at))
    assert real


def test_an_order_statistic_would_be_found() -> None:
    cells = pd.DataFrame({"share": np.quantile(ROWS["pay"], np.linspace(0.01, 0.99, 99), method="nearest")})
    assert len(private([({"values": [{"x": float(ROWS["pay"][0])}]}, [cells])])) == 100
    assert private([({"x": LOW}, [pd.DataFrame({"x": SALARY.edges})])]) == []
