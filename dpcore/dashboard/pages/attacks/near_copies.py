"""Distance to the closest record (DCR): a leaking release that passes this test.

The distance of a released row is the number of columns in which it differs from the nearest real
row. The test calls a release safe if its rows are no nearer to the real rows than other people's
rows are. Yao, Krčo, Ganev and de Montjoye 2025 ("The DCR delusion: measuring the privacy risk of
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
ROWS, TARGETS, MOST = 400, 250, 10  # released rows; people; largest distance


def permute_columns(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return `rows` with all columns permuted but the five known to the attacker and the income."""
    rng, others = np.random.default_rng(seed), rows.columns.difference([*KNOWN, SECRET])
    return rows.assign(**{name: rng.permutation(rows[name]) for name in others})


def distances(released: pd.DataFrame) -> Floats:
    """Return in how many columns each released row differs from the nearest sample row."""
    codes = [sample().schema.encode(rows) for rows in (released, sample().train_sample)]
    columns = pairwise_distances_argmin_min(*codes, metric="hamming")[1] * codes[0].shape[1]
    return np.asarray(np.rint(columns))


@remembered
def find_targets() -> list[pd.DataFrame]:
    """Return people for the attack to look up: those with rows in the data, then others.

    The values that the attacker knows are unique for each. Each group has as many people of either
    income.
    """
    every = pd.concat([sample().train_sample, sample().test_sample], keys=[0, 1])
    codes = sample().schema.select(list(KNOWN)).encode(every)
    alone = every[~pd.DataFrame(codes).duplicated(keep=False).to_numpy()]
    incomes: list[Any] = [alone.loc[part].groupby(SECRET) for part in (0, 1)]
    return [people.head(min(TARGETS, people.size().min())) for people in incomes]


@remembered
def measure_release(epsilon: float | None, seed: int) -> tuple[Floats, Floats, float, float]:
    """Return distances of other people's rows and of a release, and both shares of right guesses.

    A distance is the number of columns in which a row differs from the nearest sample row. With
    `epsilon`, the release is a differentially private one; without, it is the sample with most
    columns permuted, which leaks. The two shares say how often the attack finds the income of
    people in the data, and of people not in the data.
    """
    schema, rows = sample().schema, sample().train_sample
    if epsilon is None:
        released = permute_columns(rows, seed)
    else:
        method: Any = METHODS[METHOD](epsilon=epsilon, random_state=seed)
        released = method.fit(rows, schema=schema).sample(len(rows))
    how: Any = (released, schema, SECRET, KNOWN, disclosure.MATCH)
    inside, outside = (float(disclosure.correct(people, *how).mean()) for people in find_targets())
    others = distances(sample().test_sample[:ROWS])
    return others, distances(released.sample(ROWS, random_state=0)), inside, outside


def run_attack(epsilon: float | None, seed: int) -> tuple[str, Demonstration]:
    """Run the distance test on a release, and the attack that looks up incomes in the release.

    Returns the introduction and the demonstration. If `epsilon` is None, the release is the sample
    with most columns permuted, which leaks.
    """
    others, released, inside, outside = measure_release(epsilon, seed)
    lead = phrase(
        "A test calls rows safe if they are **no nearer to real rows than other people’s rows are**. This release is"
        " the sample's rows, with {permuted} of {columns} columns permuted."
    )
    keep = phrase("Distance is no guarantee: this release passes the test, and reveals {share} of incomes.")
    if epsilon is not None:
        lead = phrase(
            "The same test and attack on rows of **{method} at epsilon {epsilon:,g}**. Only the "
            "difference between people in the data and other people comes from taking part."
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
        "others": say("rows of others: {mean:.1f} columns off on average", mean=others.mean()),
        "released": say("released rows: {mean:.1f} columns off on average", mean=released.mean()),
    }
    frame = pd.DataFrame({"others": distance_shares(others), "released": distance_shares(released)})
    frame.insert(0, "distance", frame.index)
    bars = frame.assign(bin=[*map(str, range(MOST)), f"{MOST}+"])
    bars["from"], bars["to"] = bars["distance"] - 0.5, bars["distance"] + 0.5
    look: Any = {"title": say("Distance of rows from the nearest real row"), "groups": groups}
    look["what"] = say("columns that differ from the nearest real row, of {columns}", **values)
    figures = {say("Right about participants"): percent(inside), say("Right about non-participants"): percent(outside)}
    assumed = say(
        "After Yao and others (2025), “The DCR delusion”. People are looked up by age, sex, education, marital "
        "status and occupation. Each release is one draw with noise from a seed, for teaching."
    )
    pictures, data = [charts.group_strips(bars, **look)], {say(NUMBERS): frame}
    return say(lead, **values), Demonstration(figures, pictures, say(keep, **values), assumed, data)


def distance_shares(distances: Floats) -> Floats:
    """Return the share of rows at each distance 0..`MOST`; larger distances count as `MOST`."""
    return np.bincount(np.minimum(distances, MOST).astype(int), minlength=MOST + 1) / len(distances)
