"""Tables that chance made up over a schema: what a method can be rehearsed on when no row may be looked at."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import norm

from dpcore.arguments import Floats
from dpcore.domain.column import Codes, Column, code_dtype
from dpcore.domain.schema import Schema
from dpcore.postprocess.bayes_net import uniform_codes

STRENGTHS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)  # of the ties in a made-up table
MOST_STEEP = 3.5  # categories: the power of a value's rank by which its share falls
WIDTHS = (0.015, 0.8)  # of the hill over values that have an order, as a share of them
PEAKS = (0.7, 2.0)  # its power: below 1 a peak with long tails, 2 a normal distribution
MOST_MISSING = 0.2


def matchings(columns: int) -> Iterator[list[tuple[int, int]]]:
    """Ways to put columns two by two, in which every pair is in one: the circle of a tournament."""
    places = list(range(columns + columns % 2))
    for _ in places[1:]:
        pairs = zip(places[: len(places) // 2], reversed(places), strict=False)
        yield [(min(pair), max(pair)) for pair in pairs if max(pair) < columns]
        places.insert(1, places.pop())


def functions(schema: Schema, rows: int, pairs: Sequence[tuple[int, int]], rng: np.random.Generator) -> Codes:
    """Codes of rows in which one column of every pair is a function of the other, and all values are as frequent."""
    codes = uniform_codes(schema.sizes, rows, rng)
    for pair in pairs:
        few, many = sorted(pair, key=lambda j: schema.sizes[j])
        rule = rng.permutation(np.arange(schema.sizes[many]) % schema.sizes[few])
        codes[:, few] = rule[codes[:, many]]
    return codes


def made_up(schema: Schema, rows: int, strength: float, rng: np.random.Generator) -> Codes:
    """Codes of rows that chance made up: columns of all shapes, which hang on common factors."""
    factors = rng.standard_normal((rng.integers(1, max(len(schema) // 3, 1) + 1), rows))
    codes = np.empty((rows, len(schema)), dtype=code_dtype(max(schema.sizes)), order="F")
    for j, column in enumerate(schema):
        loading = strength * rng.random() ** 0.3 * rng.choice((-1, 1))
        score = loading * rng.choice(factors) + (1 - loading**2) ** 0.5 * rng.standard_normal(rows)
        codes[:, j] = np.searchsorted(np.cumsum(margin(column, rng))[:-1], norm.cdf(score))
    return codes


def margin(column: Column, rng: np.random.Generator) -> Floats:
    """The shares of a column's values: a hill for what has an order, steps for what has none, of any steepness."""
    size = column.size - column.missing
    if column.kind == "categorical":
        shares = rng.permutation((1.0 + np.arange(size)) ** -rng.uniform(0, MOST_STEEP))
    else:
        places = (np.arange(size) + 0.5) / size
        wide = math.exp(rng.uniform(math.log(WIDTHS[0]), math.log(WIDTHS[1])))
        shares = np.exp(-(np.abs((places - rng.random()) / wide) ** rng.uniform(PEAKS[0], PEAKS[1]))) + 1e-6
    absent = rng.uniform(0, MOST_MISSING) if column.missing else 0.0
    return np.append(shares / shares.sum() * (1 - absent), [absent] * column.missing)
