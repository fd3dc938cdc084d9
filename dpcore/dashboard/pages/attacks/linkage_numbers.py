"""Linkage: a table without names, a public list with names, and who is alone in the columns that both hold.

Somebody is alone if nobody else in the table has the same values in the known columns (a group of k = 1, in the words
of Sweeney 2002, "k-anonymity: a model for protecting privacy"). Whoever has the list then finds their row, and what
else it says. Against that, noise: for every combination of the known columns, the number of people with the secret is
published with whole-number noise of scale 1 / epsilon. One person changes one of these counts by at most 1.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.arguments import Flags, Floats

Codes = NDArray[np.int64]


def coded(frame: pd.DataFrame, columns: Sequence[str]) -> Codes:
    """Values as whole numbers from 0, a column for each of those that are named."""
    return np.column_stack([pd.factorize(frame[name])[0] for name in columns]).astype(np.int64)


def keys(codes: Codes) -> Codes:
    """One number for every combination of values, shape (rows,)."""
    if not codes.shape[1]:  # who knows nothing tells nobody apart
        return np.zeros(len(codes), dtype=np.int64)
    return np.asarray(np.ravel_multi_index(tuple(codes.T), tuple(codes.max(axis=0) + 1)))


def alone(codes: Codes) -> Flags:
    """Who has the same values as nobody else, shape (rows,)."""
    _, group, sizes = np.unique(keys(codes), return_inverse=True, return_counts=True)
    return np.asarray(sizes[group] == 1)


def share_alone(codes: Codes) -> float:
    """The share of them."""
    return float((np.unique(keys(codes), return_counts=True)[1] == 1).sum() / len(codes))


def growth(codes: Codes, names: Sequence[str]) -> pd.DataFrame:
    """The share of rows that are alone, as one column after the other becomes known: `number`, `share`, `known`."""
    numbers = range(1, len(names) + 1)
    shares = [share_alone(codes[:, :number]) for number in numbers]
    return pd.DataFrame({"number": numbers, "share": shares, "known": [", ".join(names[:k]) for k in numbers]})


def extremes(codes: Codes) -> pd.DataFrame:
    """The lowest and highest share alone over all choices of so many columns: `number`, `low`, `high`."""
    rows = []
    for number in range(1, codes.shape[1] + 1):
        shares = [share_alone(codes[:, chosen]) for chosen in combinations(range(codes.shape[1]), number)]
        rows.append((number, min(shares), max(shares)))
    return pd.DataFrame(rows, columns=["number", "low", "high"])


def looked_up(codes: Codes, secret: Flags, people: Sequence[int]) -> pd.DataFrame:
    """What the table says about some of its rows: `matches`, the rows that fit, and how many have the `secret`."""
    _, group, sizes = np.unique(keys(codes), return_inverse=True, return_counts=True)
    having = np.bincount(group, secret, len(sizes)).astype(int)
    return pd.DataFrame({"matches": sizes[group[people]], "secret": having[group[people]]})


def noise(epsilon: float, lots: Floats) -> Codes:
    """Whole-number noise of scale 1 / epsilon, from two lots in (0, 1) each, which stand along the first axis.

    The difference of two geometric numbers with ratio e^-epsilon, each the whole part of -log(lot) / epsilon.
    """
    up, down = np.floor(-np.log(lots) / epsilon).astype(np.int64)
    return np.asarray(up - down)


def share_right(secret: Flags, epsilons: Iterable[float], lots: Floats) -> pd.DataFrame:
    """How often a guess from the noisy count of their group is right about people who are alone: `epsilon`, `share`.

    The guess is the likelier world: the secret if the count is 1 or more. With this noise Z it is right with
    probability P(Z >= 0) = 1 / (1 + e^-epsilon), whatever is true. `secret`: of those who are alone. `lots`: in (0, 1),
    shape (2, releases, people): the same for every epsilon.
    """
    share = [((secret + noise(epsilon, lots) >= 1) == secret).mean() for epsilon in epsilons]
    return pd.DataFrame({"epsilon": [*epsilons], "share": share})
