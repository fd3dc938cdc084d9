import math

import numpy as np
import pandas as pd
import pytest

from dpcore import evaluate
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError, SchemaError
from dpcore.evaluate import learners
from dpcore.evaluate.learners import Label, misclassification

SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", lower=0, upper=99, bins=4, missing=True),  # 0, 25, 50, 75
        Column(name="sex", kind="categorical", categories=("f", "m"), missing=True),
        Column(name="hint", kind="categorical", categories=("a", "b")),
    )
)
OLD = Label(column="age", below=60)


def rows_of(ages, hints):
    return pd.DataFrame({"age": ages, "sex": "f", "hint": list(hints)})


def test_a_label_reads_the_number_and_not_the_bin_and_compares_categories_like_a_column():
    for ages in ([50, 59, 60, 74, None, 0], ["50", "59", "60", "74", None, "0"]):
        assert OLD.label_rows(rows_of(ages, "aaaaaa")).tolist() == [True, True, False, False, False, True]
    label, frame = Label(column="sex", equals="m"), pd.DataFrame({"sex": ["m", "f", None, "m"]})
    for other in (frame, frame.astype("category")):
        assert label.label_rows(other).tolist() == [True, False, False, True]
    assert label.label_rows(frame.head(0)).tolist() == []
    numbers = pd.DataFrame({"n": [3.0, np.nan, 4.0]})
    assert Label(column="n", equals="3").label_rows(numbers).tolist() == [True, False, False]


def test_a_label_has_one_rule_that_fits_a_known_column():
    for rule, message in (
        ({"column": "age", "below": 0}, "same label"),
        ({"column": "age", "below": 100}, "same label"),
        ({"column": "sex", "below": 3}, "no numbers"),
        ({"column": "sex", "equals": "x"}, "declared category"),
    ):
        with pytest.raises(ParameterError, match=message):
            Label(**rule).check(SCHEMA)
    Label(column="age", below=99).check(SCHEMA)
    with pytest.raises(ParameterError, match="not both"):
        Label(column="age", equals="m", below=3)
    with pytest.raises(SchemaError):
        Label(column="nowhere", below=3).check(SCHEMA)


def test_errors_by_hand_and_the_two_protocols():
    """The release says that a is young; among the real rows three in ten with an a are not."""
    synthetic = rows_of([10] * 50 + [90] * 50, "a" * 50 + "b" * 50)
    test = rows_of([10] * 7 + [90] * 3 + [90] * 10, "a" * 10 + "b" * 10)
    real = misclassification(test, synthetic, SCHEMA, OLD, repeats=4)
    assert real["repeat"].tolist() == [0, 1, 2, 3]
    assert real["error"].tolist() == pytest.approx([0.15] * 4)  # 3 of 20
    assert real["majority_error"].tolist() == pytest.approx([0.35] * 4)  # 7 of 20 are young
    assert set(real["protocol"]) == {"tstr"}
    published = misclassification(test, synthetic, SCHEMA, OLD, protocol="published", repeats=4)
    assert published["error"].tolist() == pytest.approx([0] * 4)  # the release agrees with itself
    assert published["majority_error"].between(0.2, 0.5).all()
    assert (published["note"] == "").all()
    one_class = misclassification(test, rows_of([10] * 10, "a" * 10), SCHEMA, OLD, repeats=1)
    assert one_class["error"].item() == pytest.approx(13 / 20)
    assert "one class" in one_class["note"].item()
    single = misclassification(test, rows_of([10], "a"), SCHEMA, OLD, repeats=1)
    assert math.isnan(single["error"].item())
    # The label's own column is not learned from, and nothing else tells the age.
    rng = np.random.default_rng(0)
    frame = rows_of(rng.integers(0, 100, 400), rng.choice(["a", "b"], 400))
    result = misclassification(frame, frame, SCHEMA, OLD, repeats=1)
    assert result["error"].item() == pytest.approx(result["majority_error"].item(), abs=0.05)


def test_the_protocols_learn_from_the_same_parts_and_repeats_differ(monkeypatch):
    parts = []
    measured = learners._scores

    def spy(tables, tests, *args):
        parts.extend((tables["released"], test) for test in tests)
        return measured(tables, tests, *args)

    monkeypatch.setattr("dpcore.evaluate.learners._scores", spy)
    rng = np.random.default_rng(0)
    synthetic = rows_of(rng.integers(0, 100, 40), rng.choice(["a", "b"], 40))
    for more in ({}, {"protocol": "published"}, {"seed": 1}):
        how = {"repeats": 2, "test_share": 0.3, **more}
        assert len(misclassification(synthetic.head(9), synthetic, SCHEMA, OLD, **how)) == 2
    known = [part[0] for part in parts]
    assert [len(part) for part in known] == [28] * 6
    assert [len(part[1]) for part in parts] == [9, 9, 12, 12, 9, 9]
    expected = SCHEMA.encode(synthetic)
    expected[:, 0] = OLD.label_rows(synthetic)
    for repeat in (0, 1):
        assert (known[repeat] == known[2 + repeat]).all()
        assert (known[repeat] != known[4 + repeat]).any()
        whole = np.concatenate(parts[2 + repeat])  # what is learned from and asked about make the release
        assert sorted(map(tuple, whole)) == sorted(map(tuple, expected))
    assert (known[0] != known[1]).any()
    both = misclassification(synthetic.head(9), synthetic, SCHEMA, OLD, protocol="both", repeats=2)
    each = [
        misclassification(synthetic.head(9), synthetic, SCHEMA, OLD, protocol=p, repeats=2) for p in learners.PROTOCOLS
    ]
    assert (both == pd.concat(each[:2]).sort_values("repeat", kind="stable", ignore_index=True)).all(axis=None)


def test_adult_is_learned_as_well_from_its_own_rows_as_the_ceiling_says(adult):
    label = Label(column="income", equals=">50K")
    result = evaluate.misclassification(adult.test, adult.train, adult.schema, label, repeats=1)
    assert result["error"].item() == pytest.approx(0.146, abs=0.005)
    assert result["majority_error"].item() == pytest.approx((adult.test["income"] == ">50K").mean())
