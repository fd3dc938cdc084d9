"""Tests of arguments: parameters of methods, numbers of NumPy, and wrong types."""

import inspect
import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from variants import CLASSIFIERS, SYNTHESIZERS, fitted

import dpcore as dp
from dpcore.accounting.ledger import Ledger
from dpcore.arguments import is_kind
from dpcore.dashboard import controls
from dpcore.errors import DataError, DPCoreError, ParameterError
from dpcore.methods import METHODS
from dpcore.methods.networks.jtree import MOST_CELLS
from dpcore.methods.parameters import Choice, Flag, Number, UncheckedValue, Whole

NUMBERS = (np.int64, np.int8, np.uint16, np.float32, np.float64, np.float16, np.longdouble)
NO_TABLES = (np.zeros((4, 5)), [[1, 2]], None, {"ill": ["yes"]}, "age,ill", pd.Series([1, 2], name="ill"))


def good(parameter):
    """Return allowed values of a parameter: default, options, included ends, and one between."""
    found = [parameter.default]
    if isinstance(parameter, Choice | Whole):
        found += parameter.options if isinstance(parameter, Choice) else parameter.words
    if isinstance(parameter, Whole):
        found += [parameter.least, *([int(parameter.most)] if math.isfinite(parameter.most) else [])]
    if type(parameter) is Number:
        high = parameter.most if math.isfinite(parameter.most) else parameter.least + 2
        found.append((parameter.least + high) / 2)
        found += [end for end, sign in ((parameter.least, "("), (high, ")")) if sign not in parameter.open]
    return found + ([True, False] if isinstance(parameter, Flag) else []) + ([None] if parameter.optional else [])


def bad(parameter):
    """Return forbidden values of a parameter: beyond its ends, excluded ends, other texts."""
    found = [] if isinstance(parameter, UncheckedValue) else ["nonsense", "", object(), {}, [], pd.NA, np.array([1, 2])]
    if isinstance(parameter, Whole | Number):
        found += [parameter.least - 1, parameter.most + 1, float("nan"), True, np.True_]
    if isinstance(parameter, Whole):
        found += [parameter.least + 0.5, Fraction(1, 3)]
    if isinstance(parameter, Number):
        found += [end for end, sign in ((parameter.least, "("), (parameter.most, ")")) if sign in parameter.open]
    if isinstance(parameter, Choice | Flag):
        found += [1, 0.5]
    return found + ([] if parameter.optional else [None])


def refused(kind, word, frame, schema, **parameters):
    """Assert that a fit is refused before any charge, naming the parameter and a remedy."""
    ledger, case = Ledger(kind().relation), (kind.title, parameters)
    with pytest.raises(DPCoreError, match=word) as caught:
        kind(**parameters).fit(frame, schema=schema, ledger=ledger)
    assert caught.value.remedy, case
    assert not ledger.entries, case


def test_parameters_take_exactly_their_declared_range(small_frame, small_schema):
    frame = small_frame.head(25)
    for kind in METHODS.values():
        for name, declared in kind.parameters().items():
            for value in good(declared):
                declared.check(name, value)
            for value in bad(declared):
                refused(kind, name, frame, small_schema, **{name: value})


# What no method may take, whatever is declared; tuples are values, lists have several.
FORBIDDEN = {
    "affinity": ["new"], "alpha": [-1, math.nan], "beta": [0.0, 1], "certainty": [-1],
    "categorical_splits": ["many"], "class_share": [0, 1], "consistency": ["yes"], "count_share": [1],
    "criterion": ["gain"],
    "cuts": ["quantiles"], "delta": [-1e-9, 1e-310, 0.01, math.nan, "1e-9", None], "edges": [-1, 1.5],
    "epsilon": [-1, math.nan, math.inf, "1"], "first": ["age"],
    "eta": [-0.1, 1, math.nan, "0.1", None], "factors": [(0, 1), (1, -1)], "fanout": [1], "groups": ["two"],
    "growth": [0], "intervals": [0, 10**6], "iterations": [0], "k1": [0, 1.5], "kappa": ["2"], "leaf_share": ["half"],
    "least_deviation": ["narrow"], "log_base": ["7"], "max_cells": [0],
    "max_depth": [0, 1.5, 21, 10**6], "max_features": [0, "most"],
    "max_leaves": [0, 1, 10**9], "max_parents": [0, 2.5, 40], "max_per_attribute": [0], "measure": ["some"],
    "merge": [None], "min_entropy": [-1, math.nan], "min_support": [0, 1, "few"], "mode": ["fast"], "n_clusters": [0],
    "n_questions": [0, 1.5], "n_trees": [0, 10**6],
    "noise": ["gauss"], "non_negative": [1], "numbers": ["cells"], "offsets": [1],
    "order": ["random"], "p0": [0, 1.5], "pairs": [1], "partition": ["none"], "prior": ["flat"], "privacy": [0],
    "protocol": ["RAPPOR"], "prune": [1], "random_state": [1.5, -1], "randomizer": ["cauchy"], "rate": [1, "half"],
    "reconstruction": ["round"], "relation": ["swap"], "resample": ["bootstraps"], "rounds": [0, 1.5], "rows": [0],
    "score": ["gain"], "selection_share": [1, "half"], "sigma": [0, -1, 1e9], "smoothing": [0.0],
    "split_selection": ["three"],
    "structure_share": [0.0, 1], "theta": [0, math.inf], "threshold": [0], "variance": ["exact"], "variant": ["all"],
    "vote": ["few"], "weights": ["noise"], "with_class": [1],
    "workload": ["age", (), ("age", "ill"), (("age", "age"),), (("age", "nobody"),), (("age",),)], "x_source": ["data"],
}  # fmt: skip
SHARES = ["most", 3, (1, 2), (*[1] * 11, 0), (1e308,) * 12, (*[1] * 11, "2")]  # of 12 levels
TOGETHER = [  # or by the schema: what is wrong, and the word for it
    ({"count_share": 0.6, "leaf_share": 0.4}, "below 1"),
    ({"numbers": "moments", "pairs": True}, "pairs"),
    ({"delta": 1e-9, "mode": "published"}, "as published|mode"),
    ({"target": "nobody"}, "nobody"),
    ({"prior": "frequency"}, "prior"),
    ({"target": "age"}, "numeric"),
    ({"variant": "C2", "x_source": "model"}, "uniform"),
    ({"structure_share": 0.2, "score": "F"}, "score"),
    *(({"level_shares": shares}, "level_shares") for shares in SHARES),
]
OF_ONE = [
    ("DTPD", {"theta": 0.5}, "theta"),
    ("DTPD", {"mode": "published", "theta": 0.5}, "theta"),
    ("JTree", {"max_cells": MOST_CELLS}, "max_cells"),
    ("HMPrivBayes", {"mode": "published", "partition": "public"}, "learned"),
    ("NB-Synth", {"variant": "Alg2"}, "variant"),
    ("PPNB", {"factors": (1,)}, "factors"),
    ("PPNB", {"offsets": (0, math.inf)}, "offsets"),
    ("PrivBayes", {"score": "F"}, "score"),
    ("PrivBayes", {"variant": "binary", "score": "H"}, "score"),
    ("PrivBayes", {"variant": "binary", "max_parents": 4}, "max_parents"),
    ("TaxonomyRelease", {"level_shares": (1.0,) * 11}, "Give 12"),
    ("TaxonomyRelease", {"level_shares": (1.0,) * 11, "with_class": False, "iterations": 9}, "Give 10"),
    ("TaxonomyRelease", {"level_shares": (*[1.0] * 11, 0.0)}, "last one positive"),
    ("TaxonomyRelease", {"level_shares": (math.nan, *[1.0] * 11)}, "0 or more"),
]


@pytest.mark.listed
def test_every_parameter_has_forbidden_values():
    declared = set().union(*(kind.parameters() for kind in METHODS.values()))
    wrong = sorted(declared ^ {*FORBIDDEN, "level_shares", "target"})
    assert not wrong, f"{wrong}: FORBIDDEN in tests/contract/test_arguments.py has a line for every parameter"


def test_values_that_no_declaration_allows(small_frame, small_schema):
    frame, declared = small_frame.head(25), {name: kind.parameters().keys() for name, kind in METHODS.items()}
    alone = [({name: value}, name) for name, values in FORBIDDEN.items() for value in values]
    for parameters, word in alone + TOGETHER:
        kinds = [METHODS[name] for name, known in declared.items() if parameters.keys() <= known]
        assert kinds, parameters
        for kind in kinds:
            refused(kind, word, frame, small_schema, **parameters)
    for name, parameters, word in OF_ONE:
        refused(METHODS[name], word, frame, small_schema, **parameters)


BY_THE_NUMBER_OF_ROWS = [  # what may change with it, if somebody comes or leaves
    ("HMPrivBayes", {}),
    ("PrivSCBN", {}),
    *((name, {"score": "MI"}) for name in ("HMPrivBayes", "JTree", "PrivBayes", "PrivSCBN")),
    *((name, {"criterion": "entropy"}) for name in ("DiffPRFs", "DiffPRF", "DiffP-C4.5", "DiffP-ID3")),
    ("TaxonomyRelease", {"score": "entropy"}),
]


def test_sizes_by_the_number_of_rows_need_a_public_bound(small_frame, small_schema):
    unbounded = replace(small_schema, max_rows=None)
    for name, extra in BY_THE_NUMBER_OF_ROWS:
        refused(METHODS[name], "bound|max_rows", small_frame, unbounded, relation="add_remove", **extra)
        METHODS[name](relation="replace", **extra).check(unbounded)
    for kind in METHODS.values():  # as printed they know it
        if "published" in kind.modes and kind.published_relations == ("replace",):
            refused(kind, "as published", small_frame, small_schema, mode="published", relation="add_remove")
    for name in ("PPNB", "DTPD", "DTCRD"):  # whose every person answers
        refused(METHODS[name], "add_remove", small_frame, small_schema, relation="add_remove")


def test_pages_have_controls_for_declared_parameters_only():
    """A control's values are in the parameter's range, and it depends on parameters only."""
    for title, kind in METHODS.items():
        known = kind.parameters()
        for parameter, control in kind.control_map().items():
            assert {*control.when} <= set(known), (title, parameter)
            own = parameter in ("epsilon", "relation", "target")
            assert own or control.names or type(known[parameter]) in controls.WIDGETS, (title, parameter)
            for value in (*control.steps, *control.within[:2]):
                known[parameter].check(parameter, type(known[parameter].default or 0)(value))


def test_numbers_of_numpy_are_numbers():
    for position, name in enumerate(METHODS):
        kind, usual = NUMBERS[position % len(NUMBERS)], METHODS[name]().get_params()
        whole = {key for key, value in usual.items() if type(value) is int} | {"random_state"}
        given = {"epsilon": kind(1), **{key: np.int64(usual[key] or 1) for key in whole}}
        method, same = METHODS[name](**given), METHODS[name](**{key: value.item() for key, value in given.items()})
        assert clone(method).get_params() == same.get_params(), name
        assert [value for value in clone(method).get_params().values() if isinstance(value, np.generic)] == [], name
    method = clone(METHODS["DiffPRFs"]()).set_params(epsilon=np.float64(0.5), n_trees=np.int64(2))  # as in a search
    assert (type(method.epsilon), type(method.n_trees)) == (float, int)
    with pytest.raises(ParameterError, match=r"DiffPRFs has no parameter 'n_tree'\. Did you mean 'n_trees'"):
        method.set_params(n_tree=2)
    assert method.set_params(children="few").categorical_splits == "grouped"  # former names are read


def test_arguments_that_are_no_tables_are_refused(small_frame, small_schema):
    frame = small_frame.head(25)
    odd = [frame.set_axis(pd.MultiIndex.from_product([["a"], frame.columns]), axis=1), pd.concat([frame] * 2, axis=1)]
    tables = (*NO_TABLES, *odd, frame.set_axis(range(5), axis=1))
    for name, kind in METHODS.items():
        calls = [lambda table, kind=kind: kind().fit(table, schema=small_schema)]
        if name in CLASSIFIERS:
            known = fitted(name)
            calls += [known.predict, known.predict_proba, known.score]
            calls.append(lambda table, kind=kind: kind().fit(table, frame["ill"], schema=small_schema))
        for table in tables:
            for call in calls:
                with pytest.raises(DataError) as caught:
                    call(table)
                assert caught.value.remedy, name
        with pytest.raises(ParameterError, match="schema"):
            kind().fit(frame, schema={})
        with pytest.raises(ParameterError, match="ledger"):
            kind().fit(frame, schema=small_schema, ledger=1.0)


def test_class_values_that_do_not_fit_the_rows_are_refused(small_frame, small_schema):
    frame = small_frame.head(25)
    without = frame.drop(columns="ill")
    for name in CLASSIFIERS:
        known = fitted(name)
        assert known.score(without, frame["ill"]) == known.score(frame), name
        assert known.score(without, frame[["ill"]]) == known.score(frame), name  # as scikit-learn may pass it
        for y in ("yes", frame["ill"].head(3), frame[["ill", "age"]]):
            with pytest.raises(DataError, match="class"):
                known.score(frame, y)
            with pytest.raises(DataError, match="class"):
                METHODS[name]().fit(frame, y, schema=small_schema)
        with pytest.raises(DataError, match="ill"):
            known.score(without)


def test_sample_returns_the_requested_number_of_rows():
    for name in SYNTHESIZERS:
        for n in (True, 0, 1.5, np.float64(2), "3", float("inf"), np.array([3])):
            with pytest.raises(ParameterError, match=r"whole number|takes int"):
                fitted(name).sample(n)
        assert len(fitted(name).sample(np.int64(3))) == 3, name
        with pytest.raises(ParameterError, match="GB") as caught:
            fitted(name).sample(10**9)
        assert 10**6 < int(caught.value.remedy.split("=")[1].split()[0]) < 10**8, name


FIRST = ("people.csv", None, 3, {"age": [1]}, dp.PrivBayes, dp.PrivBayes())  # wrong things that are tried first
PUBLIC = (dp, dp.audit, dp.datasets, dp.evaluate, dp.experiment, dp.export, dp.risk)


def called(found, value):
    """Call a function with a value for each argument without default, or for its first one."""
    known = inspect.signature(found).parameters.values()
    needed = [each for each in known if each.default is each.empty] or [*known][:1]
    words = [value for each in needed if each.kind is not each.KEYWORD_ONLY]
    given = {each.name: value for each in needed if each.kind is each.KEYWORD_ONLY}
    answer = found(*words, **given)
    return next(answer) if inspect.isgenerator(answer) else answer


def test_public_functions_refuse_common_mistakes_of_newcomers():
    public = {f"{part.__name__}.{name}": getattr(part, name) for part in PUBLIC for name in part.__all__}
    errors = [name for name, found in public.items() if inspect.isclass(found) and issubclass(found, Exception)]
    for name in public.keys() - errors:
        for value in FIRST if callable(public[name]) else ():
            with suppress(DPCoreError):
                called(public[name], value)


def test_errors_of_newcomers_say_what_to_write(small_frame, small_schema):
    frame, private, declared = small_frame, dp.PrivBayes(), {"schema": small_schema}
    for call, remedy in (
        (lambda: private.fit(frame), r"dp\.Schema\(.*Schema\.infer\(X\), which voids"),
        (lambda: dp.DiffPRFs().fit(frame, frame["ill"]), r"dp\.Schema\("),
        (lambda: private.fit(frame, schema={"age": "integer"}), r"SDV's JSON by dpcore\."),
        (lambda: private.fit(frame, schema=frame), r"Schema\.infer\(X\)"),
        (lambda: private.fit("people.csv"), r"dp\.datasets\.read\("),
        (lambda: dp.DiffPRFs().fit("people.csv", frame["ill"]), r"dp\.datasets\.read\("),
        (lambda: dp.datasets.load("people.csv"), r"dp\.datasets\.read\('people\.csv'"),
        (lambda: private.fit(frame.to_numpy()), r"pd\.DataFrame\(X, columns="),
        (lambda: private.fit([[1, 2]], **declared), r"pd\.DataFrame\(X, columns="),
        (lambda: dp.PrivBayes(small_schema), r"fit\(frame, schema=schema\)"),
        (lambda: dp.evaluate.validity(frame, tau=1, **declared), "arguments are synthetic, schema"),
        (lambda: dp.experiment.sweep({"mine": dp.MST}, dp.datasets.load("sample"), epsilons=[1]), '{"mine": dp'),
        (lambda: dp.Schema.from_json("schema.json"), r"read_text\(\)"),
        (lambda: fitted("MST").sample(num_rows=9), "arguments are n"),
    ):
        with pytest.raises(DPCoreError, match=remedy):
            call()


def test_is_kind_follows_annotations():
    assert is_kind(np.float32(1), float | None)
    assert is_kind({"a": (1, 2.5)}, dict[str, tuple[float, ...]])
    assert not is_kind("age", list[str])
    assert not is_kind([1], list[str])
