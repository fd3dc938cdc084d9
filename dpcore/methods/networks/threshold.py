"""Noisy comparisons with a threshold, on a secret sample, as JTree's paper prints them: no epsilon is proved."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.ledger import Relation
from dpcore.mechanisms.scores import MutualInformation

__all__ = ["amplified", "noisy_edges", "noisy_margins", "sampling_rate"]

RATES = np.arange(1, 1_001) / 1_000


def noisy_margins(
    information: NDArray[np.float64],
    thresholds: NDArray[np.float64],
    scale: float,
    rng: np.random.Generator,
    draws: int = 1,
) -> NDArray[np.float64]:
    """How far pairs lie above the printed rule: I + Lap(scale) - threshold - rho, one rho ~ Lap(scale) per draw.

    `information` and `thresholds` are in nats, shape (pairs,); the result has shape (draws, pairs), because an audit
    needs many draws. At an infinite scale, which epsilon 0 buys, the noise alone decides.
    """
    margin, unit = (information - thresholds, scale) if np.isfinite(scale) else (np.zeros(len(thresholds)), 1.0)
    rho = rng.laplace(0.0, unit, (draws, 1))
    found: NDArray[np.float64] = margin + rng.laplace(0.0, unit, (draws, len(margin))) - rho
    return found


def noisy_edges(
    information: NDArray[np.float64],
    thresholds: NDArray[np.float64],
    scale: float,
    rng: np.random.Generator,
    draws: int = 1,
) -> NDArray[np.bool_]:
    """Which pairs are edges by the printed rule: those whose noisy margin is 0 or more."""
    found: NDArray[np.bool_] = noisy_margins(information, thresholds, scale, rng, draws) >= 0
    return found


def amplified(epsilon: float, rate: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """eps_alpha, which a secret sample may spend: the whole then costs ln(1 + rate (e^eps_alpha - 1)) = epsilon."""
    most = min(epsilon, 500.0)  # e^500 is a number; beyond, the two epsilons grow together
    return np.asarray(np.log1p(np.expm1(most) / rate) + (epsilon - most))


def sampling_rate(rows: int, epsilon: float, shapes: list[tuple[int, int]]) -> tuple[float, float]:
    """Step 1 as printed: the rate beta of least noise, and that noise b in nats.

    Samples of one row are left out: their information is 0 whatever the row is, and so would be the noise.
    """
    rates = RATES[np.rint(RATES * rows) >= 2] if rows >= 2 else RATES[-1:]
    drawn = np.rint(rates * rows).astype(int).tolist()
    step = {size: MutualInformation().sensitivity(shapes, Relation.REPLACE, size) for size in set(drawn)}
    steps, spent = 2 * math.log(2) * np.array([step[size] for size in drawn]), amplified(epsilon, rates)
    scales = np.divide(steps, spent, out=np.full(len(rates), np.inf), where=spent > 0)
    best = int(np.argmin(scales))
    return float(rates[best]), float(scales[best])
