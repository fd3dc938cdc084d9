"""From the first press to the zip: tabs, files, comparisons, risk, and runs without a guarantee."""

import io
import json
from dataclasses import replace

import pandas as pd
import pytest
from driving import PAGE, names, people, press, released, run, shown, started, tab
from prepared import data, files, page, with_release
from screen import books, dataset, errors, marked, metrics, numbers, pictures, said, widget

from dpcore import Schema
from dpcore.dashboard.panels import disclosure
from dpcore.domain.unit import PrivacyUnit
from dpcore.export import facts

FILES = {"synthetic.csv", "schema.json", "config.json", "ledger.json", "ledger.csv"}
FILES |= {"replay.py", "replay.ipynb", "report.html", "card.md", "README.md"}
CHARTS = {"summary": 1, "marginals": 2, "pairs": 3, "accuracy": 1, "privacy": 1}


def test_first_start_to_export(downloads) -> None:
    at = press(started(), "home.try")
    assert at.session_state["dpcore.page"] == PAGE
    release = shown(at).release
    for name in names(at):
        tab(at, name)
        assert not at.error, name
        assert len(pictures(at)) == CHARTS.get(name, 0), name
        assert marked(at) == [name != "privacy"] * len(pictures(at))
        if name == "summary":
            found, told = shown(at).memory["verdict"], "".join(metric.proto.help for metric in at.metric)
            kept = f"{found.ties - len(found.lost)}/{found.ties}"
            assert metrics(at)[1:3] == [f"{found.close_columns}/15", kept]
            assert f"{found.lost[0].first} × {found.lost[0].second}" in told.replace("\\", "")
            heading = " ".join(pictures(at)[0]["title"]["text"])
        if name == "marginals":
            assert f" points: {widget(at, f'{PAGE}.column').value}" in heading  # at first, the worst one
    content = files(downloads[-1]())
    assert set(content) == FILES
    assert len(pd.read_csv(io.BytesIO(content["synthetic.csv"]))) == len(release.synthetic)
    assert Schema.from_json(content["schema.json"].decode()) == dataset(at).schema
    ledger = json.loads(content["ledger.json"])
    assert ledger["epsilon_claimed"] == ledger["epsilon_bound"] == release.ledger.epsilon_bound
    assert b"random_state" not in content["replay.py"]  # a release without a seed cannot be made again
    for what, about in facts.facts(release).card:
        assert f"**{what}:** {about}" in said(at).replace("\u200b", "")


def test_comparisons_with_real_rows_are_in_the_report_only_if_asked_for(downloads) -> None:
    at = with_release("download")
    reports = []
    for real in (False, True, False):
        at.toggle(f"{PAGE}.real").set_value(real)
        content = files((run(at), downloads[-1]())[1])
        reports.append(content["report.html"].decode())
        assert ("do not publish it" in content["README.md"].decode()) == bool(at.error) == real
    assert ['class="real"' in html for html in reports] == [False, True, False]
    assert books(at) == {}


def test_what_could_still_be_learned_stands_beside_its_limit_and_stays_on_the_screen(downloads, monkeypatch) -> None:
    monkeypatch.setattr(disclosure, "FITS", 4)
    at = with_release("risk")
    assert "46.3" in said(at)
    before = len(metrics(at))
    press(at, f"{PAGE}.learned.go")
    assert 46.3 in numbers(at)[before:]
    assert books(at) == {}
    content = files((tab(at, "download"), downloads[-1]())[1])
    assert set(content) == FILES
    assert not any(b"took part" in raw for raw in content.values())


@pytest.mark.parametrize(("column", "sure"), [("who", "73 in 100"), (None, "95 in 100")])
def test_whose_epsilon_it_is_stands_beside_every_number(column: str | None, sure: str) -> None:
    """A table of three rows per person: with the column that tells persons apart, and without."""
    frame = people(90).assign(who=[f"p{i // 3}" for i in range(90)])
    schema = replace(data(frame.drop(columns="who")).schema, unit=PrivacyUnit(max_contributions=3, id_column=column))
    at = released(page(replace(data(frame, "own"), schema=schema)))
    assert numbers(at)[0] == 1
    assert sure in said(at)  # of a person: by e, or by e cubed
    assert (":material/groups:" in [found.icon for found in at.info]) == (column is None)
    assert at.metric[0].label.endswith("row" if column is None else "person")


def test_noise_that_is_not_exactly_sampled_is_not_for_publication() -> None:
    at = released(page(), noise="laplace")
    assert not shown(at).release.exactly_sampled
    assert shown(at).release.attackable in [found.value for found in at.warning]
    assert shown(released(at, noise="auto")).release.exactly_sampled
    assert not at.warning


def test_without_a_declared_schema_a_run_asks_once_per_data_set_and_promises_nothing(downloads) -> None:
    at = page(data(source="inferred"))
    declare = f"{PAGE}.run.declare"
    assert widget(at, declare)
    released(at)
    assert errors(at) == [shown(at).release.guarantee_void]
    assert metrics(at)[0] == "none"  # where the bound would stand
    assert not [button for button in at.button if button.key == declare]
    tab(at, "download")
    content = files(downloads[-1]())
    for name in ("README.md", "card.md", "report.html", "replay.ipynb", "config.json"):
        assert "inferred" in content[name].decode(), name
    at.session_state["dpcore.data"] = data(people(60, seed=9), "others", source="inferred")
    assert widget(run(at), declare)  # of other data it is asked again
    press(at, declare)
    assert at.session_state["dpcore.page"] == "data"
