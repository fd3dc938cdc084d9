"""Arguments of every kind: NumPy's numbers are numbers, truth values are none, and what is no table is refused."""

import inspect
from fractions import Fraction
from math import isfinite

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from dpcore.accounting.ledger import Ledger
from dpcore.errors import DataError, DPCoreError, ParameterError
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateClassifier, Synthesizer
from dpcore.methods.parameters import Choice, Flag, Free, Number, Whole

WRONG = (
    True,
    np.True_,
    np.array([1, 2]),
    pd.NA,
    object(),
    "nonsense",
    "",
    float("nan"),
    float("inf"),
    -1,
    10**30,
    np.float64(1e300),
    Fraction(1, 3),
    {},
    [],
    None,
)
NUMBERS = (np.int64, np.int8, np.uint16, np.float32, np.float64, np.float16, np.longdouble)
NO_TABLES = (np.zeros((4, 5)), [[1, 2]], None, {"ill": ["yes"]}, "age,ill", pd.Series([1, 2], name="ill"))
PLACES = [(name, parameter) for name, method in METHODS.items() for parameter in method.parameters()]


def good(parameter):
    """Values that a declaration allows: its default, its words, its ends if they belong to it, and one between."""
    found = [parameter.default]
    if isinstance(parameter, Choice | Whole):
        found += parameter.options if isinstance(parameter, Choice) else parameter.words
    if isinstance(parameter, Whole):
        found += [parameter.least, *([int(parameter.most)] if isfinite(parameter.most) else [])]
    if isinstance(parameter, Number):
        high = parameter.most if isfinite(parameter.most) else parameter.least + 2
        found.append((parameter.least + high) / 2)
        found += [end for end, sign in ((parameter.least, "("), (high, ")")) if sign not in parameter.open]
    return found + ([True, False] if isinstance(parameter, Flag) else []) + ([None] if parameter.optional else [])


def bad(parameter):
    """Values that it forbids: beyond its ends, the ends that do not belong to it, and other words."""
    found = [] if isinstance(parameter, Free) else ["nonsense", "", object(), {}]
    if isinstance(parameter, Whole | Number):
        found += [parameter.least - 1, parameter.most + 1, float("nan"), True]
    if isinstance(parameter, Whole):
        found.append(parameter.least + 0.5)
    if isinstance(parameter, Number):
        found += [end for end, sign in ((parameter.least, "("), (parameter.most, ")")) if sign in parameter.open]
    if isinstance(parameter, Choice | Flag):
        found += [1, 0.5]
    return found + ([] if parameter.optional else [None])


@pytest.mark.parametrize(("name", "parameter"), PLACES)
def test_a_declared_range_is_what_is_taken(name, parameter, small_frame, small_schema):
    declared = METHODS[name].parameters()[parameter]
    for value in good(declared):
        declared.check(parameter, value)
    for value in bad(declared):
        ledger = Ledger(METHODS[name]().relation)
        with pytest.raises(ParameterError, match=parameter) as caught:
            METHODS[name](**{parameter: value}).fit(small_frame.head(25), schema=small_schema, ledger=ledger)
        assert caught.value.remedy
        assert not ledger.entries, repr(value)


@pytest.mark.parametrize("name", METHODS)
def test_pages_ask_for_nothing_that_is_not_declared(name):
    """What a control offers is in the parameter's range, and what it hangs on are parameters."""
    kind = METHODS[name]
    above = [control for each in kind.__mro__ for control in vars(each).get("controls", ())]
    declared = {parameter for other in METHODS.values() for parameter in other.parameters()}
    assert {control.name for control in above} <= declared
    for parameter, control in kind.asks().items():
        known = kind.parameters()
        assert control.label
        assert {*control.when, *filter(None, [control.needs])} <= set(known)
        for value in (*control.steps, *control.slider[:2], *control.within[:2]):
            known[parameter].check(parameter, type(control.shown or known[parameter].default or 0)(value))


def used(method, frame):
    return method.sample(4) if isinstance(method, Synthesizer) else method.predict_proba(frame)


@pytest.mark.parametrize(("name", "parameter"), PLACES)
def test_a_wrong_argument_is_refused_before_anything_is_charged(name, parameter, small_frame, small_schema):
    usual, frame = METHODS[name]().get_params()[parameter], small_frame.head(25)
    for value in WRONG:
        ledger = Ledger(METHODS[name]().relation)
        method, refusal = METHODS[name](**{parameter: value}), None
        try:
            method.fit(frame, schema=small_schema, ledger=ledger)
        except DPCoreError as error:
            refusal = error
        if refusal is not None:
            assert refusal.remedy
            assert not ledger.entries, repr(value)
            continue
        truth_value = isinstance(value, bool | np.bool_)
        assert not (truth_value and isinstance(usual, int | float) and type(usual) is not bool), "True is no number"
        allowed = str(inspect.signature(METHODS[name]).parameters[parameter].annotation)
        assert value is not None or "None" in allowed, "None was taken for a value"
        used(method, frame)


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("name", METHODS)
def test_numbers_of_numpy_are_numbers(name, kind, small_frame, small_schema):
    usual = METHODS[name]().get_params()
    whole = {key for key, value in usual.items() if type(value) is int} | {"random_state"}
    given = {"epsilon": kind(1), **{key: np.int64(usual[key] or 1) for key in whole}}
    method, same = METHODS[name](**given), METHODS[name](**{key: value.item() for key, value in given.items()})
    copied = clone(method)
    assert copied.get_params() == same.get_params()
    assert type(copied.get_params()["epsilon"]) in (int, float)
    method.fit(small_frame.head(40), schema=small_schema)
    same.fit(small_frame.head(40), schema=small_schema)
    assert method.ledger_.epsilon_of_noise == same.ledger_.epsilon_of_noise
    made, again = (pd.DataFrame(used(one, small_frame.head(4))) for one in (method, same))
    assert made.equals(again)


def test_a_search_over_numpy_numbers_sets_numbers():
    for given in ParameterGrid({"epsilon": np.linspace(0.5, 1, 3), "n_trees": np.arange(1, 3)}):
        method = clone(METHODS["DiffPRFs"]()).set_params(**given)
        assert (type(method.epsilon), type(method.n_trees)) == (float, int)


@pytest.mark.parametrize("name", METHODS)
def test_what_is_no_table_is_refused(name, small_frame, small_schema):
    frame = small_frame.head(25)
    fitted = METHODS[name]().fit(frame, schema=small_schema)
    calls = [lambda table: METHODS[name]().fit(table, schema=small_schema)]
    if isinstance(fitted, PrivateClassifier):
        calls += [fitted.predict, fitted.predict_proba, fitted.score, lambda table: fitted.score(table, frame["ill"])]
        calls.append(lambda table: METHODS[name]().fit(table, frame["ill"], schema=small_schema))
    odd = [frame.set_axis(pd.MultiIndex.from_product([["a"], frame.columns]), axis=1), pd.concat([frame] * 2, axis=1)]
    for table in (*NO_TABLES, *odd, frame.set_axis(range(5), axis=1)):
        for call in calls:
            with pytest.raises(DataError) as caught:
                call(table)
            assert caught.value.remedy
    for schema in (None, {}, "schema", small_frame):
        with pytest.raises(ParameterError, match="schema"):
            METHODS[name]().fit(frame, schema=schema)
    with pytest.raises(ParameterError, match="ledger"):
        METHODS[name]().fit(frame, schema=small_schema, ledger=1.0)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if issubclass(method, PrivateClassifier)])
def test_what_are_no_classes_of_these_rows_is_refused(name, small_frame, small_schema):
    frame = small_frame.head(25)
    fitted = METHODS[name]().fit(frame, schema=small_schema)
    without = frame.drop(columns="ill")
    assert fitted.score(without, frame["ill"]) == fitted.score(frame)
    assert fitted.score(without, frame[["ill"]]) == fitted.score(frame)  # one column is what scikit-learn may pass
    for y in ("yes", 1, frame["ill"].head(3), frame[["ill", "age"]], {}):
        with pytest.raises(DataError, match="class"):
            fitted.score(frame, y)
        with pytest.raises(DataError, match="class"):
            METHODS[name]().fit(frame, y, schema=small_schema)
    with pytest.raises(DataError, match="ill"):
        fitted.score(without)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if issubclass(method, Synthesizer)])
def test_how_many_rows_are_sampled(name, small_frame, small_schema):
    fitted = METHODS[name]().fit(small_frame, schema=small_schema)
    for n in (True, False, 0, -1, 1.5, np.float64(2), "3", float("inf"), [3], np.array([3])):
        with pytest.raises(ParameterError, match="whole number"):
            fitted.sample(n)
    assert len(fitted.sample(np.int64(3))) == 3
    with pytest.raises(ParameterError, match="GB") as caught:
        fitted.sample(10**9)
    assert 10**6 < int(caught.value.remedy.split("=")[1].split()[0]) < 10**8
