"""What all attacks of the page have alike: exact numbers first, then noise with a slider, then a sentence to keep.

The people are rows of the bundled sample, which is synthetic, whatever data are in use: nothing is charged.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import datasets
from dpcore.arguments import Floats
from dpcore.charts.attacks import percent
from dpcore.dashboard import session
from dpcore.dashboard.widgets import choice, number_choice
from dpcore.datasets import Dataset
from dpcore.text import odds

Value = TypeVar("Value")
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0)
STEPS = {"exact": "1. Without noise", "noise": "2. With noise"}
CERTAIN = 0.9995  # odds that would be told as 100 %
MOST_KEPT = 60
SECRET = ("income", ">50K")


def sample() -> Dataset:
    """The bundled sample as it is, whatever data are in use, and with whatever schema."""
    return session.kept("dpcore.attacks.sample", lambda: datasets.load("sample"))


def secrets() -> np.ndarray:
    """Who of the sample earns more than 50K."""
    name, value = SECRET
    return np.asarray(sample().train[name] == value)


def once(key: tuple[object, ...], compute: Callable[[], Value]) -> Value:
    """What follows from settings alone, computed once per session; bounded, the oldest go first."""
    found: dict[tuple[object, ...], Value] = session.kept("dpcore.attacks", dict)
    key = (*key, len(sample().train))
    if key not in found:
        while len(found) >= MOST_KEPT:
            found.pop(next(iter(found)))
        found[key] = compute()
    return found[key]


def step(key: str, place: Any = st) -> bool:
    """Whether noise is added; the two steps of every attack."""
    look: Any = {"default": "exact", "required": True}
    return bool(choice(place.segmented_control, "What is published", f"{key}.step", STEPS, **look) == "noise")


def epsilon_slider(key: str, place: Any = st, label: str = "Epsilon") -> float:
    """Epsilon, from so little that nothing is left to so much that nothing is hidden."""
    note = "Left: more private. Right: more accurate."
    found: float = number_choice(place.select_slider, label, f"{key}.epsilon", EPSILONS, value=1.0, help=note)
    return found


def at_epsilon(frame: pd.DataFrame, epsilon: float) -> float:
    """The share at an epsilon, of a frame by `epsilon`."""
    return float(frame.loc[np.isclose(frame["epsilon"], epsilon), "share"].iloc[0])


def bounded(epsilon: float) -> str:
    """What an epsilon promises about every attack, as the end of a sentence."""
    if odds(epsilon) > CERTAIN:
        return "no limit that is worth the name is left for other attacks"
    return f"no attack on somebody who was 50:50 before is right in more than {percent(odds(epsilon))} in the long run"


def lots(seed: int, *shape: int) -> Floats:
    """Lots in (0, 1), the same for the same seed."""
    return np.random.default_rng(seed).uniform(np.finfo(float).tiny, 1.0, shape)


def keep(text: str, source: str) -> None:
    """The sentence to keep, and who found out."""
    st.success(f"**To keep:** {text}", icon=":material/bookmark:")
    st.caption(source)
