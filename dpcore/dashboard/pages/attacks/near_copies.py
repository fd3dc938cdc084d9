"""Distance to the closest record: a release that passes the test and tells everything, beside a private one."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Flags
from dpcore.dashboard.demonstration import Demonstration
from dpcore.dashboard.pages.attacks import linkage_numbers, near_copies_numbers
from dpcore.dashboard.pages.attacks.attack_steps import NUMBERS, SECRET, once, sample, settings
from dpcore.dashboard.panels.disclosure import points
from dpcore.evaluate import disclosure
from dpcore.language import phrase, plural, say
from dpcore.methods import METHODS
from dpcore.text import CERTAIN, odds, percent

KNOWN = ("age", "sex", "education", "marital-status", "occupation")
METHOD = "PrivBayes refined"
ROWS, TARGETS, MOST = 400, 250, 10  # released rows that are measured; people of each income; columns on the axis
SOURCE = phrase(
    "Yao, Krčo, Ganev and de Montjoye (2025), “The DCR delusion” (distance to the closest record), found releases that "
    "pass such tests and give participants away. People are looked up by age, sex, education, marital status and "
    "occupation. Each release is one draw with teaching noise."
)


@dataclass(frozen=True, eq=False)
class Judged:
    """A release: how far its rows are from the real ones, and how often it gives an income away."""

    distances: np.ndarray
    inside: float
    outside: float

    @property
    def far(self) -> float:
        """The mean distance, in columns."""
        return float(self.distances.mean())


@st.fragment
def part(page: str) -> None:
    """A release that passes and leaks; then a private one, which the test cannot tell from it."""
    with settings(page, "near") as step:
        rows = partial(near_copies_numbers.distances, coded(sample().test_sample)[:ROWS], coded(sample().train_sample))
        others = once(("others",), rows)
    if step.epsilon is None:
        columns = len(sample().schema.names)
        lead = say(
            "A test calls rows safe if they are **no nearer to real rows than other people’s rows are**. Here "
            "{permuted} of {columns} columns of the real rows were permuted. The outsider looks people up by the rest.",
            permuted=columns - len(KNOWN) - 1,
            columns=columns,
        )
        step.show(lead, say("Permute again"), partial(leaky, others))
    else:
        lead = say(
            "The same test and the same attack on rows of **{method} with epsilon {epsilon:,g}**. Only the difference "
            "between people in the data and others comes from being in it.",
            method=METHODS[METHOD].title,
            epsilon=step.epsilon,
        )
        step.show(lead, say("Draw again"), partial(private, others, step.epsilon))


def coded(rows: pd.DataFrame) -> np.ndarray:
    """Rows as codes that take little room."""
    return sample().schema.encode(rows).astype(np.uint8)


def targets() -> tuple[pd.DataFrame, pd.DataFrame]:
    """People in the data and people who are not, alone in what is known, as many of either income."""
    name, value = SECRET
    every = pd.concat([sample().train_sample, sample().test_sample], ignore_index=True)
    alone: Flags = linkage_numbers.alone(sample().schema.select(list(KNOWN)).encode(every).astype(np.int64))
    more, inside = (every[name] == value).to_numpy(), np.arange(len(every)) < len(sample().train_sample)
    found = []
    for there in (inside, ~inside):
        places = [np.flatnonzero(alone & there & earns) for earns in (more, ~more)]
        count = min(TARGETS, *(len(place) for place in places))
        found.append(every.iloc[np.concatenate([place[:count] for place in places])])
    return found[0], found[1]


def judged(released: pd.DataFrame) -> Judged:
    """What the test of distance says, and what an attack does: it looks up people by what is known of them."""
    schema, rows = sample().schema, released.sample(min(ROWS, len(released)), random_state=0)
    right = [
        disclosure.correct(people, released, schema, SECRET[0], KNOWN, disclosure.MATCH).mean()
        for people in once(("targets",), targets)
    ]
    return Judged(near_copies_numbers.distances(coded(rows), coded(sample().train_sample)), *map(float, right))


def scrambled(seed: int) -> Judged:
    """The release that leaks: what is known and the secret are kept, all other columns are dealt anew."""
    data, rng = sample(), np.random.default_rng(seed)
    kept = [data.schema.names.index(name) for name in (*KNOWN, SECRET[0])]
    codes = near_copies_numbers.scrambled(data.schema.encode(sample().train_sample), kept, rng)
    return judged(data.schema.decode(codes, rng))


def learned(epsilon: float, seed: int) -> Judged:
    """A release of a private method, by teaching noise of a seed."""
    data = sample()
    method: Any = METHODS[METHOD](epsilon=epsilon, random_state=seed)
    return judged(method.fit(sample().train_sample, schema=data.schema).sample(len(data.train_sample)))


def leaky(others: np.ndarray, seed: int) -> Demonstration:
    """What the test says of the release that leaks, and what an attack does."""
    found = once(("scrambled", seed), lambda: scrambled(seed))
    verdict = say("passes the test") if found.far >= others.mean() else say("does not pass the test")
    keep = say(
        "Distance is no guarantee: this release {verdict}, and gives away {share} of the incomes that are looked up.",
        verdict=verdict,
        share=percent(found.inside),
    )
    return demonstration(others, found, say("How far rows are from the nearest real row"), keep)


def private(others: np.ndarray, epsilon: float, seed: int) -> Demonstration:
    """The same of a private release, beside the one that leaks."""
    found = once(("learned", epsilon, seed), lambda: learned(epsilon, seed))
    keep = phrase(
        "Only epsilon sets a limit: being in the data makes any attack right at most {points} percentage points more "
        "often."
    )
    if odds(epsilon) >= CERTAIN:
        keep = phrase("Only epsilon sets a limit, and this one is so large that none is left.")
    title = say("How far private rows are from the nearest real row")
    return demonstration(others, found, title, say(keep, points=points(epsilon)))


def demonstration(others: np.ndarray, found: Judged, title: str, keep: str) -> Demonstration:
    """What the attack got right, and both distributions."""
    frame = near_copies_numbers.shares(others, MOST).rename(columns={"share": "others"})
    frame["released"] = near_copies_numbers.shares(found.distances, MOST)["share"]
    groups = {
        "others": say("rows of other people: {mean:.1f} columns off on average", mean=others.mean()),
        "released": say("released rows: {mean:.1f} columns off", mean=found.far),
    }
    many = [plural("{n} column", "{n} columns", n) for n in range(MOST)]
    middle = frame["distance"]
    bins = {"from": middle - 0.5, "to": middle + 0.5, "bin": pd.Series([*many, say("{n} columns or more", n=MOST)])}
    what = say("columns that differ from the nearest real row, of {columns}", columns=len(sample().schema.names))
    return Demonstration(
        {say("Right if in the data"): percent(found.inside), say("Right if not in it"): percent(found.outside)},
        [charts.groups_apart(frame.assign(**bins), what=what, title=title, groups=groups)],
        keep,
        say(SOURCE),
        {say(NUMBERS): frame},
    )
