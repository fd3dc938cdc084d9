"""The audit refutes paper mode and leaves corrected mode standing.

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


@pytest.mark.parametrize(
    ("size", "more_than"),
    [(100, 1.0), pytest.param(1_000, 3.5, marks=pytest.mark.slow)],
)
def test_paper_mode_is_caught(size, more_than):
    result = audit(paper_runs(size, 11), (D, D_OTHER), float, 20_000)
    assert result.lower_bound > more_than
    bound = NaiveBayesSynthesizer(mode="paper", relation="replace", rows=size).fit(D, schema=BITS).ledger_.epsilon_bound
    assert result.lower_bound < bound


def towards_the_changed_record(fitted):
    """Sum over the tables of the cells that the changed record enters, less those it leaves."""
    return float(sum(table[1, 1] - table[0, 0] for table in fitted.tables_))


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["replace", pytest.param("add_remove", marks=pytest.mark.slow)])
@pytest.mark.parametrize("x_source", ["model", pytest.param("uniform", marks=pytest.mark.slow)])
def test_corrected_mode_stays_below_its_epsilon(x_source, relation):
    pair = (D, D_OTHER) if relation == "replace" else (D, D.head(9))
    method = NaiveBayesSynthesizer(epsilon=1.0, x_source=x_source, relation=relation)
    result = audit(method, pair, towards_the_changed_record, 2_000, schema=BITS)
    assert result.claimed == result.bound == 1.0
    assert not result.caught


@pytest.mark.slow
def test_the_corrected_audit_has_teeth():
    """The same event refutes a table whose noise is five times too small: it would catch a wrong scale."""
    method = NaiveBayesSynthesizer(epsilon=5.0, relation="replace")
    # With 4,000 runs the bound lay between .7 and 2.6, by which event the first half chose; with 12,000 from 1.7 up.
    result = audit(method, (D, D_OTHER), towards_the_changed_record, 12_000, schema=BITS)
    assert 1.0 < result.lower_bound <= 5.0


@pytest.mark.slow
def test_c2_labels_stay_below_epsilon():
    method = NaiveBayesSynthesizer(epsilon=1.0, variant="C2", rows=50, relation="replace")
    result = audit(
        method, (D, D_OTHER), lambda fitted: log_ratio(fitted.released_codes_.astype(np.int64)), 3_000, schema=BITS
    )
    assert not result.caught
