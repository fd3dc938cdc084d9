"""Measure how often the 90 % intervals of plain statistics contain the truth.

    DPCORE_DATA=... python -m benchmarks.intervals [--runs 2000] [--jobs 2] [--tables ...] [--out FILE.csv]

Three tables take the place of populations: Adult, bank cards, and simulated hospital visits with
skewed costs and missing cells. Every run draws rows with replacement, releases one statistic of
each kind, and compares the interval of the noise with the statistic of the drawn rows, and the
interval of both errors with the population's. Settings: add_remove and replace in pure epsilon,
add_remove with a delta, and persons of up to three similar rows under both relations.

The last lines test all cells together: under coverage of at least 90 %, the smallest P-value of the
cells (binomial, one-sided) times their number is below 1e-3 with a probability of at most 1e-3.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import binom

import dpcore as dp
from dpcore.domain.statistic import Statistic
from dpcore.methods.statistics import PlainStatistics

ROWS, PERSONS = 3_000, 3
SETTINGS = {
    "add_remove": {"relation": "add_remove"},
    "replace": {"relation": "replace"},
    "delta": {"relation": "add_remove", "delta": 1e-6},
    "persons": {"relation": "add_remove"},
    "persons, replace": {"relation": "replace"},
}


def visits(rows: int = 20_000, seed: int = 5) -> tuple[pd.DataFrame, dp.Schema]:
    """Return simulated hospital visits, with skewed costs and missing ages, and their schema."""
    rng = np.random.default_rng(seed)
    ward = rng.choice(["A", "B", "C"], rows, p=[0.6, 0.3, 0.1])
    days = np.minimum(rng.poisson(np.where(ward == "A", 3, 6)), 30)
    cost = np.clip(rng.lognormal(np.log(500 + 300 * days), 0.6), 0, 20_000).round(2)
    age = np.where(rng.random(rows) < 0.05, np.nan, rng.integers(0, 100, rows))
    columns = (
        dp.Column("ward", "categorical", categories=("A", "B", "C")),
        dp.Column("days", "integer", lower=0, upper=30),
        dp.Column("cost", "continuous", lower=0.0, upper=20_000.0),
        dp.Column("age", "integer", lower=0, upper=99, missing=True),
    )
    return pd.DataFrame({"ward": ward, "days": days, "cost": cost, "age": age}), dp.Schema(columns=columns)


def tables() -> dict[str, tuple[pd.DataFrame, dp.Schema, tuple[str, str, str, str]]]:
    """Return the populations, their schemas, and the columns that take part.

    The columns are a group, a value of it, and two columns of numbers.
    """
    adult, cards = dp.datasets.load("adult"), dp.datasets.load("bank cards")
    made, schema = visits()
    first = cards.schema.names
    group = next(name for name in first if not cards.schema[name].numeric)
    return {
        "adult": (adult.train, adult.schema, ("sex", "Female", "age", "hours-per-week")),
        "bank cards": (cards.train, cards.schema, (group, cards.schema[group].labels[0], "income", "age")),
        "visits": (made, schema, ("ward", "B", "cost", "days")),
    }


def statistics(
    group: str, value: str, other: str, first: str, second: str
) -> dict[str, Callable[[pd.DataFrame], list[float]]]:
    """Return, by its text, the function of a table that each statistic estimates, per answer."""

    def parts(frame: pd.DataFrame) -> list[pd.DataFrame]:
        """Return the rows of the two values of the group column."""
        return [frame[frame[group].astype(str) == own] for own in (value, other)]

    def slope(frame: pd.DataFrame) -> list[float]:
        """Return the slope of the first column on the second."""
        return [float(np.polyfit(frame[second].astype(float), frame[first].astype(float), 1)[0])]

    where = f"where {group} = {value}"
    return {
        f"count {where}": lambda frame: [len(parts(frame)[0])],
        f"share of {group} = {value}": lambda frame: [len(parts(frame)[0]) / len(frame)],
        f"mean of {first} {where}": lambda frame: [parts(frame)[0][first].mean()],
        f"mean of {second}": lambda frame: [frame[second].mean()],
        f"sum of {first}": lambda frame: [frame[first].sum()],
        f"variance of {second}": lambda frame: [frame[second].var(ddof=0)],
        f"quartiles of {first}": lambda frame: [*np.quantile(frame[first], [0.25, 0.5, 0.75], method="inverted_cdf")],
        f"difference of {second} between {group} = {value} and {group} = {other}": lambda frame: [
            parts(frame)[0][second].mean() - parts(frame)[1][second].mean()
        ],
        f"slope of {first} on {second}": slope,
        f"histogram of {group}": lambda frame: [len(own) for own in parts(frame)],
    }


def one_run(name: str, setting: str, seed: int, epsilon: float) -> list[tuple[str, str, str, bool, bool, bool]]:
    """Return, for each answer of one release, whether its two intervals contain the truth."""
    population, schema, (group, value, first, second) = tables_once()[name]
    other = next(label for label in schema[group].labels if label != value)
    wanted = statistics(group, value, other, first, second)
    rng = np.random.default_rng(seed)
    named = population[[group, first, second]]
    schema = dp.Schema(columns=tuple(schema[own] for own in named.columns))
    if setting.startswith("persons"):
        similar = named.sort_values([group, first]).reset_index(drop=True)
        people = np.arange(len(similar)) // PERSONS
        drawn = rng.integers(0, people[-1], ROWS // PERSONS)
        # a person has one row, or all three: under replace a single row counts three times
        kept = np.where(drawn % 3 == 0, 1, PERSONS)
        index = np.concatenate([PERSONS * who + np.arange(many) for who, many in zip(drawn, kept, strict=True)])
        frame = similar.iloc[index].assign(person=np.repeat(np.arange(len(drawn)), kept))
        weight = np.where(people % 3 == 0, PERSONS if "replace" in setting else 1, 1)
        first_rows = (np.arange(len(similar)) % PERSONS == 0) | (people % 3 != 0)
        whole = similar[first_rows & (people < people[-1])]
        whole = whole.loc[np.repeat(whole.index, weight[whole.index])]
        truth_rows = frame.drop(columns="person")
        if "replace" in setting:
            truth_rows = truth_rows.iloc[np.repeat(np.arange(len(frame)), np.repeat(PERSONS // kept, kept))]
        unit = dp.PrivacyUnit(max_contributions=PERSONS, id_column="person")
        schema = dp.Schema(columns=schema.columns, unit=unit)
    else:
        whole, frame = named, named.iloc[rng.integers(0, len(named), ROWS)]
        truth_rows = frame
    texts = [*wanted]
    method = PlainStatistics(queries="\n".join(texts), epsilon=epsilon, **SETTINGS[setting]).fit(frame, schema=schema)
    answers, found = method.answers(), []
    scale = len(truth_rows) / len(whole)
    for text in texts:
        own, ours = answers[answers["statistic"] == str(Statistic.parse(text))], wanted[text]
        kind = text.split()[0]
        if kind == "histogram":
            own = own[own["of"].isin([value, other])].set_index("of").loc[[value, other]]
        here, there = ours(truth_rows), ours(whole)
        if kind in ("count", "sum", "histogram"):
            # under replace each person counts once, by `PERSONS` rows
            each = PERSONS if setting == "persons, replace" else 1
            here, there = [one / each for one in here], [scale * one / each for one in there]
        for (_, row), sample, population_value in zip(own.iterrows(), here, there, strict=True):
            slack = 1e-5 * (abs(sample) + 1)  # numbers are rounded to a millionth of their range
            inside = row["noise_low"] - slack <= sample <= row["noise_high"] + slack
            both = row["low"] - slack <= population_value <= row["high"] + slack
            found.append((name, setting, kind, bool(inside), bool(both), bool(row["too_few"])))
    return found


_tables: dict = {}


def tables_once() -> dict:
    """Return `tables`, loaded once per process."""
    if not _tables:
        _tables.update(tables())
    return _tables


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--epsilon", type=float, default=5.0)
    parser.add_argument("--tables", nargs="+", default=["adult", "bank cards", "visits"])
    parser.add_argument("--out")
    options = parser.parse_args()
    cases = [(n, s, seed) for n in options.tables for s in SETTINGS for seed in range(options.runs)]
    runs = Parallel(n_jobs=options.jobs)(delayed(one_run)(*case, options.epsilon) for case in cases)
    columns = ["table", "setting", "kind", "noise", "both", "too_few"]
    frame = pd.DataFrame([row for run in runs for row in run], columns=columns)
    if options.out:
        frame.to_csv(options.out, index=False)
    cells = frame.groupby(["table", "setting", "kind"])[["noise", "both", "too_few"]].agg(["mean", "size"])
    shown = cells.xs("mean", axis=1, level=1).round(3)
    print(shown.to_string())
    covered = frame.groupby(["table", "setting", "kind"])[["noise", "both"]].sum()
    many = frame.groupby(["table", "setting", "kind"]).size()
    least = min(float(binom.cdf(covered[name], many, 0.9).min()) for name in ("noise", "both"))
    print(f"lowest coverage {float(shown[['noise', 'both']].min().min()):.3f}")
    print(f"smallest P-value times cells: {least * 2 * len(covered):.3g} (below 0.001: refuted)")


if __name__ == "__main__":
    main()
