"""What all attacks have alike: noiseless numbers first, then noise with a slider.

The people are rows of the bundled sample, which is synthetic, whatever data are in use: nothing is charged.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import datasets
from dpcore.arguments import Floats
from dpcore.dashboard import links, session
from dpcore.dashboard.demonstration import Demonstration, epsilon_slider, show, sides
from dpcore.dashboard.widgets import choice, seed_button
from dpcore.datasets import Dataset
from dpcore.language import phrase, say
from dpcore.text import CERTAIN, odds, percent

Value = TypeVar("Value")
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0)
STEPS = {"noiseless": phrase("1. Without noise"), "noise": phrase("2. With noise")}
NUMBERS = phrase("The numbers behind the picture")
MOST_KEPT = 60
SECRET = ("income", ">50K")


@dataclass(frozen=True)
class AttackStep:
    """A step of an attack: the key of its settings, epsilon (None without noise), and its places."""

    key: str
    epsilon: float | None
    head: Any
    settings: Any
    pictures: Any

    def show(self, lead: str, again: str, attack: Callable[[int], Demonstration]) -> None:
        """Draw it. `attack` gets the seed of the button `again`, which both steps share; 0 without a button."""
        self.head.markdown(lead)
        with self.settings:
            found = attack(seed_button(self.key, again) if again else 0)
        show(found, self.settings, self.pictures)


@contextmanager
def settings(page: str, name: str, label: str = phrase("Epsilon")) -> Iterator[AttackStep]:
    """The step and its epsilon; an attack's own settings are drawn below them, inside this."""
    key, head = f"{page}.{name}", st.container()
    left, right = sides()
    with left, links.of(page, session.dataset(), name):
        look: Any = {"default": "noiseless", "required": True}
        noisy = choice(st.segmented_control, say("What is published"), f"{key}.step", STEPS, **look) == "noise"
        yield AttackStep(key, epsilon_slider(key, label, EPSILONS) if noisy else None, head, left, right)


def sample() -> Dataset:
    """The bundled sample as it is, whatever data are in use, and with whatever schema."""
    return session.kept("dpcore.attacks.sample", lambda: datasets.load("sample"))


def secrets() -> np.ndarray:
    """Who of the sample earns more than 50K."""
    name, value = SECRET
    return np.asarray(sample().train_sample[name] == value)


def once(key: tuple[object, ...], compute: Callable[[], Value]) -> Value:
    """What follows from settings alone, computed once per session; bounded, the oldest go first."""
    found: dict[tuple[object, ...], Value] = session.kept("dpcore.attacks", dict)
    key = (*key, len(sample().train_sample))
    if key not in found:
        while len(found) >= MOST_KEPT:
            found.pop(next(iter(found)))
        found[key] = compute()
    return found[key]


def at_epsilon(frame: pd.DataFrame, epsilon: float) -> float:
    """The share at an epsilon, of a frame by `epsilon`."""
    return float(frame.loc[np.isclose(frame["epsilon"], epsilon), "share"].iloc[0])


def promise(epsilon: float) -> str:
    """What an epsilon promises about every attack, as the end of a sentence."""
    if odds(epsilon) > CERTAIN:
        return say("no limit that is worth the name is left for other attacks")
    return say("no attack on someone who was 50:50 before is right more often than {most}", most=percent(odds(epsilon)))


def uniform(seed: int, *shape: int) -> Floats:
    """Random numbers in (0, 1), the same for the same seed."""
    return np.random.default_rng(seed).uniform(np.finfo(float).tiny, 1.0, shape)
