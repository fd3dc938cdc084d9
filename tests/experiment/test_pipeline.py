"""From a CSV file to a zip by the command alone, as the how-to says; and the settings' schema."""

import json
import re
import shlex
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

import dpcore as dp
from dpcore.dashboard.__main__ import main
from dpcore.experiment.commands.schema import propose_schema

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "howto" / "pipeline.md").read_text("utf-8")
CONFIG = Draft202012Validator(json.loads((DOCS / "config.schema.json").read_text("utf-8")))
KINDS = [dp.NaiveBayesSynthesizer, dp.MST, dp.TaxonomyRelease, dp.SuLQID3, dp.DiffGenTree, dp.PPNB]


@pytest.fixture
def visits(monkeypatch, tmp_path):
    """A folder with a table of visits, of which one patient has twenty in a ward, and a ledger."""
    monkeypatch.setenv("DPCORE_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.chdir(tmp_path)
    n = np.arange(600)
    ward = np.where(n < 20, "secret ward", np.where(n % 3, "a", "b"))
    frame = {"patient": np.where(n < 20, 1, n // 2), "age": 18 + n % 73, "ward": ward}
    pd.DataFrame(frame | {"returned": n % 5 > 0, "one": "x"}).to_csv("visits.csv", index=False)
    return tmp_path


def test_values_of_few_persons_are_not_proposed(visits):
    unit = dp.PrivacyUnit(max_contributions=20, id_column="patient")
    schema = propose_schema(pd.read_csv("visits.csv"), "returned", unit)
    assert schema["ward"].categories == ("a", "b")  # twenty rows have the third, and one patient


@pytest.mark.slow
def test_the_howto_leads_from_a_table_to_a_zip_and_a_comparison(visits, capsys):
    commands = re.findall(r"^dpcore (.*)$", PAGE, re.MULTILINE)
    propose, release, again, ask, compare = map(shlex.split, commands)
    line, comparison = map(json.loads, re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
    assert main(propose) == 0
    said, schema = capsys.readouterr().err, json.loads((visits / "schema.json").read_text("utf-8"))
    assert "voids the guarantee" in said
    assert "'one' is left out" in said
    assert {column["origin"] for column in schema["columns"]} == {"proposed"}
    assert (schema["source"], schema["unit"]["id_column"]) == ("inferred", "patient")
    assert "secret" not in f"{schema} {said}"  # more than 10 rows, of fewer than 10 patients
    schema |= {"source": "declared", "columns": [line, *schema["columns"][1:]]}
    (visits / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    assert main([*release, "--set", "noise=auto", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["guarantee_void"] == ""
    with zipfile.ZipFile("release.zip") as archive:
        config, ledger = (json.loads(archive.read(f"{name}.json")) for name in ("config", "ledger"))
    assert (ledger["epsilon_bound"], config["parameters"]["epsilon"]) == (1.0, 1.0)
    assert config["schema_origins"] == {"proposed": 2, "changed": 1}
    assert main(again) == 0
    assert main(ask) == 0
    groups = ["ward a", "ward b", "ward (missing)", "all rows"]
    assert list(pd.read_csv("answers.csv")["group"]) == groups
    (visits / "comparison.json").write_text(json.dumps(comparison), encoding="utf-8")
    assert main([*compare, "--jobs", "1"]) == 0
    assert len(pd.read_csv("results.csv")) == 2
    assert [*CONFIG.iter_errors(config), *CONFIG.iter_errors(comparison)] == []


REFUSED = {
    "release visits.csv --method mts --epsilon 1": "Choose one of NB-Synth, Adaptive marginals",
    "release visits.csv --method mst": "Add --epsilon NUMBER",
    "release visits.csv": "a table needs --method and --epsilon",
    "release visits.csv --method mst --epsilon 1": "`dpcore schema TABLE` proposes one",
    "release visits.csv --method mst --epsilon 1 --set self=1": "has no parameter 'self'",
    "release visits.csv --method diffprfs --epsilon 1 --set n_tree=3": "Did you mean 'n_trees'?",
    "release visits.csv --method DiffPRFs --epsilon 1 --set consistency=0": "Use True or False",
    "release sample --method DiffPRFs --epsilon 1 --rows 9": "cannot make 9 rows",
    "release sample --method PPNB --epsilon 1 --set factors=1,x": "factors",
    "release sample --method MST --epsilon 1 --set epsilon=3": "given twice",
    "schema visits.csv --max-contributions 0": "from 1 to",
    "schema visits.csv --unit nobody --max-contributions 3": "lack the column 'nobody'",
}


@pytest.mark.parametrize("words", REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_known_is_refused_before_anything_is_spent(words, visits, capsys):
    assert main(words.split()) == 1
    assert REFUSED[words] in capsys.readouterr().err
    assert not (visits / "ledger.sqlite").exists()


@pytest.mark.parametrize("words", ["c.json t.csv --method MST --epsilon 1", "c.json --epsilon 1"])
def test_the_two_forms_are_not_mixed(words):
    with pytest.raises(SystemExit, match="2"):
        main(["release", *words.split()])


def test_settings_of_each_method_fit_the_json_schema_and_wrong_ones_do_not():
    CONFIG.check_schema(CONFIG.schema)
    usual = {"format": "dpcore release 1", "data": {"name": "a"}}
    for kind, offer in [(each, one) for each in dp.METHODS.values() for one in each.presets]:
        method = kind(mode=offer.mode, **offer.parameters)
        parameters = json.loads(json.dumps(method.get_params()))
        found = {**usual, "method": kind.title, "parameters": parameters}
        CONFIG.validate(found)
        CONFIG.validate(found | {"method": "Mine", "class": kind.__name__})
        for change in ({"extra": 1}, {"epsilon": "1"}, {"mode": "paper"}, {"random_state": 0.5}):
            assert not CONFIG.is_valid(found | {"parameters": parameters | change}), (kind, change)


@pytest.mark.parametrize("kind", KINDS)
def test_settings_of_each_kind_of_release_and_comparison_fit_the_json_schema(kind, data):
    method = kind().fit(data.train, schema=data.schema)
    rows = [method.sample(5)] if hasattr(method, "sample") else []
    release = dp.export.make_release(method, "Mine", *rows, data_name="a")
    CONFIG.validate(json.loads(json.dumps(release.config())))
    label = dp.evaluate.Label(column="ill", equals="yes")
    config = dp.experiment.Config({"it": kind()}, [1.0], label=label)
    CONFIG.validate(json.loads(config.to_json(data)))
