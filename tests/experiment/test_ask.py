"""Statistics by the command `dpcore ask`: what is printed and written, charged and refused."""

import json

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore.accounting.store import LedgerStore
from dpcore.dashboard.__main__ import main

PLENTY = "1000"  # an epsilon without visible noise
SCHEMA = dp.Schema(
    columns=(
        dp.Column("age", "integer", lower=0, upper=99, bins=10),
        dp.Column("cost", "continuous", lower=0.0, upper=100.0, bins=5),
        dp.Column("ward", "categorical", categories=("=A1", "b", "nobody's")),
    ),
    unit=dp.PrivacyUnit(max_contributions=2, id_column="patient"),
)


@pytest.fixture
def store(monkeypatch, tmp_path):
    """The user's ledger; the current folder has a table of 300 patients with two rows each."""
    monkeypatch.setenv("DPCORE_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.chdir(tmp_path)
    n = np.arange(600)
    columns = {"patient": n // 2, "age": n % 50, "cost": 10.0 * (n % 3), "ward": np.where(n % 3, "=A1", "b")}
    pd.DataFrame(columns).to_csv("people.csv", index=False)
    (tmp_path / "s.json").write_text(SCHEMA.to_json(), encoding="utf-8")
    return LedgerStore(tmp_path / "ledger.sqlite")


def ask(*words, epsilon="1"):
    return main(["ask", "people.csv", *words, "--schema", "s.json", "--epsilon", epsilon])


def test_the_file_has_every_declared_group_with_all_three_intervals(store, capsys):
    assert ask("mean of cost by ward", "quartiles of age", "--out", "answers.csv", epsilon=PLENTY) == 0
    assert capsys.readouterr().out == "answers.csv: Plain statistics, epsilon 1,000 per person.\n"
    answers = pd.read_csv("answers.csv")
    wanted = "statistic group of value low high noise_low noise_high sampling_low sampling_high unit too_few how"
    assert " ".join(answers) == wanted
    assert list(answers["group"][:3]) == ["ward =A1", "ward b", "ward nobody's"]
    assert list(answers["too_few"][:3]) == [False, False, True]
    assert answers["value"][:2].tolist() == pytest.approx([15, 0], abs=0.1)
    assert pd.isna(answers["value"][2])
    first = answers.iloc[0]
    assert first["low"] <= first["sampling_low"] < first["noise_low"] < first["value"] < first["noise_high"]


def test_without_a_file_answers_are_printed_with_both_errors(store, capsys):
    assert ask("mean of cost by ward", "share of ward = b", epsilon=PLENTY) == 0
    mean, share, explained = capsys.readouterr().out.split("\n\n")
    heading, *groups = mean.splitlines()
    assert heading.startswith("mean of cost by ward (noisy sums")
    assert groups[0].startswith("  ward =A1       15.0")
    assert groups[0].endswith(" cost")
    assert groups[0].count(" ± ") == 2
    assert groups[2] == "  ward nobody's  too few to tell"
    assert share.splitlines()[1].startswith("  all rows  0.33")
    assert explained.endswith("Plain statistics, epsilon 1,000 per person.\n")


def test_the_json_summary_has_the_answers_and_what_they_cost(store, capsys):
    assert ask("count", "mean of cost by ward", "--json", "--delta", "1e-9") == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["delta"], done["relation"], done["guarantee_void"]) == (1e-9, "add_remove", "")
    assert 0.999 < done["epsilon_bound"] <= 1
    assert [one["value"] is None for one in done["answers"]][-1]  # nobody is there
    (account,) = store.accounts()
    assert (account.name, account.looks > 0) == ("people.csv, persons of 'patient'", True)


def test_persons_and_rows_are_told_apart(store, capsys):
    assert ask("count persons", "count", "--json", epsilon=PLENTY) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert [(one["unit"], round(one["value"])) for one in answers] == [("persons", 300), ("rows", 600)]


def test_no_cell_of_the_file_runs_in_a_spreadsheet(store):
    assert ask("share of ward = =A1", "histogram of ward", "--out", "answers.csv") == 1  # needs quotation marks
    assert ask('share of ward = "=A1"', "histogram of ward", "--out", "answers.csv") == 0
    assert "'=A1" in list(pd.read_csv("answers.csv")["of"])


REFUSED = {
    "average of cost": "does not begin with count",
    "mean of price": "no column 'price'",
    "mean of ward": "no plain numbers",
    "count where ward = c": "not a declared value",
    "count persons by ward": "leave out `by`",
    "count --set mode=published": "no published version",
    "count --set noise=none": "noise",
    "count --epsilon 2": "given twice",
    "count --out s.json": "s.json exists already",
}


@pytest.mark.parametrize("words", REFUSED, ids=range(len(REFUSED)))
def test_what_is_wrong_is_refused_before_anything_is_spent(words, store, capsys):
    statistic, dashes, more = words.partition(" --")
    assert ask(statistic, *f"{dashes}{more}".split()) == 1
    assert REFUSED[words] in capsys.readouterr().err
    assert not store.path.exists()


def test_budget_and_schema_are_required(store, capsys):
    assert main(["ask", "people.csv", "count", "--schema", "s.json"]) == 1
    assert "Add --epsilon NUMBER" in capsys.readouterr().err
    assert main(["ask", "people.csv", "count", "--epsilon", "1"]) == 1
    assert "`dpcore schema TABLE` proposes one" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["ask", "people.csv", "--epsilon", "1"])
    assert not store.path.exists()


def test_a_cap_refuses_the_run_before_noise_is_drawn(store, capsys):
    assert ask("count") == 0
    (account,) = store.accounts()
    store.set_cap(account.key, account.name, account.relation, 1.5)
    assert ask("count", "count by ward", "--out", "answers.csv") == 1  # half of it would fit
    assert "is capped at 1.5" in capsys.readouterr().err
    assert store.accounts()[0].totals == account.totals
    assert not (store.path.parent / "answers.csv").exists()


def test_a_seed_voids_the_guarantee_aloud(store, capsys):
    assert ask("count", "--set", "random_state=1") == 0
    out = capsys.readouterr().out
    assert "Plain statistics, nothing can be proved." in out
    assert "seed" in out
