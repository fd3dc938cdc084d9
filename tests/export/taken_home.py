"""What a person has at home: the files of a release's zip, read as strictly as they should be; and hostile releases."""

import io
import json
import runpy
import sys
import zipfile
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pandas as pd

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.export import bundle, make_release
from dpcore.export.report import Report
from dpcore.methods import METHODS

NO_REPORT = Report("", False)
HOSTILE = "<script>alert(1)</script>"
SRC = "<img src=x onerror=alert(1)>"
SCHEMA = Schema(  # of names and values that a page must not run, fetch or show as its own
    columns=(
        Column(name="age", kind="integer", lower=0, upper=99, bins=4),
        Column(name=HOSTILE, kind="categorical", categories=(SRC, "https://evil.example/a.png", "c"), missing=True),
        Column(name="ill", kind="categorical", categories=("no", "</svg>yes")),
    ),
    target="ill",
)
TOWNS = Schema(
    columns=(
        Column(name="age", kind="integer", lower=0.0, upper=99.0, bins=4),
        Column(name="town", kind="categorical", categories=("Oslo", "=Bergen", "Zq"), missing=True),
        Column(name="ill", kind="categorical", categories=("no", "yes")),
    ),
    target="ill",
    max_rows=1000,
)
FOR_READERS = ["replay.py", "replay.ipynb", "report.html", "card.md", "README.md"]


def members(made, table="csv", report=None):
    """The files of the zip; `told` may stand in for the report, whose charts take longer than all the rest."""
    with zipfile.ZipFile(io.BytesIO(bundle(made, table=table, report=report))) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def unpacked(made, folder, table="csv"):
    for name, raw in members(made, table, NO_REPORT).items():
        (folder / name).write_bytes(raw)
    return folder


def replayed(made, folder, monkeypatch, capsys, table="csv"):
    """What the zip's script says and makes, run in a folder with the zip's files and those of the person."""
    monkeypatch.chdir(unpacked(made, folder, table))
    monkeypatch.setattr(sys, "argv", ["replay.py", "your-data.csv"])
    space = runpy.run_path("replay.py")
    return capsys.readouterr().out, space


def strict(raw):
    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(raw.decode("utf-8"), parse_constant=refuse)


def townspeople(rows=300, seed=7):
    """Rows inside `TOWNS` in which everything depends on the class."""
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.4
    towns = np.array(["Oslo", "=Bergen", "Zq", None], dtype=object)[np.where(ill, 0, rng.integers(0, 4, rows))]
    age = np.where(ill, rng.integers(50, 100, rows), rng.integers(0, 60, rows))
    return pd.DataFrame({"age": age, "town": towns, "ill": np.where(ill, "yes", "no")})


@cache
def people(rows=400):
    """Rows inside `SCHEMA`."""
    rng = np.random.default_rng(5)
    ages = rng.integers(0, 50, rows)
    texts = rng.choice(np.array(SCHEMA[HOSTILE].categories, dtype=object), rows)
    return pd.DataFrame({"age": ages, HOSTILE: texts, "ill": np.where(ages > 30, "</svg>yes", "no")})


@cache
def released(name, *, schema=SCHEMA, data_name="people.csv", **given):
    """A release of those people, of rows where the method makes any."""
    method = METHODS[name](**{"epsilon": 1.0, "noise": "auto", **given}).fit(people(), schema=schema)
    rows = [] if hasattr(method, "predict_proba") else [method.sample(50)]
    return make_release(method, name, *rows, data_name=data_name)


class Page(HTMLParser):
    """The tags of a page with their attributes, and its texts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


GONE = object()


def altered(text, path, value):
    """A JSON document with one value changed, or taken out if it is `GONE`."""
    index = document = json.loads(text)
    *above, last = path
    for key in above:
        index = index[key]
    if value is GONE:
        del index[last]
    else:
        index[last] = value
    return json.dumps(document)
