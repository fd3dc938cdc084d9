"""Attributes inferred from a release: hand-worked tables, brute force, and methods whose risk is known exactly."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.accounting.relation import Relation
from dpcore.accounting.tally import EPSILONS
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError, SchemaError
from dpcore.evaluate import disclosure
from dpcore.evaluate.disclosure import correct
from dpcore.methods import NaiveBayesSynthesizer
from dpcore.methods.base import Synthesizer
from dpcore.methods.parameters import number, text


def schema_of(*sizes):
    return Schema(
        columns=tuple(
            Column(name=f"x{j}", kind="categorical", categories=tuple(f"v{i}" for i in range(size)))
            for j, size in enumerate(sizes)
        )
    )


def frame_of(schema, codes):
    codes = np.asarray(codes, dtype=np.uint8).reshape(-1, len(schema))
    return schema.decode(codes, np.random.default_rng(0))


def random_frame(rng, schema, n):
    return frame_of(schema, rng.integers(0, schema.sizes, size=(n, len(schema))))


class Copies(Synthesizer):
    """Releases its rows, each sensitive (last, binary) cell kept with probability `keep`."""

    title = "Copies"
    paper = "none"
    seen = []  # noqa: RUF012
    mode: str = text(default="paper", about="The only one.")
    relation: str = text(default="replace", about="Either.")
    noise: str = text(default="laplace", about="None is drawn.")
    keep: float = number(default=1.0, most=1, about="How probably a sensitive cell is kept.")

    def _fit(self, table, progress):
        self.rows_ = table.unprotected("a test", claimed_epsilon=self.epsilon)
        Copies.seen.append((self.rows_.copy(), self.random_state))
        flipped = np.random.default_rng(self.random_state).random(len(self.rows_)) >= self.keep
        self.rows_[:, -1] ^= flipped.astype(self.rows_.dtype)

    def _sample(self, n, rng):
        return self.rows_ if n is None else self.rows_[:n]


class Silence(Copies):
    """Releases one row that has nothing to do with the data, at no cost."""

    def _fit(self, table, progress):
        self.rows_ = np.zeros((1, len(table.schema)), dtype=np.uint8)


@pytest.fixture
def seen():
    Copies.seen.clear()
    return Copies.seen


# ---- correct attribution


def test_cap_by_hand():
    schema = schema_of(3, 2, 2)
    synthetic = frame_of(schema, [[0, 0, 1]] * 4 + [[0, 0, 0]] + [[1, 0, 1], [1, 0, 0]] + [[1, 1, 1]])
    targets = frame_of(schema, [[0, 0, 1], [0, 0, 0], [1, 0, 1], [1, 1, 1], [2, 0, 1]])
    # matches carry the true value in 4/5, 1/5, 1/2, 1/1 of the cases; the last target has no match
    assert disclosure.cap(targets, synthetic, schema, "x2", ["x0", "x1"]) == 2 / 5
    assert disclosure.cap(targets, synthetic, schema, "x2", ["x0", "x1"], tau=0.81) == 1 / 5
    assert disclosure.cap(targets, synthetic, schema, "x2", ["x0", "x1"], tau=0.5) == 3 / 5
    assert disclosure.cap(targets, synthetic, schema, "x2", ["x0", "x1"], tau=0.01) == 4 / 5
    # by x1 alone: x1 = 0 holds 5 of 7 times the value 1
    assert disclosure.cap(targets, synthetic, schema, "x2", ["x1"], tau=0.7) == 4 / 5


def test_the_threshold_is_reached_exactly():
    schema = schema_of(2, 2)
    targets = frame_of(schema, [[0, 1]])
    synthetic = frame_of(schema, [[0, 1]] * 7 + [[0, 0]] * 18)
    assert 0.28 * 25 > 7  # in floating point
    assert disclosure.cap(targets, synthetic, schema, "x1", ["x0"], tau=0.28) == 1


def brute_force_cap(targets, synthetic, sensitive, known, tau):
    hits = 0
    for _, target in targets.iterrows():
        matches = synthetic[(synthetic[known] == target[known]).all(axis=1)]
        hits += len(matches) > 0 and (matches[sensitive] == target[sensitive]).mean() >= tau
    return hits / len(targets)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 30), st.sampled_from([0.2, 0.5, 0.8, 1.0]))
def test_cap_equals_brute_force(seed, n, m, tau):
    rng = np.random.default_rng(seed)
    schema = schema_of(3, 2, 4, 2)
    targets, synthetic = (random_frame(rng, schema, rows).astype(str) for rows in (n, m))
    for known in (["x0"], ["x2", "x0"], ["x0", "x1", "x2"]):
        expected = brute_force_cap(targets, synthetic, "x3", known, tau)
        assert disclosure.cap(targets, synthetic, schema, "x3", known, tau=tau) == pytest.approx(expected)


def test_many_wide_columns_do_not_overflow():
    schema = schema_of(*[200] * 12)  # 4e27 cells
    frame = random_frame(np.random.default_rng(0), schema, 30)
    assert disclosure.cap(frame, frame, schema, "x0", schema.names[1:]) == 1
    assert disclosure.advantage(frame, frame, schema, "x0", attack="match") == 1


def test_numbers_match_by_bins_and_other_columns_are_not_read():
    schema = Schema(
        columns=(
            Column(name="age", kind="integer", lower=0, upper=99, bins=2),
            Column(name="ill", kind="categorical", categories=("no", "yes"), missing=True),
            Column(name="more", kind="categorical", categories=("a",)),
        )
    )
    targets = pd.DataFrame({"age": [3, 70, 20], "ill": ["yes", None, "no"]})
    synthetic = pd.DataFrame({"age": [49, 99], "ill": ["yes", None]})
    assert disclosure.cap(targets, synthetic, schema, "ill", ["age"]) == pytest.approx(2 / 3)


def test_impossible_questions_are_refused():
    schema = schema_of(2, 2)
    full, empty = frame_of(schema, [[0, 0]]), frame_of(schema, [])
    for known in ([], ["x1"], ["x0", "x0"]):
        with pytest.raises(ParameterError):
            disclosure.cap(full, full, schema, "x1", known)
    for tau in (0, 1.01, math.nan):
        with pytest.raises(ParameterError, match="tau"):
            disclosure.cap(full, full, schema, "x1", ["x0"], tau=tau)
    with pytest.raises(SchemaError):
        disclosure.cap(full, full, schema, "x1", ["nowhere"])
    with pytest.raises(ParameterError, match="guess"):
        disclosure.advantage(full, full, schema, "x1", attack="guess")
    with pytest.raises(ParameterError, match="knows nothing"):
        disclosure.advantage(full, full, schema.select(["x1"]), "x1")
    for pair in ((full, empty), (empty, full)):
        with pytest.raises(DataError, match="no rows"):
            disclosure.cap(*pair, schema, "x1", ["x0"])
        with pytest.raises(DataError, match="no rows"):
            disclosure.advantage(*pair, schema, "x1")


# ---- the advantage of an attack


def test_advantage_by_hand():
    schema = schema_of(3, 2)
    synthetic = frame_of(schema, [[0, 1], [0, 1], [0, 0], [1, 0], [1, 1], [1, 1]])
    targets = frame_of(schema, [[0, 1], [0, 1], [1, 1], [1, 0], [2, 1]])
    # the answers are 1, 1, 1, 1 and, without a match, that of all rows: 1. Right 4 of 5, as is the constant answer
    assert disclosure.advantage(targets, synthetic, schema, "x1", attack="match") == 0
    sure = frame_of(schema, [[0, 1], [1, 0], [2, 1]])  # right about 1, 1, not 1, 0, 1: 4 of 5
    assert disclosure.advantage(targets, sure, schema, "x1", attack="match") == pytest.approx(0)
    worse = frame_of(schema, [[0, 0], [1, 0], [2, 1]])  # right about the last two
    assert disclosure.advantage(targets, worse, schema, "x1", attack="match") == pytest.approx((0.4 - 0.8) / 0.2)
    perfect = frame_of(schema, [[0, 1], [1, 1], [2, 1]])
    assert disclosure.advantage(frame_of(schema, [[0, 1], [1, 0]]), perfect, schema, "x1", attack="match") == 0
    assert math.isnan(disclosure.advantage(targets.head(2), synthetic, schema, "x1"))


def test_ties_of_the_matching_attack_go_to_the_first_in_the_schema():
    schema = schema_of(2, 3)
    synthetic = frame_of(schema, [[0, 2], [0, 1], [0, 2], [0, 1], [0, 0]])
    targets = frame_of(schema, [[0, 1], [0, 1], [0, 2], [0, 0]])
    assert disclosure.advantage(targets, synthetic, schema, "x1", attack="match") == 0  # 1 is answered; right 2 of 4
    unmatched = frame_of(schema, [[1, 1], [1, 1], [1, 2], [1, 0]])
    assert disclosure.advantage(unmatched, synthetic, schema, "x1", attack="match") == 0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_the_matching_attack_equals_brute_force(seed):
    rng = np.random.default_rng(seed)
    schema = schema_of(3, 2, 3)
    targets, synthetic = (random_frame(rng, schema, n).astype(str) for n in (20, 15))
    right = 0
    for _, target in targets.iterrows():
        matches = synthetic[(synthetic[["x0", "x1"]] == target[["x0", "x1"]]).all(axis=1)]
        pool = matches if len(matches) else synthetic
        right += min(pool["x2"].mode()) == target["x2"]
    majority = targets["x2"].value_counts(normalize=True).max()
    expected = (right / 20 - majority) / (1 - majority)
    assert disclosure.advantage(targets, synthetic, schema, "x2", attack="match") == pytest.approx(expected)


@pytest.mark.parametrize("attack", disclosure.ATTACKS)
def test_attacks_learn_what_is_there_and_see_the_named_columns_only(attack):
    rng = np.random.default_rng(1)
    schema = schema_of(2, 3, 2)
    codes = [rng.integers(0, schema.sizes, size=(n, 3)) for n in (300, 400)]
    for table in codes:
        table[:, 2] = table[:, 0]
    targets, synthetic = (frame_of(schema, table) for table in codes)
    assert disclosure.advantage(targets, synthetic, schema, "x2", attack=attack) == 1
    assert disclosure.advantage(targets, synthetic, schema, "x2", ["x1"], attack=attack) < 0.3
    flipped = targets.assign(x2=targets["x2"].astype(str).replace({"v0": "v1", "v1": "v0"}))
    right, wrong = (correct(t, synthetic, schema, "x2", ["x1"], attack, 0) for t in (targets, flipped))
    assert (right != wrong).all()  # the answers do not hang on the targets' own values


# ---- in and out


def rows_in_and_out(m=40, odd="v1"):
    """A crowd with the value v0, and 2m targets of whom no two know each other's columns, with the value `odd`."""
    schema = schema_of(200, 2)
    crowd = frame_of(schema, [[199, 0]] * 300)
    targets = frame_of(schema, [[i, 1] for i in range(2 * m)]).assign(x1=odd)
    return crowd, targets, schema


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
def test_a_release_of_the_rows_themselves_has_advantage_one(relation):
    crowd, targets, schema = rows_in_and_out()
    result = disclosure.in_out_advantage(Copies(relation=relation), crowd, targets, schema, "x1", fits=4)
    assert len(result) == 1
    found = result.iloc[0]
    assert (found["correct_in"], found["correct_out"], found["advantage"]) == (1, 0, 1)
    assert (found["low"], found["high"]) == (1, 1)
    assert (found["epsilon_of_noise"], found["bound"]) == (math.inf, 1)
    assert (found["targets"], found["fits"], found["attack"], found["note"]) == (80, 4, "match", "")


def test_what_the_crowd_tells_is_no_advantage():
    crowd, targets, schema = rows_in_and_out(odd="v0")  # right about everybody, in or out
    found = disclosure.in_out_advantage(Copies(), crowd, targets, schema, "x1", fits=4).iloc[0]
    assert (found["correct_in"], found["correct_out"], found["advantage"]) == (1, 1, 0)
    half = targets.assign(x1=["v0"] * 40 + ["v1"] * 40)
    found = disclosure.in_out_advantage(Copies(), crowd, half, schema, "x1", fits=4).iloc[0]
    assert (found["correct_in"], found["correct_out"], found["advantage"]) == (1, 0.5, 0.5)


def test_a_release_that_knows_nothing_has_advantage_zero():
    crowd, targets, schema = rows_in_and_out()
    found = disclosure.in_out_advantage(Silence(mode="corrected"), crowd, targets, schema, "x1", fits=4).iloc[0]
    assert (found["advantage"], found["low"], found["high"], found["bound"]) == (0, 0, 0, 0)


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
def test_the_interval_covers_an_advantage_that_is_known(relation):
    """Kept with probability 3/4: right about three quarters of those in, about nobody who is out."""
    crowd, targets, schema = rows_in_and_out()
    covered = []
    for seed in range(20):
        method = Copies(keep=0.75, random_state=1_000 * seed, relation=relation)
        found = disclosure.in_out_advantage(
            method, crowd, targets, schema, "x1", fits=10, confidence=0.9, seed=seed
        ).iloc[0]
        covered.append(found["low"] <= 0.75 <= found["high"])
        assert found["high"] - found["low"] < 0.15
        assert "known seed" in found["note"]
    assert sum(covered) >= 14  # of 20 at 9 in 10: fewer with probability 1 in 400


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
def test_everybody_is_in_once_and_out_once_in_two_fits(relation, seen):
    crowd, targets, schema = rows_in_and_out(m=10)
    disclosure.in_out_advantage(Copies(relation=relation, random_state=5), crowd, targets, schema, "x1", fits=6)
    assert [state for _, state in seen] == [5, 6, 7, 8, 9, 10]
    present = [set(rows[rows[:, 0] < 199, 0].tolist()) for rows, _ in seen]
    assert all((rows[:, 0] == 199).sum() == 300 for rows, _ in seen)
    for one, other in zip(present[::2], present[1::2], strict=True):
        assert one | other == set(range(20))
        assert not one & other
    assert len({frozenset(people) for people in present}) == 6
    if relation == "replace":  # of each pair one is in, so the number of rows is public
        assert all((k in people) != (10 + k in people) for people in present for k in range(10))
    else:
        assert len({len(people) for people in present}) > 1


def test_a_private_method_stays_below_its_bound(small_frame, small_schema):
    method = NaiveBayesSynthesizer(x_source="model", epsilon=1.0)
    crowd, targets = small_frame.iloc[:500], small_frame.iloc[500:]
    for relation in Relation:
        method.set_params(relation=str(relation))
        found = disclosure.in_out_advantage(method, crowd, targets, small_schema, "ill", fits=4, rows=300).iloc[0]
        assert found["epsilon_of_noise"] == 1
        assert found["bound"] == pytest.approx((math.e - 1) / (math.e + 1))
        assert found["advantage"] < found["bound"]
        assert found["note"] == ""
        assert found["low"] <= found["advantage"] <= found["high"]
    inferred = dataclasses.replace(small_schema, source="inferred")
    found = disclosure.in_out_advantage(method, crowd, targets, inferred, "ill", ["grade"], fits=4, attack="Bayes net")
    assert "void" in found["note"].item()


@pytest.mark.parametrize("options", [{"fits": 2}, {"fits": 5}, {"confidence": 1}, {"confidence": 0}])
def test_impossible_designs_are_refused(options):
    crowd, targets, schema = rows_in_and_out(m=2)
    with pytest.raises(ParameterError, match="twos"):
        disclosure.in_out_advantage(Copies(), crowd, targets, schema, "x1", **options)
    with pytest.raises(ParameterError, match="twos"):
        disclosure.in_out_advantage(Copies(), crowd, targets.head(3), schema, "x1", fits=4)
    with pytest.raises(DataError, match="no rows"):
        disclosure.in_out_advantage(Copies(), crowd, targets.head(0), schema, "x1", fits=4)


# ---- random rows, and risk against rows


def test_padding_keeps_the_rows_and_fills_up_uniformly(small_frame, small_schema):
    rng = np.random.default_rng(0)
    extra = small_frame.assign(more=1)
    result = disclosure.padded(extra, small_schema, 20_600, rng)
    assert result.columns.tolist() == list(small_schema.names)
    pd.testing.assert_frame_equal(result.head(600).astype(small_frame.dtypes), small_frame, check_index_type=False)
    codes = small_schema.encode(result)[600:]
    for j, size in enumerate(small_schema.sizes):
        shares = np.bincount(codes[:, j], minlength=size) / 20_000
        np.testing.assert_allclose(shares, 1 / size, atol=0.016)
    assert abs(np.corrcoef(codes[:, 0], codes[:, 4])[0, 1]) < 0.03
    same = disclosure.padded(small_frame, small_schema, 600, rng)
    assert (small_schema.encode(same) == small_schema.encode(small_frame)).all()
    with pytest.raises(ParameterError, match="more rows"):
        disclosure.padded(small_frame, small_schema, 599, rng)
    with pytest.raises(DataError):
        disclosure.padded(small_frame.drop(columns="age"), small_schema, 700, rng)


def test_risk_by_rows_is_what_direct_calls_give(seen):
    rng = np.random.default_rng(0)
    schema = schema_of(4, 3, 2)
    frame, targets = random_frame(rng, schema, 60), random_frame(rng, schema, 25)
    args = targets, schema, "x2", ["x0", "x1"]
    result = disclosure.risk_by_rows(Copies(random_state=3), frame, *args, [10, 60], repeats=2, tau=0.6, attack="match")
    assert result.columns.tolist() == ["rows", "repeat", "metric", "value", *EPSILONS, "void"]
    assert result["rows"].tolist() == [10, 10, 60, 60] * 2
    assert result["repeat"].tolist() == [0] * 4 + [1] * 4
    assert result["metric"].tolist() == ["CAP", "advantage"] * 4
    assert (result["epsilon_of_noise"] == math.inf).all()
    assert (result["epsilon_claimed"] == 1).all()
    assert [state for _, state in seen] == [3, 3, 4, 4]
    assert [len(rows) for rows, _ in seen] == [10, 60] * 2
    for small, large in ((seen[0], seen[1]), (seen[2], seen[3])):
        assert (small[0] == large[0][:10]).all()
        assert sorted(map(tuple, large[0])) == sorted(map(tuple, schema.encode(frame)))
    assert (seen[1][0] != seen[3][0]).any()
    whole = result[(result["rows"] == 60) & (result["repeat"] == 1)].set_index("metric")["value"]
    assert whole["CAP"] == disclosure.cap(targets, frame, *args[1:], tau=0.6)
    assert whole["advantage"] == disclosure.advantage(targets, frame, *args[1:], attack="match")
    for wrong in ({"sizes": []}, {"sizes": [61]}, {"sizes": [0]}, {"sizes": [5], "repeats": 0}):
        with pytest.raises(ParameterError):
            disclosure.risk_by_rows(Copies(), frame, *args, **wrong)


def test_padding_lowers_the_risk_of_a_release_of_the_rows(small_frame, small_schema):
    rng = np.random.default_rng(0)
    mixed = disclosure.padded(small_frame, small_schema, 6_000, rng)
    args = small_frame, small_schema, "ill", ["a.b[0]:Q", "grade", "age"]
    plain = disclosure.risk_by_rows(Copies(), small_frame, *args, [600]).set_index("metric")["value"]
    diluted = disclosure.risk_by_rows(Copies(), mixed, *args, [6_000]).set_index("metric")["value"]
    assert plain["CAP"] > diluted["CAP"] + 0.2


def test_progress_rises_to_one_and_cancels():
    crowd, targets, schema = rows_in_and_out(m=2)
    calls = [
        lambda progress: disclosure.in_out_advantage(Copies(), crowd, targets, schema, "x1", fits=4, progress=progress),
        lambda progress: disclosure.risk_by_rows(
            Copies(), crowd, targets, schema, "x1", ["x0"], [5, 6], repeats=2, progress=progress
        ),
    ]

    def cancel(fraction, text):
        raise KeyboardInterrupt

    for call in calls:
        seen = []
        call(lambda fraction, _, seen=seen: seen.append(fraction))
        assert seen == [0, 0.25, 0.5, 0.75, 1]
        with pytest.raises(KeyboardInterrupt):
            call(cancel)
