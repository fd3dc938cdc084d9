"""fit checks parameters, encodes rows, opens the door, and no more, as scikit-learn wants it; dates and money stay."""

import dataclasses
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted
from tables import categorical

import dpcore.methods.base
from dpcore.accounting.ledger import Ledger
from dpcore.arguments import no_progress
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import BudgetError, ParameterError
from dpcore.export.artifacts import Model
from dpcore.export.release import make_release
from dpcore.mechanisms.noise import generator
from dpcore.methods import METHODS, DiffPRFs
from dpcore.methods.base import Synthesizer
from dpcore.methods.parameters import choice, text
from dpcore.postprocess.forest_frames import branch_texts


class Marginals(Synthesizer):
    """The smallest possible method: a noisy histogram per column, and independent columns."""

    title = "Marginals"
    paper = "none"

    greedy: str = choice(default="no", options=("no", "yes"))
    noise: str = text(default="laplace")

    def _fit(self, table, progress):
        self.seen_ = type(table), progress
        spent = 2 * self.epsilon if self.greedy == "yes" else self.epsilon
        answers = table.counts([(name,) for name in table.schema.names], epsilon=spent)
        self.marginals_ = [np.maximum(answer, 0) + 1e-9 for answer in answers]

    def _sample(self, n, rng):
        drawn = [rng.choice(len(marginal), size=n or 600, p=marginal / marginal.sum()) for marginal in self.marginals_]
        return np.array(drawn, dtype=np.uint8).T


def test_fit_encodes_opens_the_door_and_calls_fit(small_frame, small_schema, monkeypatch):
    opened = []

    class Watched(PrivateTable):
        def __init__(self, rows, schema, ledger, noise, **how):
            opened.append((rows.codes, schema, ledger, how))
            super().__init__(rows, schema, ledger, noise, **how)
            assert not rows.number_columns  # only trees cut numbers

    monkeypatch.setattr(dpcore.methods.base, "PrivateTable", Watched)
    method = Marginals(epsilon=0.75, random_state=1, relation="replace")
    assert method.fit(small_frame, schema=small_schema) is method
    codes, schema, ledger, _ = opened[0]
    np.testing.assert_array_equal(codes, small_schema.encode(small_frame))
    assert (schema, ledger) == (method.schema_, method.ledger_) == (small_schema, ledger)
    assert (ledger.plan, ledger.name, ledger.relation) == (0.75, "Marginals", "replace")
    assert method.seen_ == (Watched, no_progress)
    assert ledger.epsilon_nominal == 0.75
    paper = Marginals(mode="published").fit(small_frame, schema=small_schema)
    assert paper.ledger_.plan is None
    raw = [how["unprotected_allowed"] for *_, how in opened]
    assert raw == [False, True]  # only published mode may ask for raw rows


@pytest.mark.parametrize("noise", ["laplace", "auto"])
def test_noise_comes_from_the_seed_in_a_stream_of_its_own(noise, small_frame, small_schema):
    """With a seed the default source is NumPy's continuous noise."""
    method = Marginals(epsilon=1.0, noise=noise, random_state=5).fit(small_frame, schema=small_schema)
    rng, codes = generator(5, 0), small_schema.encode(small_frame)
    for marginal, column, size in zip(method.marginals_, codes.T, small_schema.sizes, strict=True):
        counts = np.bincount(column, minlength=size)
        np.testing.assert_allclose(marginal, np.maximum(counts + rng.laplace(0, 5.0, size), 0) + 1e-9)


def test_the_source_of_noise_is_named_and_samples_exactly_unless_a_seed_is_given(small_frame, small_schema):
    for name, exact in (("laplace", False), ("geometric", False), ("auto", True)):
        method = Marginals(noise=name).fit(small_frame.head(20), schema=small_schema)
        assert method.exactly_sampled_ is exact, name
        assert ("for teaching" in method.noise_label_) is not exact, name
        assert method.ledger_.entries[0].mechanism == ("discrete laplace" if exact else name)
    void = Marginals(noise="auto").fit(small_frame, schema=dataclasses.replace(small_schema, source="inferred"))
    assert (void.exactly_sampled_, void.ledger_.guarantee_void == "") == (True, False)  # it names the noise alone
    assert {(kind().noise, kind().random_state) for kind in METHODS.values()} == {("auto", None)}


def test_corrected_mode_cannot_spend_more_than_it_was_given(small_frame, small_schema):
    greedy, mine = Marginals(epsilon=1.0, greedy="yes"), Ledger("add_remove")
    for ledger in (None, mine):
        with pytest.raises(BudgetError, match="'Marginals'"):
            greedy.fit(small_frame, schema=small_schema, ledger=ledger)
    assert mine.epsilon_bound == 0
    # A paper may be wrong about its cost: that is what the ledger is there to show.
    published = Marginals(epsilon=1.0, greedy="yes", mode="published").fit(small_frame, schema=small_schema)
    assert (published.ledger_.epsilon_claimed, published.ledger_.epsilon_bound) == (2, 2)


def test_a_fit_that_fails_leaves_no_earlier_release_behind(small_frame, small_schema):
    method = Marginals(random_state=1).fit(small_frame, schema=small_schema)
    with pytest.raises(ParameterError):  # refused at once: the earlier release stands
        method.set_params(epsilon=-1).fit(small_frame, schema=small_schema)
    assert len(method.sample(3)) == 3
    with pytest.raises(BudgetError):  # refused on the way: no mixture of two releases
        method.set_params(epsilon=1.0, greedy="yes").fit(small_frame, schema=small_schema)
    with pytest.raises(ParameterError, match="not fitted"):
        method.sample(3)
    assert not hasattr(method, "marginals_")


class Slow(Marginals):
    def _fit(self, table, progress):
        self.marginals_ = []
        for turn in range(4):
            self.marginals_ += table.counts([("ill",)], epsilon=self.epsilon / 4)
            progress(turn / 4, "asked")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, BudgetError])
def test_a_fit_that_is_stopped_leaves_its_ledger_and_nothing_else(stop, small_frame, small_schema):
    """The noisy answers before a stop may be known, so the fit is charged for them."""
    mine = Ledger("add_remove")
    method = Slow(epsilon=1.0, random_state=1).fit(small_frame, schema=small_schema, ledger=mine)
    check_is_fitted(method)
    assert method.ledger_.status == "finished"

    def progress(fraction, text):
        if fraction > 0:
            raise stop("no more")

    with pytest.raises(stop):
        method.fit(small_frame, schema=small_schema, ledger=mine, progress=progress)
    assert [name for name in vars(method) if name.endswith("_")] == ["ledger_"]
    assert method.ledger_ is mine.children[1]
    assert (method.ledger_.status, method.ledger_.epsilon_claimed, len(method.ledger_.entries)) == ("stopped", 0.5, 2)
    assert mine.epsilon_claimed == 1.5
    with pytest.raises(NotFittedError):
        check_is_fitted(method)
    assert pickle.loads(pickle.dumps(method)).ledger_.to_json() == method.ledger_.to_json()


def test_a_fit_is_a_record_and_sampling_repeats_with_a_seed_and_costs_nothing(small_frame, small_schema):
    seeded = Marginals(random_state=1).fit(small_frame, schema=small_schema)
    spent = seeded.ledger_.to_json()
    with pytest.raises(ParameterError, match="closed"):
        seeded.fit(small_frame, schema=small_schema, ledger=seeded.ledger_)
    pd.testing.assert_frame_equal(seeded.sample(50), seeded.sample(50))
    assert seeded.ledger_.to_json() == spent
    free = Marginals().fit(small_frame, schema=small_schema)
    assert not free.sample(50).equals(free.sample(50))


def test_fit_keeps_no_row_leaves_extra_columns_alone_and_passes_progress_on(small_frame, small_schema):
    """No attribute of the estimator is the private frame, its codes, or the door."""
    given = small_frame.assign(name="secret")
    method = Marginals(random_state=0).fit(given, schema=small_schema, progress=print)
    pd.testing.assert_frame_equal(given, small_frame.assign(name="secret"))
    assert method.seen_[1] is print
    assert "name" not in method.sample(5).columns
    kept = [value for name, value in vars(method).items() if name.endswith("_") and name != "seen_"]
    assert not any(isinstance(value, pd.DataFrame | PrivateTable) for value in kept)
    assert not any(isinstance(value, np.ndarray) and len(small_frame) in value.shape for value in kept)


@pytest.mark.listed
def test_a_method_without_words_for_screens_runs_and_a_registered_one_has_them():
    assert type("Untitled", (Marginals,), {"__module__": __name__}).title == "Untitled"
    for name, kind in METHODS.items():
        for words in ("reference", "best_for", "page", "presets"):
            text = f"{name} does not say its {words}: an attribute of the class, as reference = phrase('Warner 1965')."
            assert getattr(kind, words), text


FOREST = DiffPRFs(epsilon=30.0, n_trees=2, max_depth=3, random_state=1)

X = Column(name="x", kind="continuous", lower=0, upper=1, bins=4)
ZERO_ONE = categorical({"y": "01"}, X, target="y", max_rows=500)


def test_classes_passed_apart_count_and_the_frame_stays_as_it_was(small_frame, small_schema):
    before = small_frame.copy()
    turned = np.where(small_frame["ill"] == "yes", "no", "yes")
    model = clone(FOREST).set_params(epsilon=200.0).fit(small_frame, turned, schema=small_schema)
    assert is_classifier(model)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.score(small_frame, turned) == accuracy_score(turned, model.predict(small_frame)) > 0.8
    assert model.score(small_frame) < 0.2
    pd.testing.assert_frame_equal(small_frame, before)
    odd = small_frame.set_index(np.zeros(600, dtype=int))
    y = pd.Series(turned, index=range(900, 1500))
    again = clone(FOREST).set_params(epsilon=200.0).fit(odd.drop(columns="ill"), y, schema=small_schema)
    np.testing.assert_array_equal(again.predict_proba(odd), model.predict_proba(small_frame))
    assert again.score(odd, y) == model.score(small_frame, turned)
    np.testing.assert_array_equal(again.predict(odd.assign(ill="never heard of")), again.predict(odd))


@pytest.mark.parametrize("kind", [int, float, "Int64", "string"])
def test_classes_of_another_kind_are_the_same_classes(kind):
    x = np.random.default_rng(0).random(200)
    frame = pd.DataFrame({"x": x, "y": (x > 0.5).astype(int)})
    expected = clone(FOREST).fit(frame, schema=ZERO_ONE)
    assert expected.classes_.tolist() == ["0", "1"]
    y = frame["y"].astype(kind)
    for given in ((frame.assign(y=y),), (frame.drop(columns="y"), y.to_numpy())):
        model = clone(FOREST).fit(*given, schema=ZERO_ONE)
        np.testing.assert_array_equal(model.predict_proba(frame), expected.predict_proba(frame))
        assert model.score(frame, y) == expected.score(frame) > 0.9


def test_every_fold_of_a_cross_validation_is_charged_in_a_pipeline_too(small_frame, small_schema):
    ledger = Ledger("add_remove", epsilon=6.25 * 5)
    model = clone(FOREST).set_params(epsilon=6.25, random_state=None)  # a cap lets no seed through
    pipeline = Pipeline([("same", "passthrough"), ("model", model)])
    given = {"model__schema": small_schema, "model__ledger": ledger}
    frame, y = small_frame.drop(columns="ill"), small_frame["ill"]
    assert cross_val_score(pipeline, frame, y, cv=5, params=given, error_score="raise").shape == (5,)
    assert ledger.totals.bound == ledger.totals.claimed_loss == 5 * Fraction(6.25)
    assert [child.name for child in ledger.children] == ["DiffPRFs"] * 5
    with pytest.raises(BudgetError, match="needs a total"):
        clone(model).fit(small_frame, schema=small_schema, ledger=ledger)


SCHEMA = Schema(
    columns=(
        Column(name="visit", kind="date", lower="2019-01-01", upper="2021-12-31", bins="quarter", missing=True),
        Column(name="bill", kind="continuous", lower=0, upper=2_000, bins=8, number_format="$1,234.50"),
        Column(name="weight", kind="continuous", lower=0, upper=120, bins=8, number_format="1234.5"),
        Column(name="died", kind="categorical", categories=("no", "yes")),
    ),
    target="died",
)


def visits(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    day = np.array([f"{year}-{month:02}-15" for year in (2019, 2020, 2021) for month in range(1, 13)])
    month = rng.integers(0, 36, rows)
    late = month >= 18
    return pd.DataFrame(
        {
            "visit": pd.Series(day[month]).mask(rng.random(rows) < 0.05),
            "bill": [f"${bill:,.2f}" for bill in np.where(late, 1_500, 300) + 100 * rng.random(rows)],
            "weight": np.round(60 + 20 * rng.standard_normal(rows).clip(-2, 2), 1),
            "died": np.where(rng.random(rows) < np.where(late, 0.9, 0.1), "yes", "no"),
        }
    )


@pytest.mark.parametrize("name", ["NB-Synth", "PrivBayes", "TaxonomyRelease"])
def test_samples_have_dates_and_money_as_they_were_written(name):
    made = METHODS[name](epsilon=20.0, random_state=1).fit(visits(200, 0), schema=SCHEMA).sample(50)
    assert made["visit"].dropna().str.fullmatch(r"20(19|20|21)-[0-9]{2}-[0-9]{2}").all()
    assert made["bill"].str.fullmatch(r"\$[0-9,]+[.][0-9]{2}").all()
    np.testing.assert_array_equal(np.round(made["weight"], 1), made["weight"])
    assert SCHEMA.encode(made).shape == (50, 4)


@pytest.mark.parametrize("name", ["DiffPRFs", "SuLQ-ID3", "DiffGen tree", "PPNB", "DTPD", "DTCRD"])
def test_a_model_file_predicts_from_texts_as_they_are_read(name):
    method = METHODS[name](epsilon=20.0, random_state=1).fit(visits(200, 0), schema=SCHEMA)
    test = visits(50, 1)
    model = make_release(method, name, data_name="visits").model
    again = Model.from_json(model.to_json()).predictions(test.astype("str").where(test.notna()))
    assert again.iloc[:, -2].tolist() == list(method.predict(test))


@pytest.mark.parametrize("name", ["DiffPRFs", "SuLQ-ID3"])
def test_a_split_point_of_a_tree_is_a_date(name):
    method = METHODS[name](epsilon=1e4, random_state=0).fit(visits(600, 0), schema=SCHEMA.select(["visit", "died"]))
    forest = method.forest_
    texts = [branch_texts(forest, index)[1] for index in range(len(forest.parent)) if forest.parent[index] >= 0]
    assert all(text.startswith("visit") for text in texts)
    assert any("2020-0" in text or "2020 Q" in text for text in texts), texts
