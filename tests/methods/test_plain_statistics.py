"""Plain statistics: values, intervals, groups, persons, folders, and shared measurements."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import tables
import variants
from sources import Tape
from tables import make_frame

import dpcore as dp
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import DataError, ParameterError
from dpcore.methods.statistics import PlainStatistics, middle_first
from dpcore.rows.writing import encode_folder

SMALL = replace(tables.SMALL, max_rows=10_000)
FRAME = make_frame(4_000, 3).assign(height=lambda frame: frame["height"].round(3))
LINES = (
    "count by ill",
    "share of grade = low by ill",
    "histogram of grade",
    "mean of age by ill where height >= 0.7",
    "sum of height",
    "variance of age",
    "quartiles of height by ill",
    "difference of age between ill = yes and ill = no",
    "slope of age on height",
)
QUERIES = "\n".join(LINES)
SURE = 1e4  # epsilon at which the noise is small


def release(frame=FRAME, schema=SMALL, queries=QUERIES, **how):
    return PlainStatistics(**{"queries": queries, "random_state": 1, "epsilon": 1.0} | how).fit(frame, schema=schema)


def by_hand(line, frame):
    """Return the noiseless answers of one of `LINES`, in order."""
    ill = [frame[frame["ill"] == own] for own in ("no", "yes")]
    high = [own[own["height"] >= 0.7] for own in ill]
    return {
        "count": lambda: [*map(len, ill)],
        "share": lambda: [(own["grade"] == "low").mean() for own in ill],
        "histogram": lambda: [(frame["grade"] == own).sum() for own in ("low", "mid", "high")],
        "mean": lambda: [own["age"].mean() for own in high],
        "sum": lambda: [frame["height"].sum()],
        "variance": lambda: [frame["age"].var(ddof=0)],
        "quartiles": lambda: [np.quantile(own["height"], p) for own in ill for p in (0.25, 0.5, 0.75)],
        "difference": lambda: [ill[1]["age"].mean() - ill[0]["age"].mean()],
        "slope": lambda: [np.polyfit(frame["height"], frame["age"], 1)[0]],
    }[line.split()[0]]()


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_with_a_large_epsilon_the_answers_are_those_of_the_rows(relation):
    answers = release(epsilon=SURE, relation=relation).answers()
    expected = [value for line in LINES for value in by_hand(line, FRAME)]
    np.testing.assert_allclose(answers["value"], expected, rtol=2e-3, atol=2e-3)
    assert answers["statistic"].unique().tolist() == [
        line.replace("quartiles", "quantiles 0.25 0.5 0.75") for line in LINES
    ]
    assert (answers["noise_high"] - answers["noise_low"] < 0.02 * answers["value"].abs() + 0.1).all()
    assert not answers["too_few"].any()


@pytest.mark.parametrize("how", [{}, {"relation": "replace"}, {"delta": 1e-6}], ids=str)
def test_all_statistics_together_cost_epsilon(how):
    ledger = release(**how).ledger_
    assert 0.99 < ledger.epsilon_nominal <= 1
    # the difference and the count have measurements of their own; the shares of one column in the same groups do not
    again = release(queries=QUERIES + "\nsum of height\nvariance of height", **how).ledger_
    assert len(again.entries) == len(ledger.entries)


SHARED = ("count by ill", "count where ill = no", "share of ill = no", "mean of age by ill")
SHARED = (*SHARED, "mean of age where ill = no", "difference of age between ill = no and ill = yes")
SHARED = (*SHARED, "median of age by ill", "median of age where ill = no")


@pytest.mark.parametrize("first", SHARED)
def test_statistics_that_share_a_measurement_answer_as_alone(first):
    for second in SHARED:
        both = release(queries=f"{first}\n{second}", epsilon=SURE).answers()
        for line in {first, second}:
            alone = release(queries=line, epsilon=SURE).answers()
            own = both[both["statistic"] == alone["statistic"][0]].head(len(alone)).reset_index(drop=True)
            assert own[["group", "of", "unit"]].equals(alone[["group", "of", "unit"]]), (first, second)
            np.testing.assert_allclose(own["value"], alone["value"], rtol=0.01)


def test_a_weight_gives_a_statistic_more_of_the_budget():
    entries = release(queries="count by ill\ncount by grade weight 3").ledger_.entries
    assert [float(entry.epsilon_nominal) for entry in entries] == [0.25, 0.75]


def test_every_declared_group_is_answered_whether_or_not_a_row_is_in_it():
    """Neighbors that differ by the only row of a group have answers of the same shape."""
    alone = FRAME[FRAME["a.b[0]:Q"] != "x"].head(300)
    with_x = pd.concat([alone, FRAME[FRAME["a.b[0]:Q"] == "x"].head(1)])
    queries = 'count by "a.b[0]:Q"\nmean of age by "a.b[0]:Q" and grade\nmedian of age by "a.b[0]:Q"'
    found = [release(frame, queries=queries).answers() for frame in (alone, with_x)]
    assert found[0][["statistic", "group", "of"]].equals(found[1][["statistic", "group", "of"]])
    assert len(found[0]) == 4 + 12 + 4
    for seed in range(9):  # whatever the noise on an empty group
        assert len(release(alone, queries="count by grade where age >= 99", random_state=seed).answers()) == 3


def test_small_groups_have_no_value_and_no_misleading_interval():
    rare = FRAME[(FRAME["grade"] != "high") | (FRAME.index < 3)]
    answers = release(rare, queries="count by grade\nmean of age by grade\nmedian of age by grade").answers()
    few = answers[answers["group"] == "grade high"]
    assert few["too_few"].all()
    assert few["value"].isna().all()
    assert few[["noise_low", "noise_high"]].to_numpy()[1:].tolist() == [[0, 99], [0, 99]]
    assert not answers[answers["group"] != "grade high"]["too_few"].any()


def test_the_interval_of_both_errors_holds_the_noise_and_sampling():
    answers = release(queries="mean of age\nshare of ill = yes\nsum of height", epsilon=0.1).answers()
    half = {own: (answers[f"{own}high"] - answers[f"{own}low"]) / 2 for own in ("noise_", "sampling_", "")}
    np.testing.assert_allclose(half[""], np.hypot(half["noise_"], half["sampling_"]), rtol=0.1)


@pytest.mark.parametrize("how", [{}, {"relation": "replace"}, {"noise": "geometric"}], ids=str)
def test_intervals_of_small_shares_and_counts_hold_the_truth(how):
    """As often as they should, in 200 runs of each: see `benchmarks.intervals` for all kinds."""
    rare = FRAME.head(1_000).assign(ill=np.where(np.arange(1_000) < 8, "yes", "no"))
    inside = []
    for seed in range(200):
        answers = release(
            rare, queries="share of ill = yes\ncount by ill", epsilon=0.4, random_state=seed, **how
        ).answers()
        truth = np.array([0.008, 992, 8])
        inside.append((answers["noise_low"] <= truth + 1e-9) & (truth <= answers["noise_high"] + 1e-9))
    assert np.mean(inside, axis=0).min() > 0.82


def test_rows_and_persons_are_counted_apart():
    schema = replace(SMALL, unit=PrivacyUnit(max_contributions=3, id_column="who"))
    frame = FRAME.head(3_000).assign(who=np.arange(3_000) // 3)
    found = release(frame, schema, "count persons\ncount\nmean of age", epsilon=SURE).answers()
    assert found["unit"].tolist() == ["persons", "rows", "age"]
    np.testing.assert_allclose(found["value"], [1_000, 3_000, frame["age"].mean()], rtol=1e-3)
    small = release(frame, schema, "count persons\ncount")
    assert small.ledger_.epsilon_nominal == 1
    noise = [own["noise_high"] - own["noise_low"] for _, own in small.answers().iterrows()]
    assert noise[0] < noise[1] / 2  # a person changes the number of persons by one, that of rows by three
    one, three = (release(frame, own, "mean of age", epsilon=SURE).answers() for own in (SMALL, schema))
    width = [float((own["sampling_high"] - own["sampling_low"]).iloc[0]) for own in (one, three)]
    assert width[1] == pytest.approx(3**0.5 * width[0], rel=0.01)  # a person's rows may be alike
    each = release(frame, schema, "count by ill\nsum of age", relation="replace", epsilon=SURE).answers()
    assert each["unit"].tolist() == ["persons", "persons", "age"]
    persons = frame.groupby("ill").size() / 3  # a person with rows in both groups is in each in part
    np.testing.assert_allclose(each["value"], [*persons[["no", "yes"]], frame["age"].sum() / 3], rtol=1e-3)
    public = release(frame, schema, "count persons", relation="replace").answers()
    assert not release(frame, schema, "count\ncount persons", relation="replace").ledger_.entries
    assert public[["value", "noise_low", "noise_high"]].to_numpy().tolist() == [[1_000, 1_000, 1_000]]


def test_a_folder_gives_the_same_answers_as_its_rows(tmp_path):
    encode_folder(FRAME, tmp_path / "rows", schema=SMALL)
    for queries in (QUERIES, "count where age < 35"):
        found = [release(source, queries=queries, noise="laplace").answers() for source in (FRAME, tmp_path / "rows")]
        pd.testing.assert_frame_equal(*found)
    encode_folder(FRAME, tmp_path / "codes", schema=SMALL, numbers=False)
    with pytest.raises(DataError, match="lacks numbers"):
        release(tmp_path / "codes")
    assert len(release(tmp_path / "codes", queries="count by ill").answers()) == 2


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_answers_depend_on_the_doors_answers_only(relation, monkeypatch):
    tape, rows = Tape(monkeypatch), 90 if relation == "replace" else 37
    first = release(FRAME.head(90), relation=relation)
    tape.replaying = True
    second = release(FRAME.tail(rows), relation=relation)
    assert variants.alike(variants.fitted_state(first), variants.fitted_state(second))
    pd.testing.assert_frame_equal(first.answers(), second.answers())


def test_a_forecast_is_near_the_widths_of_the_release():
    method = PlainStatistics(queries="mean of age by ill\nshare of ill = yes\ncount by ill", epsilon=1.0)
    forecast = method.forecast(SMALL, 4_000)
    answers = method.fit(FRAME, schema=SMALL).answers()
    ratio = forecast["noise"] / ((answers["noise_high"] - answers["noise_low"]) / 2)
    assert ratio.between(0.4, 2.5).all()
    assert forecast[["statistic", "group", "of"]].equals(answers[["statistic", "group", "of"]])


def test_a_request_collects_statistics_and_answers_them_once():
    request = dp.ask(FRAME, "mean of age", schema=SMALL, epsilon=2.0, random_state=1).count(by="ill")
    request.share("ill", "yes", where={"grade": ["low", "mid"]}).quantiles("age", [0.5]).histogram("ill")
    request.sum("age").variance("age").slope("age", "height").difference("age", {"ill": "yes"}, {"ill": "no"})
    answers = request.answers()
    assert request.answers().equals(answers)
    assert request.release().ledger_.epsilon_nominal == 2
    assert answers["statistic"].iloc[3] == "share of ill = yes where grade = low or mid"
    with pytest.raises(ParameterError, match="answered already"):
        request.count()
    with pytest.raises(ParameterError, match="no column"):
        dp.ask(FRAME, schema=SMALL).mean("wages")


def test_middle_ranks_come_first():
    assert middle_first(3) == [1, 0, 1]
    assert max(middle_first(15)) == 3
