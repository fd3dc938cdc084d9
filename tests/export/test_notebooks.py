"""What is taken home works alone: notebooks and scripts replay a release, models predict as what was fitted does."""

import json
import math
import runpy
from dataclasses import replace
from functools import cache
from pathlib import Path

import nbclient
import nbformat
import numpy as np
import pandas as pd
import pytest
from taken_home import FOR_READERS, GONE, TOWNS, altered, members, replayed, strict, townspeople, unpacked

import dpcore
from dpcore import datasets, export
from dpcore.accounting.store import LedgerStore
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import DataError, ParameterError, SchemaError
from dpcore.experiment.sweeps import method_of
from dpcore.export import archive, make_release
from dpcore.export.artifacts import Model
from dpcore.export.facts import facts
from dpcore.methods import METHODS

pytestmark = pytest.mark.usefixtures("quick_pictures")


@cache
def uploaded():
    """A person's file, and the data that it gives."""
    frame = datasets.load("sample").train.head(400)[["age", "sex", "hours-per-week", "income"]]
    raw = frame.to_csv(index=False).encode()
    schema = datasets.load("sample").schema.select(list(frame.columns))
    return raw, datasets.read(raw, schema=schema, name="people.csv", test_share=0.25, split_seed=6)


@cache
def release(kind, seed=9):
    data = uploaded()[1]
    known = {"data_name": data.name, "reading": data.reading}
    name, how = ("NB-Synth", {"x_source": "model"}) if kind == "rows" else ("DiffPRFs", {"n_trees": 2, "max_depth": 2})
    method = METHODS[name](**how, random_state=seed, target="income").fit(data.train, schema=data.schema)
    return export.make_release(method, name, *([method.sample(150)] if kind == "rows" else []), **known)


def cells(text, kind):
    return ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == kind]


@pytest.mark.parametrize(("kind", "seed"), [("rows", None), ("model", 9)])
def test_the_notebook_was_never_run_and_does_what_the_code_on_the_screen_and_the_script_do(kind, seed):
    made = release(kind, seed)
    text = export.make_notebook(made)
    found = json.loads(text)
    nbformat.validate(found)
    codes = [cell for cell in found["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in codes)
    words = "\n".join(cells(text, "markdown"))
    assert ("A known seed" in words) == ("With the seed 9" in words) == (seed is not None)
    assert ("can cost the same epsilon again" in words) == (seed is None)
    words = cells(text, "code")
    assert "bound=ledger.epsilon_bound, delta=ledger.delta)" in "\n".join(words)
    without_charts = [cell for cell in words if "charts." not in cell]
    assert "\n\n".join(without_charts) + "\n" == archive.show_code(made, table="csv")
    known = facts(made)
    script = archive.script_of(known, "csv").replace("    ", "").replace("read(file,", f"read('{archive.DATA}',")
    for step in archive.steps(known, f"'{archive.DATA}'", "csv", screen=False)[1:]:
        assert step.code.replace("    ", "") in script


@pytest.mark.slow
def test_the_notebook_makes_the_release_again(tmp_path, monkeypatch):
    """Every cell runs, the last says that the release is the same bit for bit, and the charts need no network."""
    made = release("rows")
    (tmp_path / "your-data.csv").write_bytes(uploaded()[0])
    folder = unpacked(made, tmp_path)
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setenv("DPCORE_LEDGER", str(folder / "ledger.sqlite"))
    opened = nbformat.reads((folder / "replay.ipynb").read_text(encoding="utf-8"), as_version=4)
    client = nbclient.NotebookClient(opened, timeout=120, resources={"metadata": {"path": str(folder)}})
    client.execute()
    codes = [cell for cell in opened.cells if cell.cell_type == "code"]
    assert "the same rows as synthetic.csv" in codes[-1].outputs[0].text
    (account,) = LedgerStore(folder / "ledger.sqlite").accounts()
    assert (account.looks, account.void_looks) == (0, 1)  # by a known seed
    results = [output.data for cell in codes for output in cell.outputs if output.output_type == "execute_result"]
    assert len([data for data in results if "<svg" in data.get("image/svg+xml", "")]) == 2
    assert (folder / "synthetic-again.csv").read_bytes() == export.spreadsheet_csv(made.synthetic).encode()


CLASSIFIERS = [name for name, method in METHODS.items() if hasattr(method, "predict_proba")]
FORESTS = {"DiffPRFs", "DiffPRF", "Non-private forest"}


@cache
def model_release(name="DiffPRFs", **given):
    """A release of a model, and the method that learned it."""
    trees = {"n_trees": 3, "max_depth": 3} if name in FORESTS else {}
    method = METHODS[name](**{"mode": METHODS[name].modes[0], "epsilon": 20.0, "noise": "auto", **trees, **given})
    method.fit(townspeople(), schema=TOWNS)
    return make_release(method, name, data_name="people.csv", seconds=0.1), method


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_model_from_a_file_predicts_as_the_method_does(name):
    made, method = model_release(name)
    rows = townspeople(200, seed=9).drop(columns="ill")
    again = Model.from_json(made.model.to_json())
    for model in (made.model, again):
        np.testing.assert_allclose(model.predict_proba(rows), method.predict_proba(rows))
        assert (model.predict(rows) == method.predict(rows)).all()
    assert (list(again.classes_), again.origin) == (["no", "yes"], made.model.origin)
    assert Model.from_json(again.to_json()).structure == again.structure
    assert len(set(method.predict(rows))) == 2  # the test has something to tell apart


def test_predictions_keep_the_rows_and_their_own_columns():
    made, method = model_release()
    rows = townspeople(50, seed=9).assign(probability="mine", **{"predicted ill": 1})
    found = made.model.predictions(rows)
    pd.testing.assert_frame_equal(found[list(rows)], rows)
    assert list(found)[-2:] == ["predicted ill (model)", "probability (model)"]
    assert (found["predicted ill (model)"] == method.predict(rows)).all()
    assert found["probability (model)"].between(0, 1).all()


def test_rows_that_do_not_fit_are_told_without_their_values():
    rows = townspeople(20)
    for wrong, text in (
        (rows[["ill"]], "lacks columns that the model needs: age, town"),
        (rows.assign(town="Zq-secret"), "town"),
        (rows.assign(age="many"), "not numbers"),
        (rows.assign(age=1e9), "age"),
    ):
        with pytest.raises(DataError) as caught:
            model_release()[0].model.predictions(wrong)
        assert text in caught.value.cause
        assert "secret" not in str(caught.value)


DAMAGES = (
    (("format",), "dpcore forest 1"),
    (("target",), "nobody"),
    (("structure",), []),
    (("about", "epsilon_bound"), "tiny"),
    (("schema", "columns"), []),
    (("structure", "forest", "nodes", "level", -1), 10**12),  # rows walk as many steps as there are levels
    (("structure", "forest", "nodes", "cut"), GONE),
)
NO_MODELS = (b"", b"[]", b"\x89PNG\r\n\x1a\n", b"\xff\xfe", b"[" * 100_000)


def test_damaged_models_and_what_is_none_are_refused():
    sound = model_release()[0].model.to_json()
    for raw in (*NO_MODELS, *(altered(sound, *harm) for harm in DAMAGES)):
        with pytest.raises(SchemaError, match="no model that can be read"):
            Model.from_json(raw)


def test_what_names_a_method_that_went_says_where_it_still_is():
    removed = altered(model_release()[0].model.to_json(), ("structure",), {"scores": {}})
    with pytest.raises(SchemaError, match=r"DP-EBM .* 0\.2"):
        Model.from_json(removed)
    with pytest.raises(ParameterError, match=r"DP-EBM .* 0\.2"):
        method_of({"method": "DP-EBM", "parameters": {}})
    with pytest.raises(AttributeError, match=r"DP-EBM .* 0\.2"):
        _ = dpcore.DPEBM


def test_the_zip_of_a_model_says_what_was_learned_and_that_a_known_seed_leaves_nothing_proved():
    made, _ = model_release("DT-Diff", random_state=5)
    files = members(made)
    assert {*files} == {"model.json", "schema.json", "config.json", "ledger.json", "ledger.csv", *FOR_READERS}
    strict(files["model.json"])
    config, ledger = strict(files["config.json"]), strict(files["ledger.json"])
    assert (config["method"], config["target"], config["classes"]) == ("DT-Diff", "ill", ["no", "yes"])
    assert (config["parameters"], ledger["epsilon_nominal"]) == (made.parameters, 20.0)
    assert "no epsilon (the noise alone would give 20)\n" in files["card.md"].decode()
    assert "do not publish" in files["README.md"].decode()


def test_what_a_rule_found_and_infinite_prices_survive_the_file():
    made, method = model_release(n_trees=None, max_depth=None)
    assert made.model.sizes == {"n_trees": method.n_trees_, "max_depth": method.max_depth_} == made.config()["sizes"]
    made, _ = model_release("Non-private forest")
    again = Model.from_json(made.model.to_json())
    assert again.origin["epsilon_bound"] == again.origin["epsilon_claimed"] == math.inf
    assert made.guarantee_void == again.origin["guarantee_void"] != ""


def test_replay_makes_the_same_model(tmp_path, monkeypatch, capsys):
    """With the column that says whose a row is."""
    who = [f"{row // 4:03}" for row in range(300)]
    townspeople().assign(who=who).to_csv(tmp_path / "your-data.csv", index=False)
    schema = replace(TOWNS, unit=PrivacyUnit(max_contributions=2, id_column="who"))
    data = datasets.read(tmp_path / "your-data.csv", schema=schema, test_share=0)
    method = METHODS["DiffPRFs"](epsilon=1.0, n_trees=2, max_depth=2, random_state=4).fit(data.train, schema=schema)
    made = make_release(method, "DiffPRFs", data_name="people.csv", reading=data.reading)
    monkeypatch.setenv("DPCORE_LEDGER", str(tmp_path / "books.sqlite"))
    said, space = replayed(made, tmp_path, monkeypatch, capsys)
    assert "the same model as model.json" in said
    assert (space["ledger"].protects, space["ledger"].to_json()) == ("person", made.ledger.to_json())
    (account,) = LedgerStore(tmp_path / "books.sqlite").accounts()
    assert (account.looks, account.void_looks) == (0, 1)  # by a known seed
    townspeople(seed=5).assign(who=who).to_csv(tmp_path / "your-data.csv", index=False)
    runpy.run_path("replay.py")
    assert "Another release than model.json" in capsys.readouterr().out
