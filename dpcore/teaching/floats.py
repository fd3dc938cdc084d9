"""The answers that textbook Laplace noise in floating point can give, and those that give the truth away.

Mironov 2012 ("On significance of the least significant bits for differential privacy", CCS): noise is computed from a
uniform number that has finitely many values, so that a count plus noise has finitely many values too, with holes in
between. Another count has its holes elsewhere. An answer in a hole of the other world tells for sure which world it
came from, whatever epsilon is. The proof for real numbers does not see it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.errors import ParameterError

__all__ = ["DOUBLE_BITS", "possible_answers", "telltale_share", "textbook_laplace"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
DOUBLE_BITS, FEW_BITS = 53, 20
NEAR = 32  # lots on either side in which another one with the same answer is looked for


def textbook_laplace(lots: Integers, bits: int, scale: float) -> Floats:
    """Laplace noise by inverting the distribution, as programs compute it: of the uniform numbers lot / 2^bits.

    With 53 bits these are the uniform numbers of most libraries, and the noise is that of NumPy's own Laplace sampler,
    but for the last bits: NumPy computes 2 - u - u, which drops one bit of u.
    Lots are from 1 to 2^bits - 1, because 0 has infinite noise.
    """
    middle = lots / 2.0**bits - 0.5
    return np.asarray(-scale * np.sign(middle) * np.log(1 - 2 * np.abs(middle)))


def possible_answers(count: int, epsilon: float, bits: int, low: float, high: float) -> pd.DataFrame:
    """All answers in low..high that are possible in either world, found by trying every uniform number.

    Parameters
    ----------
    count : int
        Without you; it is one more with you.
    epsilon : float
    bits : int
        Of the uniform numbers, up to 20: more are too many to try.

    Returns
    -------
    DataFrame
        `world` ("without" or "with"), `answer`, `both` (whether the other world can give exactly this number too).
    """
    if not 1 < bits <= FEW_BITS:
        raise ParameterError(f"All uniform numbers are tried for 2 to {FEW_BITS} bits only.", "Choose fewer bits.")
    noise = textbook_laplace(np.arange(1, 2**bits), bits, 1 / epsilon)
    first, second = np.unique(count + noise), np.unique(count + 1 + noise)
    parts = [
        pd.DataFrame({"world": name, "answer": own, "both": np.isin(own, other)})
        for name, own, other in (("without", first, second), ("with", second, first))
    ]
    found = pd.concat(parts, ignore_index=True)
    return found[found["answer"].between(low, high)].reset_index(drop=True)


def telltale_share(count: int, epsilon: float, *, bits: int = DOUBLE_BITS, draws: int = 20_000, seed: int = 0) -> float:
    """The share of drawn answers without you that are impossible with you: each of them betrays the world for sure.

    For every answer the uniform number is computed that would give it in the other world, and all numbers near that one
    are tried, in the same arithmetic.
    """
    scale, most = 1 / epsilon, 2**bits - 1
    lots = np.random.default_rng(seed).integers(1, most, draws, endpoint=True)
    answers = count + textbook_laplace(lots, bits, scale)
    needed = answers - (count + 1)
    tail = np.exp(-np.abs(needed) / scale) / 2
    place = np.rint(np.where(needed < 0, tail, 1 - tail) * 2.0**bits).astype(np.int64)
    found = np.zeros(draws, dtype=bool)
    for step in range(-NEAR, NEAR + 1):
        other = np.clip(place + step, 1, most)
        found |= (count + 1) + textbook_laplace(other, bits, scale) == answers
    return float(1 - found.mean())
