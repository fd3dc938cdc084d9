"""Labels that are paid for as one refute paper mode; corrected mode's audits are cases of `dpcore.audit`.

Paper mode's S labels are independent given the table, so one fit with rows = runs * S is `runs` independent releases.
"""

import math

import numpy as np
import pandas as pd
import pytest

from dpcore.audit.bound import audit
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.methods import NaiveBayesSynthesizer

BITS = Schema(
    columns=tuple(Column(name=name, kind="categorical", categories=("0", "1")) for name in "abcy"),
    target="y",
    max_rows=10,
)
D = pd.DataFrame(np.zeros((10, 4), dtype=int), columns=list("abcy"))
D_OTHER = pd.concat([D.head(9), pd.DataFrame(np.ones((1, 4), dtype=int), columns=list("abcy"))], ignore_index=True)


def label_probabilities(frame):
    """P(label 1 | x) of one paper-mode draw at epsilon 1, by the formula, for the 8 possible x."""
    y = frame["y"].to_numpy()
    q = np.empty((8, 2))
    for c in (0, 1):
        rows = frame[y == c]
        for i, x in enumerate(np.ndindex(2, 2, 2)):
            q[i, c] = math.log((len(rows) + 1) / (len(frame) + 2))
            for name, value in zip("abc", x, strict=True):
                q[i, c] += math.log(((rows[name] == value).sum() + 1) / (len(rows) + 2))
    weights = np.exp(q / (2 * math.ceil(math.log(20))))
    return weights[:, 1] / weights.sum(axis=1)


P, P_OTHER = label_probabilities(D), label_probabilities(D_OTHER)


def log_ratio(codes):
    """Log-likelihood ratio of released rows (…, 4), D' against D, summed over the last-but-one axis."""
    x = codes[..., 0] * 4 + codes[..., 1] * 2 + codes[..., 2]
    one = np.log(P_OTHER / P)[x]
    zero = np.log((1 - P_OTHER) / (1 - P))[x]
    return np.where(codes[..., 3] == 1, one, zero).sum(axis=-1)


def paper_runs(size, seed):
    def runs(frame, trials):
        found = []
        for block in range(0, trials, chunk := max(2_000_000 // size, 1)):
            count = min(chunk, trials - block)
            method = NaiveBayesSynthesizer(
                mode="paper", epsilon=1.0, relation="replace", rows=size * count, random_state=seed + block
            )
            codes = method.fit(frame, schema=BITS).released_codes_.astype(np.int64)
            found.append(log_ratio(codes.reshape(count, size, 4)))
        return np.concatenate(found)

    return runs


def test_largest_loss_of_one_label_is_the_hand_worked_one():
    """At x = (1, 1, 1) the log-odds of label 1 are 2.978 / 6 under D and 4.368 / 6 under D'."""
    assert np.abs(np.log(P_OTHER / P)).max() == pytest.approx(0.0815, abs=5e-5)
    assert np.abs(np.log((1 - P_OTHER) / (1 - P))).max() == pytest.approx(0.1502, abs=5e-5)


def test_paper_mode_is_caught():
    result = audit(paper_runs(100, 11), (D, D_OTHER), float, 20_000)
    assert result.lower_bound > 1.0
    method = NaiveBayesSynthesizer(mode="paper", relation="replace", rows=100).fit(D, schema=BITS)
    assert result.lower_bound < method.ledger_.epsilon_bound
