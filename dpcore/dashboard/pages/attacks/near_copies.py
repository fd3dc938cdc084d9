"""Distance to the closest record: a release that passes the test and leaks, and a private one.

The distance of a released row is the number of columns in which it differs from the nearest real
row. A release is said to be safe if its rows are no nearer to the real rows than the rows of other
people are. Yao, Krčo, Ganev and de Montjoye 2025 ("The DCR delusion: measuring the privacy risk of
synthetic data") show releases that pass such tests and give participants away.
"""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import pairwise_distances_argmin_min

from dpcore import charts
from dpcore.arguments import Floats
from dpcore.dashboard.demonstration import Demonstration
from dpcore.dashboard.pages.attacks.attack_steps import NUMBERS, SECRET, remembered, sample
from dpcore.dashboard.panels.disclosure import limit_points
from dpcore.evaluate import disclosure
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.text import CERTAIN, odds, percent

KNOWN = ("age", "sex", "education", "marital-status", "occupation")
METHOD = "PrivBayes refined"
ROWS, TARGETS, MOST = 400, 250, 10  # released rows that are measured; people of each income; columns on the axis


def permute(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Rows that keep what is known and the secret; every other column is permuted."""
    rng, others = np.random.default_rng(seed), rows.columns.difference([*KNOWN, SECRET])
    return rows.assign(**{name: rng.permutation(rows[name]) for name in others})


def distances(released: pd.DataFrame) -> Floats:
    """In how many columns every released row differs from the row of the sample that is nearest."""
    codes = [sample().schema.encode(rows) for rows in (released, sample().train_sample)]
    columns = pairwise_distances_argmin_min(*codes, metric="hamming")[1] * codes[0].shape[1]
    return np.asarray(np.rint(columns))


@remembered
def targets() -> list[pd.DataFrame]:
    """People in the data, and others, alone in what is known; as many of either income."""
    every = pd.concat([sample().train_sample, sample().test_sample], keys=[0, 1])
    codes = sample().schema.select(list(KNOWN)).encode(every)
    alone = every[~pd.DataFrame(codes).duplicated(keep=False).to_numpy()]
    incomes: list[Any] = [alone.loc[part].groupby(SECRET) for part in (0, 1)]
    return [people.head(min(TARGETS, people.size().min())) for people in incomes]


@remembered
def result(epsilon: float | None, seed: int) -> tuple[Floats, Floats, float, float]:
    """How far other people and a release are from the data, and the incomes that it tells of both.

    Without epsilon it is a release that leaks.
    """
    schema, rows = sample().schema, sample().train_sample
    if epsilon is None:
        released = permute(rows, seed)
    else:
        method: Any = METHODS[METHOD](epsilon=epsilon, random_state=seed)
        released = method.fit(rows, schema=schema).sample(len(rows))
    how: Any = (released, schema, SECRET, KNOWN, disclosure.MATCH)
    inside, outside = (float(disclosure.correct(people, *how).mean()) for people in targets())
    others = distances(sample().test_sample[:ROWS])
    return others, distances(released.sample(ROWS, random_state=0)), inside, outside


def attack(epsilon: float | None, seed: int) -> tuple[str, Demonstration]:
    """Test the distances of a release that leaks, or of a private one, and look people up in it."""
    others, released, inside, outside = result(epsilon, seed)
    lead = phrase(
        "A test calls rows safe if they are **no nearer to real rows than other people’s are**. These "
        "are the sample's rows, {permuted} of {columns} columns permuted. People are looked up by the rest."
    )
    keep = phrase("Distance is no guarantee: this passes the test, and tells {share} of incomes.")
    if epsilon is not None:
        lead = phrase(
            "The same test and attack on rows of **{method} with epsilon {epsilon:,g}**. Only the "
            "difference between people in the data and others comes from being in it."
        )
        keep = phrase(
            "Only epsilon sets a limit: being in the data makes any attack right at most {points} "
            "percentage points more often."
        )
        if odds(epsilon) > CERTAIN:
            keep = phrase("This epsilon is so large that it sets no limit to any attack.")
    columns = len(sample().schema.names)
    values = {"columns": columns, "permuted": columns - len(KNOWN) - 1, "share": percent(inside)}
    values |= {"method": METHODS[METHOD].title, "epsilon": epsilon, "points": limit_points(epsilon or 0)}
    groups = {
        "others": say("rows of others: mean {mean:.1f} columns off", mean=others.mean()),
        "released": say("released rows: mean {mean:.1f} columns off", mean=released.mean()),
    }
    frame = pd.DataFrame({"others": shares(others), "released": shares(released)})
    frame.insert(0, "distance", frame.index)
    bars = frame.assign(bin=[*map(str, range(MOST)), f"{MOST}+"])
    bars["from"], bars["to"] = bars["distance"] - 0.5, bars["distance"] + 0.5
    look: Any = {"title": say("How far rows are from the nearest real row"), "groups": groups}
    look["what"] = say("columns that differ from the nearest real row, of {columns}", **values)
    figures = {say("Right if in the data"): percent(inside), say("Right if not in it"): percent(outside)}
    assumed = say(
        "After Yao and others (2025), “The DCR delusion”. People are looked up by age, sex, education, "
        "marital status and occupation. Each release is one draw with teaching noise."
    )
    pictures, behind = [charts.group_strips(bars, **look)], {say(NUMBERS): frame}
    return say(lead, **values), Demonstration(figures, pictures, say(keep, **values), assumed, behind)


def shares(distances: Floats) -> Floats:
    """The share of rows at each distance up to `MOST`, where all farther ones are."""
    return np.bincount(np.minimum(distances, MOST).astype(int), minlength=MOST + 1) / len(distances)
