"""Answers that are taken home: a safe table, a harmless report, and a script that repeats them."""

import io
import re

import pandas as pd
from taken_home import HOSTILE, SCHEMA, TOWNS, Page, members, people, replayed, townspeople

from dpcore import datasets, export
from dpcore.domain.statistic import Statistic
from dpcore.methods.statistics import PlainStatistics

FILES = {"answers.csv", "chart-1.svg", "chart-2.svg", "replay.py", "card.md", "report.html", "README.md"}


def release(rows, schema, *statistics, reading=None, **how):
    method = PlainStatistics(queries="\n".join(map(str, statistics)), **how).fit(rows, schema=schema)
    return export.make_release(method, "Plain statistics", data_name="people.csv", reading=reading)


def test_names_of_a_file_are_text_and_no_formula():
    both = Statistic("mean", ("age",), (HOSTILE,)), Statistic("histogram", (HOSTILE,))
    files = members(release(people(), SCHEMA, *both))
    assert {*files} >= FILES
    page = Page(files["report.html"].decode())
    assert not {tag for tag, _ in page.tags} & {"script", "img", "a"}
    assert HOSTILE in "".join(page.texts)
    assert b"<script" not in files["chart-1.svg"]
    towns = members(release(townspeople(), TOWNS, "histogram of town", "count"))["answers.csv"]
    answers = pd.read_csv(io.BytesIO(towns))
    assert [*answers][:6] == ["statistic", "group", "of", "value", "low", "high"]
    assert answers["of"].tolist()[:3] == ["Oslo", "'=Bergen", "Zq"]


def test_too_few_is_said_in_words_and_never_as_a_number():
    made = release(townspeople(20), TOWNS, "mean of age by town", epsilon=0.01, random_state=1)
    files = members(made)
    assert pd.read_csv(io.BytesIO(files["answers.csv"]))["value"].isna().all()
    assert "too few to tell" in re.sub("<[^>]*>", "", files["report.html"].decode())


def test_the_script_makes_the_same_answers_again(tmp_path, monkeypatch, capsys):
    townspeople().to_csv(tmp_path / "your-data.csv", index=False)
    data = datasets.read(tmp_path / "your-data.csv", schema=TOWNS, test_share=0)
    monkeypatch.setenv("DPCORE_LEDGER", str(tmp_path / "ledger.sqlite"))
    both = "mean of age by ill", 'share of town = "=Bergen"'
    made = release(data.train, TOWNS, *both, reading=data.reading, random_state=4)
    said, _ = replayed(made, tmp_path, monkeypatch, capsys)
    assert "the same answers as answers.csv" in said
