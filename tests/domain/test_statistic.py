"""Statistics as text, and the public groups that they are computed in."""

import numpy as np
import pytest
from tables import SMALL

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.statistic import Condition, RowGroups, Statistic
from dpcore.errors import ParameterError

FORMS = (
    "count",
    "count persons",
    "count by ill where grade = low or mid",
    'share of "a.b[0]:Q" = <b>z</b> by ill and grade',
    "histogram of grade weight 2",
    "mean of age where height >= 0.7 and ill = yes",
    "quantiles 0.1 0.9 of age by ill",
    "difference of age between ill = yes and ill = no where age < 50",
    "slope of height on age",
)


@pytest.mark.parametrize("text", FORMS)
def test_text_of_a_statistic_is_read_as_the_same_statistic(text):
    once = Statistic.parse(text)
    assert Statistic.parse(str(once)) == once


def test_special_words_and_signs_are_quoted():
    for label in ("<5", ">=65", "<= 3", 'say "hi"', "a or b", "by", "=", ""):
        share = Statistic("share", cases=(Condition('6" of', "=", (label,)),))
        assert Statistic.parse(str(share)) == share
    one = Statistic(
        "mean", ("by",), ("of and",), (Condition("x = y", "=", ("<=50K", ">50K", "a  b", "where", '"a" b')),)
    )
    assert Statistic.parse(str(one)) == one
    assert Statistic.parse("share of income = <=50K or >50K").cases == (Condition("income", "=", ("<=50K", ">50K")),)
    assert Statistic.parse("median of hours per week") == Statistic("quantiles", ("hours per week",), ranks=(0.5,))


def test_the_word_of_may_be_left_out():
    for text in ("mean of age by ill", "quantiles .1 .9 of age", "share of ill = yes", "slope of age on height"):
        assert Statistic.parse(text.replace(" of", "")) == Statistic.parse(text)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "does not begin with"),
        ("average of age", "does not begin with"),
        ("mean", "lacks what follows 'of'"),
        ("mean of age by", "lacks what follows 'by'"),
        ("share of ill", "lacks a column, a sign"),
        ("quantiles 0 1 of age", "needs 1 to 15 ranks"),
        ("quantiles half of age", "misplaced 'half'"),
        ("slope of age", "lacks what follows 'on'"),
        ("difference of age between ill = yes", "two for a difference"),
        ("count by ill by grade", "'by' twice"),
        ('mean of "age', "stray character"),
        ("mean of weight", "lacks what follows 'of'"),
        ("mean of hight", "no column 'hight'"),
        ("mean of grade", "no plain numbers"),
        ("share of ill = perhaps", "'perhaps' is not a declared value"),
        ("count where age >= 200", "on both sides of '200'"),
        ("count where ill >= 1", "on both sides of '1'"),
        ("difference of age between ill = yes and ill = yes", "overlap"),
        ("count persons", "counts all persons"),
        ("count weight 0", "from 1e-6 to 1e6"),
        ("slope of age on one", "no column"),
    ],
)
def test_an_unusable_statistic_is_refused_with_a_reason(text, cause):
    with pytest.raises(ParameterError, match=cause):
        Statistic.parse(text).check(SMALL)


def test_groups_number_each_combination_and_then_all_rows_outside():
    groups = RowGroups(SMALL, Statistic.parse("count by ill and grade where age >= 30 and age < 60"))
    assert groups.labels[:2] == ["ill no, grade low", "ill no, grade mid"]
    assert groups.size == 7
    assert [*groups.limits.values()] == [("age", (30.0, 60.0))]
    at = groups.sources.index(next(iter(groups.limits)))
    inside = np.moveaxis(groups.rule, at, 0)
    assert (inside[[0, 2, 3]] == 6).all()  # below, above, missing
    assert sorted(inside[1].ravel()) == [0, 1, 2, 3, 4, 5]


def test_a_statistic_with_too_many_groups_or_answers_is_refused():
    many = Column("zip", "categorical", categories=tuple(map(str, range(1_000))))
    schema = Schema(columns=(many, *SMALL.columns))
    Statistic.parse("count by zip").check(schema)
    for text, cause in (
        ("count by zip and grade", "3,000 groups"),
        ("histogram of zip by age and ill", "20,000 answers"),
    ):
        with pytest.raises(ParameterError, match=cause):
            Statistic.parse(text).check(schema)


def test_a_share_has_the_value_and_the_others_as_cases():
    groups = RowGroups(SMALL, Statistic.parse("share of grade = low or high by ill"))
    assert groups.sources == ("ill", "grade")
    assert groups.rule.tolist() == [[0, 1, 0], [2, 3, 2]]
    assert groups.size == 4
