"""Distance to the closest record: a release that passes the test and tells everything, beside a private one."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Flags
from dpcore.charts.attacks import percent
from dpcore.dashboard import links, panels, session
from dpcore.dashboard.sections.attack_steps import CERTAIN, SECRET, epsilon_slider, keep, once, sample, step
from dpcore.dashboard.sections.mechanisms import redrawn
from dpcore.dashboard.tabs.disclosure import points
from dpcore.dashboard.widgets import figures
from dpcore.evaluate import disclosure
from dpcore.methods import METHODS
from dpcore.teaching import linkage, near_copies
from dpcore.text import odds

KNOWN = ("age", "sex", "education", "marital-status", "occupation")
METHOD = "PrivBayes refined"
ROWS, TARGETS, MOST = 400, 250, 10  # released rows that are measured; people of each income; columns on the axis
SOURCE = (
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
    key = f"{page}.near"
    with links.of(page, session.dataset(), "near"):
        left, right = st.columns([2, 3], gap="large")
        noisy = step(key, left)
        epsilon = epsilon_slider(key, right) if noisy else 0.0
    others = once(("others",), lambda: near_copies.distances(coded(sample().test)[:ROWS], coded(sample().train)))
    if noisy:
        private(key, others, epsilon)
    else:
        leaky(key, others)


def coded(rows: pd.DataFrame) -> np.ndarray:
    """Rows as codes that take little room."""
    return sample().schema.encode(rows).astype(np.uint8)


def targets() -> tuple[pd.DataFrame, pd.DataFrame]:
    """People in the data and people who are not, alone in what is known, as many of either income."""
    data, (name, value) = sample(), SECRET
    every = pd.concat([data.train, data.test], ignore_index=True)
    alone: Flags = linkage.alone(data.schema.select(list(KNOWN)).encode(every).astype(np.int64))
    more, inside = (every[name] == value).to_numpy(), np.arange(len(every)) < len(data.train)
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
    return Judged(near_copies.distances(coded(rows), coded(sample().train)), *map(float, right))


def scrambled(seed: int) -> Judged:
    """The release that leaks: what is known and the secret are kept, all other columns are dealt anew."""
    data = sample()
    names = list(data.schema.names)
    kept = [names.index(name) for name in (*KNOWN, SECRET[0])]
    rng = np.random.default_rng(seed)
    codes = near_copies.scrambled(data.schema.encode(data.train), kept, rng)
    return judged(data.schema.decode(codes, rng))


def learned(epsilon: float, seed: int) -> Judged:
    """A release of a private method, by teaching noise of a seed."""
    data = sample()
    method: Any = METHODS[METHOD](epsilon=epsilon, random_state=seed)
    return judged(method.fit(data.train, schema=data.schema).sample(len(data.train)))


def leaky(key: str, others: np.ndarray) -> None:
    """What the test says of the release that leaks, and what an attack does."""
    columns = len(sample().schema.names)
    dealt = columns - len(KNOWN) - 1
    st.markdown(
        f"Many programs call synthetic rows safe if they are **no nearer to real rows than other people’s rows are**. "
        f"Take this release: every row is a real row in which {dealt} of {columns} columns were dealt anew. The "
        f"outsider looks people up by {', '.join(KNOWN[:-1])} and {KNOWN[-1]}, which were not."
    )
    left, right = st.columns([1, 4], gap="medium")
    with left:
        seed = redrawn(key, "Deal again")
        found = once(("scrambled", seed), lambda: scrambled(seed))
        shown(found)
    with right:
        frame = distances(others, found, "How far rows are from the nearest real row")
    verdict = "passes the test" if found.far >= others.mean() else "does not pass the test"
    keep(
        f"Distance is no guarantee: this release {verdict}, and tells {percent(found.inside)} of the incomes of people "
        "who are alone in what is known.",
        SOURCE,
    )
    panels.table_behind(frame, "The numbers behind this chart")


def private(key: str, others: np.ndarray, epsilon: float) -> None:
    """The same of a private release."""
    st.markdown(
        f"The same test and the same attack on rows of a private method, **{METHODS[METHOD].title} with epsilon "
        f"{epsilon:,g}**. What the attack gets right about people who are not in the data, it knows of people in "
        "general. Only the difference comes from being in the data."
    )
    left, right = st.columns([1, 4], gap="medium")
    with left:
        seed = redrawn(key, "Draw again")
        found = once(("learned", epsilon, seed), lambda: learned(epsilon, seed))
        leak = once(("scrambled", 0), lambda: scrambled(0))
        shown(found)
    with right:
        frame = distances(others, found, "How far private rows are from the nearest real row")
    says = "prefers the release that leaks" if leak.far > found.far else "passes both releases"
    most = f"being in the data makes any attack right at most {points(epsilon)} percentage points more often"
    keep(
        f"The test {says}: rows of the one that leaks are {leak.far:.1f} columns away, the private ones "
        f"{found.far:.1f}. Only epsilon sets a limit: "
        f"{most if odds(epsilon) < CERTAIN else 'and this one is so large that none is left'}.",
        f"{SOURCE} One release of teaching noise: a few points of difference are luck.",
    )
    panels.table_behind(frame, "The numbers behind this chart")


def shown(found: Judged) -> None:
    """What the attack got right."""
    told = {"Right if in the data": percent(found.inside), "Right if not in it": percent(found.outside)}
    figures(told, beside=False)


def distances(others: np.ndarray, found: Judged, title: str) -> pd.DataFrame:
    """The chart of both distributions; its numbers."""
    frame = near_copies.shares(others, MOST).rename(columns={"share": "others"})
    frame["released"] = near_copies.shares(found.distances, MOST)["share"]
    ends = {"from": frame["distance"] - 0.5, "to": frame["distance"] + 0.5}
    groups = {
        "others": f"rows of other people: {others.mean():.1f} columns off in mean",
        "released": f"released rows: {found.far:.1f} columns off",
    }
    what = f"columns that differ from the nearest real row, of {len(sample().schema.names)}"
    look: Any = {"what": what, "title": title, "highest": 0.7, "groups": groups}
    panels.chart(charts.groups_apart(frame.assign(**ends), **look))
    return frame
