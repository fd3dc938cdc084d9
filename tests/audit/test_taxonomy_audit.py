"""What TaxonomyRelease and DiffGen lose, exactly: one row, counted on level after level; and choices in halves.

Whole runs, and the ends of ranges, are cases of `dpcore.audit`.
"""

from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import pytest
from lockstep import log_softmax

from dpcore.accounting.relation import Relation
from dpcore.audit.tables import bits, frame_of
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.mechanisms.scores import InfoGain, IntervalSplit, Max
from dpcore.methods import DiffGen, TaxonomyRelease
from dpcore.rows import joint_counts

RELATIONS = ["add_remove", "replace"]
CHOICES = [("Max", Max(), "add_remove"), ("Max", Max(), "replace"), ("IG", InfoGain(), "replace")]


@pytest.mark.parametrize("relation", RELATIONS)
def test_every_level_holds_the_same_row(relation):
    """The loss of counts that all lie at or beyond the new row's: what each level's scale makes of it, added up."""
    schema = bits("aby", "y")
    paper = TaxonomyRelease(mode="paper", measure="all", with_class=False)
    how = {"with_class": False, "iterations": 3, "order": "chosen"}
    corrected = [TaxonomyRelease(**how, level_shares=shares) for shares in ("equal", (1, 0, 3, 2))]
    levels = 4 if relation == "add_remove" else 3  # otherwise the root is public
    for method, loss in ((paper, levels), *((each, 1) for each in corrected)):
        fitted = method.set_params(relation=relation, random_state=0).fit(frame_of(schema, "111"), schema=schema)
        moved = 2 if relation == "replace" else 1
        entries = [entry for entry in fitted.ledger_.entries if entry.mechanism == "laplace"]
        assert sum(moved / entry.scale for entry in entries) == pytest.approx(loss)
        assert float(sum(entry.epsilon_of_noise for entry in entries)) == pytest.approx(loss)
        assert fitted.ledger_.epsilon_claimed == 1


# Choices, exactly: probabilities are known, so that losses are computed and not drawn

NUMBER = Schema(
    columns=(
        Column(name="n", kind="integer", lower=0, upper=5, bins=6),
        Column(name="y", kind="categorical", categories=("no", "yes")),
    ),
    target="y",
    max_rows=99,
)


RECORDS = list(product(range(6), range(2)))  # a number and its class


def values(rows, score):
    """A score's values for some rows."""

    def counted(families):
        codes = np.array(rows, dtype=np.uint8).reshape(-1, 2)
        return joint_counts(codes, (6, 2), [["ny".index(name) for name in family] for family in families])

    return score.values(counted, [], Relation.ADD_REMOVE)


def largest_loss(found, factor, relation):
    """The largest loss over all neighbors of at most 3 rows, from all tables' values for a few independent choices."""
    chances, largest = {}, 0.0
    for rows, choices in found.items():
        joint = np.zeros(())
        for scored in choices:
            joint = np.add.outer(joint, log_softmax(factor * scored))
        chances[rows] = joint.ravel()
    for rows in (rows for rows in chances if len(rows) < 3):
        after = np.array([chances[tuple(sorted([*rows, record]))] for record in RECORDS])
        moved = after - chances[rows] if relation == "add_remove" else np.ptp(after, axis=0)
        largest = max(largest, float(np.abs(moved).max()))
    return largest


@pytest.mark.parametrize(("name", "rate", "relation"), CHOICES)
def test_two_halves_cost_one_share(name, rate, relation):
    """What the ledger books for the parallel choices is what they lose, for rows that change halves, too."""
    share = 0.8
    method = DiffGen(epsilon=share * 2 * (1 + 4), rounds=2, score=name, relation=relation, random_state=0)
    fitted = method.fit(pd.DataFrame({"n": [*range(6)] * 3, "y": "no"}), schema=NUMBER)
    frame = fitted.ledger_.to_frame()
    (factor,) = {round(1 / scale, 12) for scale in frame.loc[frame["scope"].str.contains("halves"), "scale"]}
    inner = {"target": "y", "classes": 2, "rated_by": rate, "column": "n"}
    halves = IntervalSplit(**inner, low=0, high=3), IntervalSplit(**inner, low=3, high=6)
    tables = (rows for size in range(4) for rows in combinations_with_replacement(RECORDS, size))
    found = {rows: [values(rows, half) for half in halves] for rows in tables}
    assert 0.2 * share < largest_loss(found, factor, relation) <= share
    assert largest_loss(found, 8 * factor, relation) > share  # teeth
