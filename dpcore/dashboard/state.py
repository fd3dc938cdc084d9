"""What a session remembers: the data, the releases, and what they cost.

All of it lives under a few namespaced keys, as immutable objects. A release is drawn once, on submit; everything on
screen is drawn from it, and what is computed for the screen is remembered with it, so that moving a widget draws no
noise, spends nothing and computes nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import pandas as pd
import streamlit as st

from dpcore import datasets
from dpcore.datasets import Dataset
from dpcore.export import Release
from dpcore.ledger import Ledger, Relation
from dpcore.models import ModelRelease
from dpcore.release import AnyRelease

__all__ = [
    "AnyShown",
    "Shown",
    "ShownModel",
    "account",
    "accounts",
    "dataset",
    "keep",
    "remember",
    "set_dataset",
    "shown",
]

Value = TypeVar("Value")
Kind = TypeVar("Kind", bound=AnyRelease)
MOST_REMEMBERED = 60


@dataclass(eq=False)
class Kept(Generic[Kind]):
    """A release with the data it was made from, what was computed for its panels, and redraws that were paid for.

    `redraws` holds what every method's redraws are measured by, `looks` what one method's page measures besides.
    """

    release: Kind
    data: Dataset
    memory: dict[str, Any] = field(default_factory=dict)
    redraws: pd.DataFrame | None = None
    looks: pd.DataFrame | None = None


Shown = Kept[Release]
ShownModel = Kept[ModelRelease]
AnyShown = Kept[Any]


def dataset() -> Dataset:
    """The session's data; the bundled sample until somebody chooses other data."""
    if "dpcore.data" not in st.session_state:
        st.session_state["dpcore.data"] = datasets.load("sample")
    data: Dataset = st.session_state["dpcore.data"]
    return data


def set_dataset(data: Dataset) -> None:
    """Use other data from now on. Releases stay on their pages until the next run."""
    st.session_state["dpcore.data"] = data


def shown(page: str) -> AnyShown | None:
    """The release that a page shows, if any."""
    found: AnyShown | None = st.session_state.get(f"dpcore.shown:{page}")
    return found


def keep(page: str, release: AnyRelease, data: Dataset) -> AnyShown:
    """Show a new release on a page."""
    now_shown = Kept(release, data)
    st.session_state[f"dpcore.shown:{page}"] = now_shown
    return now_shown


def remember(release: AnyShown, key: str, compute: Callable[[], Value]) -> Value:
    """A value computed once per release; bounded, the oldest go first."""
    if key not in release.memory:
        value = compute()
        while len(release.memory) >= MOST_REMEMBERED:
            release.memory.pop(next(iter(release.memory)))
        release.memory[key] = value
    remembered: Value = release.memory[key]
    return remembered


def accounts() -> dict[tuple[str, str], Ledger]:
    """All accounts of this session, by the data's SHA-256 and the relation; two relations are never added up."""
    books: dict[tuple[str, str], Ledger] = st.session_state.setdefault("dpcore.accounts", {})
    return books


def account(data: Dataset, relation: str, purpose: str) -> Ledger:
    """A new part of the session's account for these data, to be charged by one run."""
    key = (data.sha256, relation)
    if key not in accounts():
        accounts()[key] = Ledger(Relation.parse(relation), name=data.name)
    return accounts()[key].child(f"{datetime.now(UTC).astimezone():%H:%M:%S} {purpose}")
