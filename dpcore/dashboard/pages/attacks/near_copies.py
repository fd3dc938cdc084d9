"""Distance to the closest record: a release that passes the test and tells everything, beside a private one."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Flags
from dpcore.charts.base import Chart
from dpcore.dashboard.pages.attacks import linkage_numbers, near_copies_numbers
from dpcore.dashboard.pages.attacks.attack_steps import SECRET, Found, draw, once, sample, settings
from dpcore.dashboard.panels.disclosure import points
from dpcore.evaluate import disclosure
from dpcore.language import phrase, plural, say
from dpcore.methods import METHODS
from dpcore.text import CERTAIN, odds, percent

KNOWN = ("age", "sex", "education", "marital-status", "occupation")
METHOD = "PrivBayes refined"
ROWS, TARGETS, MOST = 400, 250, 10  # released rows that are measured; people of each income; columns on the axis
SOURCE = phrase(
    "Yao, Krčo, Ganev and de Montjoye (2025), “The DCR delusion”, found releases that pass such tests and give "
    "participants away. DCR: distance to the closest record."
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
    with settings(page, "near", [2, 3]) as (key, epsilon, _):
        others = once(
            ("others",),
            lambda: near_copies_numbers.distances(coded(sample().test_sample)[:ROWS], coded(sample().train_sample)),
        )
    if epsilon is None:
        columns = len(sample().schema.names)
        lead = say(
            "Many programs call synthetic rows safe if they are **no nearer to real rows than other people’s rows "
            "are**. Take this release: every row is a real row in which {dealt} of {columns} columns were dealt anew. "
            "The outsider looks people up by {known} and {last}, which were not.",
            dealt=columns - len(KNOWN) - 1,
            columns=columns,
            known=", ".join(KNOWN[:-1]),
            last=KNOWN[-1],
        )
        draw(key, lead, say("Deal again"), partial(leaky, others))
    else:
        lead = say(
            "The same test and the same attack on rows of a private method, **{method} with epsilon {epsilon:,g}**. "
            "What the attack gets right about people who are not in the data, it knows of people in general. Only the "
            "difference comes from being in the data.",
            method=METHODS[METHOD].title,
            epsilon=epsilon,
        )
        draw(key, lead, say("Draw again"), partial(private, others, epsilon))


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


def leaky(others: np.ndarray, seed: int) -> Found:
    """What the test says of the release that leaks, and what an attack does."""
    found = once(("scrambled", seed), lambda: scrambled(seed))
    verdict = say("passes the test") if found.far >= others.mean() else say("does not pass the test")
    told = say(
        "Distance is no guarantee: this release {verdict}, and tells {share} of the incomes of people who are alone in "
        "what is known.",
        verdict=verdict,
        share=percent(found.inside),
    )
    title = say("How far rows are from the nearest real row")
    return shown(others, found, title, told, say(SOURCE))


def private(others: np.ndarray, epsilon: float, seed: int) -> Found:
    """The same of a private release, beside the one that leaks."""
    found = once(("learned", epsilon, seed), lambda: learned(epsilon, seed))
    leak = once(("scrambled", seed), lambda: scrambled(seed))
    limit = say(
        "being in the data makes any attack right at most {points} percentage points more often",
        points=points(epsilon),
    )
    none = say("and this one is so large that none is left")
    told = say(
        "The test {says}: rows of the one that leaks are {leak:.1f} columns away, the private ones {found:.1f}. Only "
        "epsilon sets a limit: {limit}.",
        says=say("prefers the release that leaks") if leak.far > found.far else say("passes both releases"),
        leak=leak.far,
        found=found.far,
        limit=limit if odds(epsilon) < CERTAIN else none,
    )
    source = say(
        "{source} One release of teaching noise: a few points of difference are luck.",
        source=say(SOURCE),
    )
    return shown(others, found, say("How far private rows are from the nearest real row"), told, source)


def shown(others: np.ndarray, found: Judged, title: str, keep: str, source: str) -> Found:
    """What the attack got right, and both distributions."""
    right = {
        say("Right if in the data"): percent(found.inside),
        say("Right if not in it"): percent(found.outside),
    }
    frame = near_copies_numbers.shares(others, MOST).rename(columns={"share": "others"})
    frame["released"] = near_copies_numbers.shares(found.distances, MOST)["share"]
    return Found(right, distances(frame, others.mean(), found.far, title), keep, source, frame)


def distances(frame: pd.DataFrame, others: float, released: float, title: str) -> Chart:
    """The chart of both distributions, of these means."""
    groups = {
        "others": say("rows of other people: {mean:.1f} columns off in mean", mean=others),
        "released": say("released rows: {mean:.1f} columns off", mean=released),
    }
    many = [plural("{n} column", "{n} columns", n) for n in range(MOST)]
    middle = frame["distance"]
    bins = {"from": middle - 0.5, "to": middle + 0.5, "bin": pd.Series([*many, say("{n} columns or more", n=MOST)])}
    what = say("columns that differ from the nearest real row, of {columns}", columns=len(sample().schema.names))
    return charts.groups_apart(frame.assign(**bins), what=what, title=title, groups=groups)
