"""What version 0.2 wrote opens: schemas, settings, models, comparisons, links, the ledger's file, and scripts run.

`former.json` was written by that version: three releases with seeds, a comparison, a link, and a ledger as SQL.
"""

import io
import json
import runpy
import sqlite3
import sys
import zipfile
from pathlib import Path

import pytest
from sklearn.base import clone

import dpcore as dp
from dpcore.accounting.store import Books
from dpcore.dashboard.controls import presets_of
from dpcore.domain.former_names import LABELS, PUBLIC, renamed_settings
from dpcore.experiment import Config
from dpcore.experiment.commands.release import main, method_of_release
from dpcore.export.models import Model
from dpcore.methods.parameters import whole

FORMER = json.loads(Path(__file__).with_name("former.json").read_text(encoding="utf-8"))
GROUPED = {"categorical_splits": "one_vs_rest", "split_selection": "two_stage", "mode": "published"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An unpacked release of rows, and the table that it was made from."""
    for name, text in FORMER["rows"].items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setenv("DPCORE_LEDGER", str(tmp_path / "ledger.sqlite"))
    return tmp_path


def test_schemas_settings_and_models_open_with_current_names():
    schema = dp.Schema.from_json(FORMER["schema.json"])
    assert schema.unit == dp.PrivacyUnit(max_contributions=2, id_column="who")
    assert schema["pay"].number_format == "$1234.50"
    forest, rows, answers = (
        method_of_release(json.loads(FORMER[name]["config.json"])) for name in ("forest", "rows", "answers")
    )
    assert GROUPED.items() <= forest.get_params().items()
    assert isinstance(rows, dp.AdaptiveMarginals)
    assert answers.n_questions == 1
    model = Model.from_json(FORMER["forest"]["model.json"])
    assert (model.about["mode"], model.predictor.children) == ("published", "one_vs_rest")
    assert Model.from_json(model.to_json()).to_json() == model.to_json()


def test_both_names_at_once_are_refused_and_a_method_s_own_names_stay():
    with pytest.raises(dp.ParameterError, match="former and its current name"):
        dp.DiffPRFs(children="few", categorical_splits="values")
    both = FORMER["schema.json"].replace('"rows": 2', '"rows": 2, "max_contributions": 1')
    with pytest.raises(dp.SchemaError):
        dp.Schema.from_json(both)
    own = type(
        "Own", (dp.IndependentMarginals,), {"__annotations__": {"steps": int}, "steps": whole(default=5, about="")}
    )
    assert clone(own(steps=3)).steps == 3


def test_comparisons_open_with_current_names():
    methods = Config.from_json(FORMER["comparison.json"]).methods
    assert {name: method.title for name, method in methods.items()} == {
        "tables": "Adaptive marginals", "margins": "Independent marginals", "forest": "Non-private forest",
        "bayes": "Non-private naive Bayes", "split": "DiffPRFs", "answers": "PPNB",
    }  # fmt: skip
    assert methods["answers"].n_questions == 2


def test_links_and_settings_of_pages_have_current_names():
    given = {"mode": "paper", "variant.paper": "DiffPRFs", "children.printed": "one", "asked:3": 1, "epsilon": 2.0}
    assert renamed_settings(given) == {
        "method": "DiffPRFs (as published)", "categorical_splits": "one_vs_rest", "n_questions": 1, "epsilon": 2.0,
    }  # fmt: skip
    given = {"n_trees_ruled": False, "n_trees.25": 7, "depth.DTPD.printed": 4, "split": True, "bootstrap": "A sample"}
    assert renamed_settings(given) == {"n_trees": 7, "max_depth": 4}
    given = {"shares": "own", "own_shares.4": "1, 2, 3, 4", "transform": "a from N(2, 10), b from N(0, 5)"}
    assert renamed_settings(given) == {
        "level_shares": "own", "level_shares.each.4:data": "1, 2, 3, 4", "factors.each.2:data": "2, 10",
        "offsets.each.2:data": "0, 5",
    }  # fmt: skip
    assert renamed_settings({"mode": "corrected"}) == {"method": "corrected"}  # the first method of that mode
    attack = {"method": "NB-Synth", "mode": "corrected"}  # of the page Audit, which asks for both
    assert renamed_settings(attack) == attack
    assert renamed_settings({"case": "NB-Synth/paper/labels"}) == {"case": "NB-Synth/published/labels"}
    assert renamed_settings({"target": "Plain forest"}) == {"target": "Plain forest"}  # a column of somebody's own
    pages = {kind.page for kind in dp.METHODS.values()}
    labels = {*dp.METHODS, *(preset.label for page in pages for _, preset in presets_of(page).values())}
    assert {*LABELS.values()} <= labels
    assert not labels & LABELS.keys()


def test_the_ledger_opens_and_takes_new_charges(folder):
    path, kept = folder / "ledger.sqlite", FORMER["ledger"]
    connection = sqlite3.connect(path)
    connection.executescript(kept["sql"])
    for name in ("application_id", "user_version"):
        connection.execute(f"PRAGMA {name}={kept[name]}")
    connection.close()
    path.with_name("ledger.sqlite.witness").write_text(kept["witness"])
    path.with_name("dpcore.secret").write_bytes(bytes.fromhex(kept["secret"]))
    assert [(one.epsilon_claimed, one.protects) for one in Books(path).accounts()] == [(0.75, "row"), (0.5, "person")]
    schema = dp.Schema.from_json(FORMER["schema.json"])
    data = dp.datasets.read(folder / "people.csv", schema=schema, test_share=0.0)
    method = dp.IndependentMarginals(epsilon=0.25, relation="replace")
    method.fit(data.train, schema=schema, ledger=dp.persistent_ledger(data, "replace"))
    assert sorted(one.epsilon_bound for one in Books(path).accounts()) == [0.25, 0.5, 0.75]


@pytest.mark.parametrize("name", ["rows", "forest"])
def test_scripts_make_the_same_release_again(name, folder, monkeypatch, capsys):
    for file, text in FORMER[name].items():
        (folder / file).write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["replay.py", "people.csv"])
    monkeypatch.chdir(folder)
    runpy.run_path("replay.py", run_name="__main__")
    if name == "rows":
        assert "The release came out again" in capsys.readouterr().out
    assert all(hasattr(dp, former) or former == "release_of" for former in PUBLIC)


def test_zips_are_released_again(folder):
    with zipfile.ZipFile(old := folder / "old.zip", "w") as archive:
        for name, text in FORMER["forest"].items():
            archive.writestr(name, text)
    assert main([str(old), str(folder / "people.csv"), "--out", str(folder / "new.zip")]) == 0
    with zipfile.ZipFile(io.BytesIO((folder / "new.zip").read_bytes())) as archive:
        config = json.loads(archive.read("config.json"))
    assert GROUPED.items() <= config["parameters"].items()
