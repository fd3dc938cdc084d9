"""fit: parameters checked against what is public, rows encoded, the door opened, `_fit` called; and nothing else."""

import dataclasses
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import dpcore.methods.base
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.arguments import no_progress
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import BudgetError, DataError, ParameterError, SchemaError
from dpcore.mechanisms.noise import NumpyNoise, generator, noise_kind
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateEstimator, Synthesizer
from dpcore.methods.parameters import choice, text


class Margins(Synthesizer):
    """The smallest method there is: every column's noisy histogram, columns independent of each other."""

    title = "Margins"
    paper = "none"

    target: str | None = text(default=None, optional=True, about="The class column.")
    greedy: str = choice(default="no", options=("no", "yes"), about="Whether twice epsilon is spent.")
    noise: str = text(default="laplace", about="Which source draws.")

    def _check(self, schema):
        if self.target is not None:
            self._target(schema, self.target)

    def _fit(self, table, progress):
        self.seen_ = type(table), progress
        spent = 2 * self.epsilon if self.greedy == "yes" else self.epsilon
        answers = table.counts([(name,) for name in table.schema.names], epsilon=spent)
        self.margins_ = [np.maximum(answer, 0) + 1e-9 for answer in answers]

    def _sample(self, n, rng):
        size = n or round(float(np.mean([margin.sum() for margin in self.margins_])))
        drawn = [rng.choice(len(margin), size=size, p=margin / margin.sum()) for margin in self.margins_]
        return np.array(drawn, dtype=np.uint8).T


class OnlyReplace(Margins):
    title = "Only replace"
    relations = (Relation.REPLACE,)


def refuses(ledger, error, match, method, frame, **more):
    with pytest.raises(error, match=match) as caught:
        method.fit(frame, ledger=ledger, **more)
    assert caught.value.remedy
    assert not ledger.entries
    assert not [name for name in vars(method) if name.endswith("_")]


def test_fit_encodes_opens_the_door_and_calls_fit(small_frame, small_schema, monkeypatch):
    opened = []

    class Watched(PrivateTable):
        def __init__(self, codes, schema, ledger, noise, *, unprotected_allowed=False, numbers=None):
            opened.append((codes, schema, ledger, noise, unprotected_allowed))
            super().__init__(codes, schema, ledger, noise, unprotected_allowed=unprotected_allowed)
            assert not numbers  # only trees cut numbers

    monkeypatch.setattr(dpcore.methods.base, "PrivateTable", Watched)
    method = Margins(epsilon=0.75, random_state=1, relation="replace")
    assert method.fit(small_frame, schema=small_schema) is method
    ((codes, schema, ledger, noise, allowed),) = opened
    np.testing.assert_array_equal(codes, small_schema.encode(small_frame))
    assert schema is method.schema_ is small_schema
    assert ledger is method.ledger_
    assert (ledger.plan, ledger.name, ledger.relation) == (0.75, "Margins", "replace")
    assert isinstance(noise, NumpyNoise)
    assert not allowed
    assert method.seen_ == (Watched, no_progress)
    assert (method.noise_label_, method.publishable_) == (noise.label, False)
    assert method.ledger_.epsilon_of_noise == 0.75
    paper = Margins(mode="paper").fit(small_frame, schema=small_schema)
    assert opened[-1][-1]  # only paper mode may ask for raw rows
    assert paper.ledger_.plan is None


def test_fit_keeps_no_row(small_frame, small_schema):
    """Nothing that the estimator remembers is the private frame, its codes, or the door."""
    before = small_frame.copy(deep=True)
    method = Margins(random_state=1).fit(small_frame, schema=small_schema)
    pd.testing.assert_frame_equal(small_frame, before)
    kept = [value for name, value in vars(method).items() if name.endswith("_") and name != "seen_"]
    assert not any(isinstance(value, pd.DataFrame | PrivateTable) for value in kept)
    assert not any(isinstance(value, np.ndarray) and len(small_frame) in value.shape for value in kept)


def test_noise_comes_from_the_seed_in_a_stream_of_its_own(small_frame, small_schema):
    method = Margins(random_state=5).fit(small_frame, schema=small_schema)
    exact = [np.bincount(codes, minlength=size) for codes, size in zip(
        small_schema.encode(small_frame).T, small_schema.sizes, strict=True
    )]  # fmt: skip
    rng = generator(5, 0)
    for margin, counts in zip(method.margins_, exact, strict=True):
        expected = np.maximum(counts + rng.laplace(0, 5.0, counts.shape), 0) + 1e-9
        np.testing.assert_allclose(margin, expected)


@pytest.mark.parametrize("name", ["laplace", "geometric", "opendp", "auto"])
def test_the_source_of_noise_is_named(name, small_frame, small_schema):
    method = Margins(noise=name).fit(small_frame, schema=small_schema)
    exact = name in ("opendp", "auto")
    assert method.publishable_ is exact
    assert ("for teaching" in method.noise_label_) is not exact
    assert method.ledger_.entries[0].mechanism == ("discrete laplace" if exact else name)


@pytest.mark.parametrize("name", METHODS)
def test_noise_is_exact_unless_a_seed_is_given(name):
    method = METHODS[name]()
    assert method.noise == "auto"
    assert noise_kind(method.noise, method.random_state) == "opendp"
    assert noise_kind(method.noise, 7) == "laplace"


def test_a_seed_gives_the_numbers_of_numpys_noise(small_frame, small_schema):
    """The default source with a seed is continuous Laplace noise, bit for bit."""
    seeded = [
        Margins(noise=noise, random_state=4).fit(small_frame, schema=small_schema) for noise in ("auto", "laplace")
    ]
    for one, other in zip(*(method.margins_ for method in seeded), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not any(method.publishable_ for method in seeded)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"epsilon": -0.5}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
        ({"epsilon": [1.0]}, "epsilon"),
        ({"mode": "Paper"}, "mode"),
        ({"relation": "neighbors"}, "relation"),
        ({"greedy": 3.0}, "greedy"),
        ({"noise": "none"}, "noise"),
        ({"random_state": "1"}, "random_state"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": np.random.default_rng(1)}, "random_state"),
        ({"random_state": 1, "noise": "opendp"}, "seed"),
        ({"target": "age"}, "numeric"),
    ],
)
def test_parameters_are_refused_before_anything_is_charged(parameters, match, small_frame, small_schema):
    refuses(Ledger("add_remove"), ParameterError, match, Margins(**parameters), small_frame, schema=small_schema)


def test_rows_and_schemas_are_refused_before_anything_is_charged(small_frame, small_schema):
    ledger = Ledger("add_remove")
    refuses(ledger, SchemaError, "nobody", Margins(target="nobody"), small_frame, schema=small_schema)
    lacking = small_frame.drop(columns="age")
    refuses(ledger, DataError, "age", Margins(), lacking, schema=small_schema)
    outside = small_frame.assign(age=200)
    refuses(ledger, DataError, "age", Margins(), outside, schema=small_schema)
    refuses(
        ledger, ParameterError, "needs a class", Targeted(), small_frame, schema=Schema(columns=small_schema.columns)
    )


class Targeted(Margins):
    def _check(self, schema):
        self._target(schema, self.target)


def test_a_method_is_held_to_its_relations(small_frame, small_schema):
    refuses(Ledger("add_remove"), ParameterError, "Use replace", OnlyReplace(), small_frame, schema=small_schema)
    assert OnlyReplace(relation="replace").fit(small_frame, schema=small_schema).ledger_.relation == "replace"


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_a_ledger_of_another_relation_is_refused(relation, small_frame, small_schema):
    other = Ledger({"add_remove": "replace", "replace": "add_remove"}[relation])
    refuses(other, ParameterError, "relation", Margins(relation=relation), small_frame, schema=small_schema)
    assert not other.children


def test_somebody_elses_ledger_is_charged(small_frame, small_schema):
    mine = Ledger("add_remove", epsilon=2.0, name="mine")
    first = Margins(epsilon=1.25).fit(small_frame, schema=small_schema, ledger=mine)
    assert mine.epsilon_bound == 1.25
    assert mine.children == [first.ledger_]
    assert first.ledger_.plan == 1.25
    second = Margins(epsilon=1.0)
    with pytest.raises(BudgetError, match="'mine'"):
        second.fit(small_frame, schema=small_schema, ledger=mine)
    assert mine.epsilon_bound == 1.25
    assert (second.ledger_.entries, second.ledger_.status) == ([], "stopped")


def test_corrected_mode_cannot_spend_more_than_it_was_given(small_frame, small_schema):
    greedy = Margins(epsilon=1.0, greedy="yes")
    with pytest.raises(BudgetError, match="'Margins'"):
        greedy.fit(small_frame, schema=small_schema)
    mine = Ledger("add_remove")
    with pytest.raises(BudgetError, match="'Margins'"):
        greedy.fit(small_frame, schema=small_schema, ledger=mine)
    assert mine.epsilon_bound == 0
    # A paper may be wrong about its cost: that is what the ledger is there to show.
    printed = Margins(epsilon=1.0, greedy="yes", mode="paper").fit(small_frame, schema=small_schema)
    assert (printed.ledger_.epsilon_claimed, printed.ledger_.epsilon_bound) == (2, 2)


def test_a_fit_that_fails_leaves_no_earlier_release_behind(small_frame, small_schema):
    method = Margins(random_state=1).fit(small_frame, schema=small_schema)
    with pytest.raises(ParameterError):  # refused at once: the earlier release stands
        method.set_params(epsilon=-1).fit(small_frame, schema=small_schema)
    assert len(method.sample(3)) == 3
    with pytest.raises(BudgetError):  # refused on the way: no mixture of two releases
        method.set_params(epsilon=1.0, greedy="yes").fit(small_frame, schema=small_schema)
    with pytest.raises(ParameterError, match="not fitted"):
        method.sample(3)
    assert not hasattr(method, "margins_")
    assert len(method.set_params(greedy="no").fit(small_frame, schema=small_schema).sample(3)) == 3


class Slow(Margins):
    """Asks again and again, until somebody stops it."""

    def _fit(self, table, progress):
        self.margins_ = []
        for turn in range(4):
            self.margins_ += table.counts([("ill",)], epsilon=self.epsilon / 4)
            progress(turn / 4, "asked")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, BudgetError, GeneratorExit])
def test_a_fit_that_is_stopped_leaves_what_was_paid_and_nothing_else(stop, small_frame, small_schema):
    """Whoever stops a fit may have heard its answers: 400 that nobody counts are the truth."""
    mine = Ledger("add_remove")
    method = Slow(random_state=1).fit(small_frame, schema=small_schema, ledger=mine)
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
    with pytest.raises(ParameterError, match="not fitted"):
        method.sample(3)
    assert pickle.loads(pickle.dumps(method)).ledger_.to_json() == method.ledger_.to_json()


def test_what_a_finished_fit_cost_is_a_record(small_frame, small_schema):
    method = Margins(random_state=1).fit(small_frame, schema=small_schema)
    with pytest.raises(ParameterError, match="closed"):
        method.fit(small_frame, schema=small_schema, ledger=method.ledger_)
    assert len(method.sample(3)) == 3


def test_an_inferred_schema_is_not_publishable(small_frame, small_schema):
    inferred = dataclasses.replace(small_schema, source="inferred")
    for schema in (inferred, small_schema):
        method = Margins(noise="opendp").fit(small_frame, schema=schema)
        assert method.publishable_ is (schema is small_schema)


def test_scikit_learns_conventions(small_frame, small_schema):
    method = Margins(epsilon=0.25, target="ill", random_state=7)
    names = {"epsilon", "mode", "relation", "target", "greedy", "noise", "random_state"}
    assert set(method.get_params()) == names
    copy = clone(method)
    assert copy is not method
    assert copy.get_params() == method.get_params()
    copy.set_params(epsilon=0.5, relation="replace")
    assert (copy.epsilon, method.epsilon) == (0.5, 0.25)
    with pytest.raises(ValueError, match="Invalid parameter"):
        copy.set_params(budget=1)
    fitted = copy.fit(small_frame, schema=small_schema)
    assert fitted.get_params()["epsilon"] == 0.5
    assert not [name for name in vars(clone(fitted)) if name.endswith("_")]
    assert "epsilon=0.25" in repr(method)
    with pytest.raises(TypeError):
        Margins(0.5)
    assert issubclass(Margins, PrivateEstimator)


def test_abstract_methods_must_be_written():
    class Half(Synthesizer):
        def _check(self, schema):
            pass

    with pytest.raises(TypeError, match="abstract"):
        Half()


# Sampling


def test_samples_are_inside_the_schema_and_of_the_size_asked(small_frame, small_schema):
    method = Margins(epsilon=5.0, random_state=1).fit(small_frame, schema=small_schema)
    for n in (1, 40, np.int64(7)):
        rows = method.sample(n)
        assert rows.shape == (n, 5)
        assert list(rows.columns) == list(small_schema.names)
        small_schema.encode(rows)
    assert abs(len(method.sample()) - 600) < 20  # the release's own, noisy size


@pytest.mark.parametrize("n", [0, -1, 2.0, "3", math.nan])
def test_a_number_of_rows_that_is_none_is_refused(n, small_frame, small_schema):
    method = Margins(random_state=1).fit(small_frame, schema=small_schema)
    with pytest.raises(ParameterError, match="number of rows"):
        method.sample(n)


def test_sampling_needs_a_fit_costs_nothing_and_repeats_with_a_seed(small_frame, small_schema):
    with pytest.raises(ParameterError, match="Margins is not fitted"):
        Margins().sample(3)
    seeded = Margins(random_state=1).fit(small_frame, schema=small_schema)
    spent = seeded.ledger_.to_json()
    pd.testing.assert_frame_equal(seeded.sample(50), seeded.sample(50))
    assert seeded.ledger_.to_json() == spent
    free = Margins().fit(small_frame, schema=small_schema)
    assert not free.sample(50).equals(free.sample(50))
    again = Margins(random_state=1).fit(small_frame, schema=small_schema)
    pd.testing.assert_frame_equal(seeded.sample(50), again.sample(50))


def test_a_single_column_will_do(small_frame):
    schema = Schema(columns=(Column(name="ill", kind="categorical", categories=("no", "yes")),))
    rows = Margins(random_state=0).fit(small_frame, schema=schema).sample(10)
    assert set(rows["ill"]) <= {"no", "yes"}


def test_extra_columns_are_left_alone_and_progress_is_passed_on(small_frame, small_schema):
    def watch(fraction, text):
        pass

    method = Margins(random_state=0).fit(small_frame.assign(name="secret"), None, schema=small_schema, progress=watch)
    assert method.seen_[1] is watch
    assert "name" not in method.sample(5).columns
