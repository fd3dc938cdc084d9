"""The notebook and the script that replay a release, bit for bit, from the zip alone; and what notebooks show."""

import json
from functools import cache
from pathlib import Path

import nbclient
import nbformat
import pytest
from taken_home import unpacked

from dpcore import IndependentMarginals, datasets, export
from dpcore.accounting.store import Books
from dpcore.export import replay
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
    told = "\n".join(cells(text, "markdown"))
    assert ("A known seed" in told) == ("With the seed 9" in told) == (seed is not None)
    assert ("can cost the same epsilon again" in told) == (seed is None)
    told = cells(text, "code")
    assert "bound=ledger.epsilon_bound, delta=ledger.delta)" in "\n".join(told)
    without_charts = [cell for cell in told if "charts." not in cell]
    assert "\n\n".join(without_charts) + "\n" == replay.show_code(made, table="csv")
    known = facts(made)
    script = replay.script_of(known, "csv").replace("    ", "").replace("read(file,", f"read('{replay.DATA}',")
    for step in replay.steps(known, f"'{replay.DATA}'", "csv", screen=False)[1:]:
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
    (account,) = Books(folder / "ledger.sqlite").accounts()
    assert (account.looks, account.apart) == (0, 1)  # by a known seed
    results = [output.data for cell in codes for output in cell.outputs if output.output_type == "execute_result"]
    assert len([data for data in results if "<svg" in data.get("image/svg+xml", "")]) == 2
    assert (folder / "synthetic-again.csv").read_bytes() == export.spreadsheet_csv(made.synthetic).encode()


def test_texts_are_short_and_tables_escape_what_files_say(small_frame, small_schema):
    rows = IndependentMarginals(delta=1e-9, relation="replace").fit(small_frame, schema=small_schema)
    release = export.make_release(rows, "<i>Mine</i>", rows.sample(9), data_name="<script>")
    void = IndependentMarginals(relation="replace", random_state=1).fit(small_frame, schema=small_schema).ledger_
    assert repr(small_schema) == "Schema(5 columns, target 'ill', declared, at most 1,000 rows)"
    assert repr(small_schema["age"]) == "Column('age', integer, 0 to 99 in 10 bins)"
    assert "claimed: 1, nominal: 1, proven at most 1 at delta = 1e-09, replace one row, 5" in repr(rows.ledger_)
    assert "cannot be proven (guarantee void)" in repr(void)
    assert repr(release).startswith("Release('<i>Mine</i>', corrected, epsilon claimed: 1")
    html = small_schema._repr_html_() + release._repr_html_() + rows.ledger_._repr_html_() + void._repr_html_()
    for text in ("x, y, &lt;b&gt;z&lt;/b&gt;, or missing", "&lt;i&gt;Mine", "&lt;script&gt;", "rho nominal", "seed"):
        assert text in html
    assert not any(text in html for text in ("<b>z", "<script", "<i>"))
    lines = repr(rows.ledger_.to_frame()).split("\n")
    assert lines[0].split() == ["name", "rho_claimed", "rho_nominal"]
    assert max(map(len, lines)) <= 80
