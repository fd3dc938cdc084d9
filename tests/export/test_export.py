"""The zip that a person takes home: complete, honest, harmless, and able to make itself again."""

import io
import json
import math
import re
import runpy
import struct
import zipfile

import numpy as np
import pandas as pd
import pytest

from dpcore import datasets
from dpcore.accounting.ledger import Entry, Ledger
from dpcore.accounting.relation import Relation
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.export import bundle, plain, release_of, show_code
from dpcore.export.quoting import spreadsheet_safe
from dpcore.methods import NaiveBayesSynthesizer
from dpcore.text import number

CANARY = 12345.678
FOR_READERS = ["replay.py", "replay.ipynb", "report.html", "card.md", "README.md"]
pytestmark = pytest.mark.usefixtures("quick_pictures")  # the report's charts have tests of their own
PRIVATE = Schema(
    columns=(
        Column(name="pay", kind="continuous", lower=0.0, upper=20_000.0, bins=4),
        Column(name="children", kind="integer", lower=0, upper=9, bins=10, missing=True),
        Column(name="grade", kind="ordered", categories=("low", "mid", "high")),
        Column(name="town", kind="categorical", categories=("=Oslo", "-2", "Bergen", "@home"), missing=True),
        Column(name="ill", kind="categorical", categories=("no", "yes")),
    ),
    target="ill",
)


def private_frame(rows=613):
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "pay": rng.uniform(0, 20_000, rows).round(3),
            "children": pd.array(rng.integers(0, 10, rows), dtype="Int64"),
            "grade": rng.choice(["low", "mid", "high"], rows),
            "town": rng.choice(np.array(["=Oslo", "-2", "Bergen", "@home", None], dtype=object), rows),
            "ill": rng.choice(["no", "yes"], rows, p=[0.8, 0.2]),
            "name": "Zz-canary-zZ",
        }
    )
    frame.loc[frame.index % 7 == 0, "children"] = pd.NA
    frame.loc[::2, "pay"] = CANARY
    return frame


def release(frame=None, *, schema=PRIVATE, n=200, data_name="people.csv", reading=None, **parameters):
    method = NaiveBayesSynthesizer(**{"x_source": "model", "epsilon": 2.0, **parameters})
    method.fit(private_frame() if frame is None else frame, schema=schema)
    return release_of(method, "NB-Synth", method.sample(n), data_name=data_name, seconds=0.1, reading=reading)


def members(made, table="csv"):
    with zipfile.ZipFile(io.BytesIO(bundle(made, table=table))) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def strict(raw):
    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(raw.decode("utf-8"), parse_constant=refuse)


# Contents


@pytest.mark.parametrize("table", ["csv", "parquet"])
def test_all_files_are_there_and_say_the_same(table):
    made = release(random_state=4)
    files = members(made, table)
    assert sorted(files) == sorted(
        [f"synthetic.{table}", "schema.json", "config.json", "ledger.json", "ledger.csv", *FOR_READERS]
    )
    assert Schema.from_json(files["schema.json"].decode()) == PRIVATE
    config, ledger = strict(files["config.json"]), strict(files["ledger.json"])
    assert config["format"] == "dpcore release 1"
    assert (config["method"], config["class"], config["rows"]) == ("NB-Synth", "NaiveBayesSynthesizer", 200)
    assert config["parameters"] == made.parameters
    assert (config["schema_source"], config["data"]) == ("declared", {"name": "people.csv"})
    assert ledger["epsilon_of_noise"] == ledger["epsilon_claimed"] == 2.0
    assert (ledger["epsilon_bound"], "seed" in ledger["void"], ledger["status"]) == ("infinity", True, "finished")
    assert len(ledger["entries"]) == 4
    frame = pd.read_csv(io.BytesIO(files["ledger.csv"]))
    assert frame["epsilon_of_noise"].sum() == pytest.approx(2.0)
    assert np.isinf(frame["epsilon_bound"]).all()
    assert frame["void"].all()
    assert list(frame["name"]) == [entry["name"] for entry in ledger["entries"]]


def test_another_table_format_is_refused():
    with pytest.raises(ParameterError, match="csv or parquet"):
        bundle(release(), table="xlsx")


def test_parquet_keeps_types_and_values():
    made = release(random_state=4)
    back = pd.read_parquet(io.BytesIO(members(made, "parquet")["synthetic.parquet"]))
    pd.testing.assert_frame_equal(back, made.synthetic)
    assert isinstance(back["grade"].dtype, pd.CategoricalDtype)
    assert back["grade"].cat.ordered
    assert str(back["children"].dtype) == "Int64"
    assert back["children"].isna().any()


def test_csv_has_the_rows_and_fits_the_schema_once_unescaped():
    made = release(random_state=4)
    back = pd.read_csv(io.BytesIO(members(made)["synthetic.csv"]), dtype={"town": "object"})
    assert back.shape == made.synthetic.shape
    np.testing.assert_allclose(back["pay"], made.synthetic["pay"])
    towns = back["town"].where(~back["town"].astype(str).str.startswith("'"), back["town"].astype(str).str[1:])
    PRIVATE.encode(back.assign(town=towns))
    assert set(back["town"].dropna()) == {"'=Oslo", "-2", "Bergen", "'@home"}


def test_infinite_costs_are_words_in_json():
    made = release(schema=PRIVATE, mode="paper", variant="Alg1", x_source="uniform", rows=200)
    files = members(made)
    ledger = strict(files["ledger.json"])
    assert ledger["epsilon_bound"] == ledger["epsilon_claimed"] == "infinity"
    assert ledger["entries"][0]["sensitivity"] == "infinity"
    assert "inf" in files["ledger.csv"].decode()


def test_numbers_of_numpy_and_without_end_are_written_so_that_they_can_be_read():
    made = release(random_state=np.int64(3), epsilon=np.float64(1.5), smoothing=np.float64(0.5), n=20)
    assert type(made.parameters["random_state"]) is int
    assert strict(members(made)["config.json"])["parameters"]["random_state"] == 3
    assert "np." not in show_code(made)
    made.parameters.update(bound=math.inf, least=-math.inf, epsilon=math.nan)
    config = strict(members(made)["config.json"])["parameters"]
    assert (config["bound"], config["epsilon"]) == ("infinity", None)
    code = show_code(made)
    assert "bound=float('inf')" in code
    assert "least=float('-inf')" in code
    compile(code, "replay.py", "exec")


def test_a_ledger_with_costs_booked_from_elsewhere_is_strict_json_too():
    """Such entries have no sensitivity and no scale."""
    ledger = Ledger("replace")
    ledger.charge(
        Entry(
            name="a release",
            mechanism="release",
            epsilon_claimed=1,
            epsilon_of_noise=1,
            sensitivity=math.nan,
            claimed_sensitivity=math.nan,
            scale=math.nan,
        )
    )
    (entry,) = strict(ledger.to_json().encode())["entries"]
    assert entry["sensitivity"] is None
    assert entry["epsilon_bound"] == 1


# README


def readme(made, table="csv"):
    return members(made, table)["README.md"].decode()


@pytest.mark.parametrize(
    ("relation", "sentence"),
    [("add_remove", "presence of one row; the number of rows is private"), ("replace", "number of rows is public")],
)
def test_readme_states_relation_epsilons_noise_and_rows(relation, sentence):
    text = readme(release(relation=relation))
    assert f"Neighboring relation: {Relation(relation).short}. " in text
    assert sentence in text
    assert "Epsilon claimed by the method's source: 2\n" in text
    assert "Epsilon that can be proved: 2\n" in text
    assert "- Noise: Exact discrete noise (OpenDP; many draws at once by this package), from" in text
    teaching = readme(release(relation=relation, noise="laplace"))
    assert "- Noise: NumPy laplace noise, unseeded: for teaching.\n" in teaching
    assert "- Seed: none (operating-system entropy).\n" in text
    assert "200 synthetic rows in `synthetic.csv`, made from 'people.csv'." in text
    assert "Unit of protection: one row." in text
    assert "**" not in text  # nothing is void
    assert "draws new noise, gives another release, and spends the same epsilon again" in text


def test_readme_of_a_seeded_release():
    made = release(random_state=17)
    text = readme(made)
    assert "- Seed: 17.\n" in text
    assert "seeded: for teaching" in text
    assert "**A known seed made the noise" in text
    assert "- Publication: do not publish.\n" in text
    assert "With the seed 17" in text
    assert made.seed == 17


def test_readme_of_a_release_by_an_inferred_schema():
    inferred = Schema.infer(private_frame().drop(columns="name"), target="ill")
    text = readme(release(schema=inferred, noise="opendp"))
    assert "**The schema was inferred from the private rows: the guarantee is void.**" in text
    assert "- Publication: do not publish." in text
    assert "- Schema: inferred." in text


def test_readme_of_a_release_without_a_bound():
    text = readme(release(mode="paper", variant="Alg1", x_source="uniform", rows=200))
    assert "**No finite epsilon can be proved for this run.**" in text
    assert "Epsilon that can be proved: none" in text
    assert "- Publication: do not publish." in text


def test_readme_of_a_paper_shows_both_epsilons():
    text = readme(release(mode="paper", x_source="uniform", rows=200))
    assert "Epsilon claimed by the method's source: 2\n" in text
    assert f"Epsilon that can be proved: {number(200 * 2 * 5 * math.log(2) / (2 * math.ceil(math.log(400))))}\n" in text


def test_what_may_be_published():
    exact = release(noise="opendp")
    assert exact.guarantee_void == ""
    assert "the noise is fit for publication" in readme(exact)
    assert "the noise is fit for publication" in readme(exact)
    for noise in ("laplace", "geometric"):
        assert "make the release with exact noise before you publish it" in readme(release(noise=noise))


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>.csv",
        "a\n\n# Claimed: epsilon 0\n.csv",
        "![x](https://evil.example/pixel.png)",
        "`rm -rf`.csv",
        "[click](javascript:alert(1))",
        "**bold** __u__ ~~s~~ $x$ | a | b |",
        "\u202egnp.exe\x00\x1b[31m",
        "x" * 5_000,
    ],
)
def test_hostile_names_are_plain_text_in_markdown(name):
    made = release(data_name=name, random_state=1, n=5)
    text = readme(made)
    lines = [line for line in text.splitlines() if "synthetic rows in" in line]
    assert len(lines) == 1
    given = lines[0].split("made from ")[1]
    assert not set(given) & set("<>`*_[]|\\~$:\n\x00\x1b\u202e")
    assert len(given) < 90
    assert len([line for line in text.splitlines() if line.startswith("#")]) == 3
    assert strict(members(made)["config.json"])["data"]["name"] == name
    compile(show_code(made, data=name), "replay.py", "exec")
    assert plain("Kåre's data (2).csv") == "Kåre's data (2).csv"


# Nothing of the real rows


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("table", ["csv", "parquet"])
def test_nothing_of_the_real_rows_is_in_the_zip(table, relation):
    made = release(relation=relation, n=200)
    files = members(made, table)
    if table == "parquet":
        table_text = pd.read_parquet(io.BytesIO(files["synthetic.parquet"])).to_csv().encode()
        files["text of the table"] = table_text
    for name, raw in files.items():
        for secret in (b"12345.678", b"1.2345678", struct.pack("<d", CANARY), b"canary"):
            assert secret not in raw, (name, secret)
        if "synthetic" not in name and "text" not in name:
            assert not re.search(rb"\b613\b", raw), name  # the number of rows


def test_the_run_time_is_not_in_the_zip():
    """It depends on the rows, and no epsilon covers that."""
    made = release(random_state=1, n=30)
    other = type(made)(**{**vars(made), "seconds": 99.0})
    assert members(made) == members(other)


# Spreadsheets


def test_formulas_are_quoted_and_counted():
    frame = pd.DataFrame(
        {
            "=HYPERLINK(1)": ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "plain", None],
            "number": np.linspace(-5, 4, 10),
            "@cat": pd.Categorical(["=x"] * 4 + ["y"] * 5 + [None], categories=["=x", "y", "=unused"]),
            "whole": pd.array([-1] * 9 + [None], dtype="Int64"),
            "truth": [True, False] * 5,
            "digits": ["-1", "+1", "-2.5", "3", "-1e5", "- 1", "--1", "-1=1", "+", "-"],
        }
    )
    before = frame.copy(deep=True)
    safe, escaped = spreadsheet_safe(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert list(safe.columns) == ["'=HYPERLINK(1)", "number", "'@cat", "whole", "truth", "digits"]
    expected = ["'=1+1", "'+1+1", "'-1+1", "'@SUM(A1)", "'\t=1", "'\r=1", "'\n=1", "'＝1", "plain", None]
    assert safe.iloc[:, 0].where(safe.iloc[:, 0].notna(), None).tolist() == expected
    assert safe.iloc[:, 2].dropna().tolist() == ["'=x"] * 4 + ["y"] * 5
    assert safe.iloc[:, 2].isna().sum() == 1
    assert safe["digits"].tolist() == ["-1", "+1", "-2.5", "3", "'-1e5", "'- 1", "'--1", "'-1=1", "'+", "'-"]
    for name in ("number", "whole", "truth"):
        pd.testing.assert_series_equal(safe[name], frame[name])
    assert escaped == 8 + 4 + 6 + 2


def test_harmless_frames_are_left_alone():
    frame = pd.DataFrame({"a": ["x", None, "1=1"], "b": pd.Categorical(["u", "v", None]), "c": [-1.0, 2.0, np.nan]})
    safe, escaped = spreadsheet_safe(frame)
    assert escaped == 0
    pd.testing.assert_frame_equal(safe, frame)
    nothing, escaped = spreadsheet_safe(frame.head(0))
    assert (len(nothing), escaped, list(nothing.columns)) == (0, 0, ["a", "b", "c"])


def test_an_escaped_header_may_meet_one_of_its_kind():
    safe, escaped = spreadsheet_safe(pd.DataFrame({"=a": ["=1"], "'=a": ["2"]}))
    assert list(safe.columns) == ["'=a", "'=a"]
    assert safe.iloc[0].tolist() == ["'=1", "2"]
    assert escaped == 2


def test_readme_counts_the_quoted_cells():
    made = release(random_state=4)
    quoted = int(made.synthetic["town"].isin(["=Oslo", "@home"]).sum())
    assert quoted > 0
    assert f"\n{quoted:,} cells that a spreadsheet would run as formulas begin with an apostrophe" in readme(made)
    assert "apostrophe" not in readme(made, "parquet")


# Replay


def replayed(made, folder, monkeypatch, capsys, table="csv"):
    """What the zip's script says and makes, run in a folder with the zip's files."""
    with zipfile.ZipFile(io.BytesIO(bundle(made, table=table))) as archive:
        archive.extractall(folder)
    monkeypatch.chdir(folder)
    space = runpy.run_path("replay.py")
    return capsys.readouterr().out, space


@pytest.fixture(scope="module")
def text_frame():
    return private_frame()


@pytest.mark.parametrize("table", ["csv", "parquet"])
@pytest.mark.parametrize("parameters", [{}, {"mode": "paper", "x_source": "uniform", "rows": 150}], ids=["C1", "Alg2"])
def test_replay_of_an_upload_gives_the_same_rows(parameters, table, text_frame, tmp_path, monkeypatch, capsys):
    """A file, its training part as `datasets.read` splits it, and a seed."""
    text_frame.to_csv(tmp_path / "your-data.csv", index=False)
    data = datasets.read(tmp_path / "your-data.csv", schema=PRIVATE)
    made = release(data.train, data_name=data.name, random_state=3, n=120, reading=data.reading, **parameters)
    said, space = replayed(made, tmp_path, monkeypatch, capsys, table)
    assert f"the same rows as synthetic.{table}" in said
    assert f"claimed {made.ledger.epsilon_claimed} proved {made.ledger.epsilon_bound}" in said
    pd.testing.assert_frame_equal(space["synthetic"], made.synthetic)
    again = (tmp_path / "synthetic-again.csv").read_bytes()
    assert again == made.synthetic.to_csv(index=False).encode()


@pytest.mark.parametrize(
    ("reading", "writing"),
    [
        ({"test_share": 0.1, "split_seed": 5}, {}),
        ({"test_share": 0.5, "delimiter": ";", "decimal": ","}, {"sep": ";", "decimal": ","}),
        ({"test_share": 0}, {}),
    ],
)
def test_replay_reads_as_the_release_was_read(reading, writing, text_frame, tmp_path, monkeypatch, capsys):
    text_frame.to_csv(tmp_path / "your-data.csv", index=False, **writing)
    data = datasets.read(tmp_path / "your-data.csv", schema=PRIVATE, **reading)
    made = release(data.train, data_name=data.name, random_state=3, reading=data.reading)
    said, _ = replayed(made, tmp_path, monkeypatch, capsys)
    assert "the same rows" in said
    assert "as it was for this release" in readme(made)


def test_the_lots_of_the_split_are_exported_with_a_seed_only(text_frame):
    reading = {"test_share": 0.3, "split_seed": 123_456_789}
    for seed in (None, 3):
        made = release(text_frame, data_name="people.csv", random_state=seed, reading=reading)
        files = zipfile.ZipFile(io.BytesIO(bundle(made)))
        everything = b"".join(files.read(name) for name in files.namelist())
        assert (b"123456789" in everything) is (seed is not None)


def test_replay_of_a_fit_on_a_frame_says_what_to_do(text_frame, tmp_path, monkeypatch, capsys):
    """`fit(frame)` tells nobody how the frame was read: the script and the README say so, and the script checks."""
    text_frame.to_csv(tmp_path / "your-data.csv", index=False)
    made = release(text_frame, random_state=3)
    said, _ = replayed(made, tmp_path, monkeypatch, capsys)
    assert "other rows than synthetic.csv" in said  # the share set aside was another one
    assert "0 if it was made from all rows of the file" in readme(made)
    script = (tmp_path / "replay.py").read_text(encoding="utf-8")
    assert "test_share=0.3)  # as for the release; 0 if it was made from all rows\n" in script
    (tmp_path / "replay.py").write_text(script.replace("test_share=0.3", "test_share=0"), encoding="utf-8")
    space = runpy.run_path("replay.py")
    assert "the same rows as synthetic.csv" in capsys.readouterr().out
    pd.testing.assert_frame_equal(space["synthetic"], made.synthetic)


def test_replay_on_other_rows_says_so(text_frame, tmp_path, monkeypatch, capsys):
    text_frame.assign(ill="no").to_csv(tmp_path / "your-data.csv", index=False)
    said, _ = replayed(release(text_frame, random_state=3, reading={"test_share": 0}), tmp_path, monkeypatch, capsys)
    assert "other rows" in said


@pytest.mark.parametrize("name", datasets.DATASETS)
def test_replay_of_a_known_data_set_needs_no_file(name, tmp_path, monkeypatch, capsys):
    try:
        data = datasets.load(name)
    except datasets.DataError as error:
        pytest.skip(str(error))
    made = release(data.train, schema=data.schema, data_name=data.name, random_state=3)
    assert f"private = dp.datasets.load('{name}')\n" in show_code(made)
    assert f"training rows of the data set '{name}'" in readme(made)
    said, space = replayed(made, tmp_path, monkeypatch, capsys)
    assert "the same rows as synthetic.csv" in said
    pd.testing.assert_frame_equal(space["synthetic"], made.synthetic)


def test_replay_without_a_seed_makes_another_release(text_frame, tmp_path, monkeypatch, capsys):
    text_frame.to_csv(tmp_path / "your-data.csv", index=False)
    made = release(text_frame, reading={"test_share": 0})
    said, space = replayed(made, tmp_path, monkeypatch, capsys)
    assert "same rows" not in said
    assert "random_state" not in show_code(made)
    assert len(space["synthetic"]) == 200
    assert not space["synthetic"].equals(made.synthetic)
    assert space["method"].ledger_.epsilon_bound == 2.0


def test_the_code_on_the_screen_is_the_script_without_its_check():
    made = release(random_state=3)
    code = show_code(made, data="C:\\data\\it's.csv")
    assert 'dp.datasets.read("C:\\\\data\\\\it\'s.csv", schema=schema' in code
    assert "Path('schema.json')" in code
    assert "same" not in code
    assert "    epsilon=2.0,\n" in code
    assert "    random_state=3,\n" in code
    assert show_code(made, table="csv").startswith(show_code(made))


def test_a_release_is_what_the_fitted_method_says(text_frame):
    method = NaiveBayesSynthesizer(epsilon=0.5, noise="geometric", random_state=2).fit(text_frame, schema=PRIVATE)
    rows = method.sample(10)
    made = release_of(method, "NB-Synth", rows, data_name="d.csv")
    assert made.parameters == method.get_params()
    assert made.schema is PRIVATE
    assert made.ledger is method.ledger_
    assert made.synthetic is rows
    assert (made.class_name, made.noise_label, made.publishable) == (
        "NaiveBayesSynthesizer",
        method.noise_label_,
        False,
    )
    assert math.isnan(made.seconds)
    with pytest.raises(AttributeError):
        made.seconds = 1.0
