"""What runs are measured by: the same numbers as direct calls of the evaluation, and what does not apply."""

from dataclasses import replace

import pandas as pd
import pytest

from dpcore import evaluate
from dpcore.domain.range_query import random_queries
from dpcore.errors import ParameterError
from dpcore.evaluate import evaluator
from dpcore.evaluate.evaluator import RANGE_ERROR, Evaluator, check_measures, undefined_measures
from dpcore.evaluate.learners import Label
from dpcore.methods import PPNB, DiffPRFs, NaiveBayesSynthesizer, TaxonomyRelease

ROWS = NaiveBayesSynthesizer(x_source="model", random_state=2)
FOREST = DiffPRFs(n_trees=3, max_depth=2, random_state=3)


@pytest.fixture(scope="module")
def fitted(data):
    return NaiveBayesSynthesizer(**ROWS.get_params()).fit(data.train, schema=data.schema)


def test_distances_are_those_of_direct_calls_first_and_later(data, fitted):
    yardstick, released = Evaluator(data), fitted.sample()
    for degree, on in ((1, "columns"), (3, "columns"), (2, "bits")):
        found = evaluate.marginal_avd(data.train, released, data.schema, degree, on=on, max_cliques=1_000)
        metric = f"{degree}-way AVD" + (" on bits" if on == "bits" else "")
        for _ in range(2):  # the second time, the real rows' counts are remembered
            assert yardstick.score_rows(fitted, released, [(metric, "")]) == [found["avd"].mean()]


def test_range_errors_are_shares_of_the_rows_whatever_their_number(data, fitted):
    released = fitted.sample()
    queries = random_queries(data.schema, **evaluator.QUERIES)
    assert {len(query.codes) for query in queries} == {1, 2, 3}
    tree = TaxonomyRelease(epsilon=5.0, random_state=1).fit(data.train, schema=data.schema)
    share = len(data.train) / len(released)
    yardstick = Evaluator(data)
    for method, rows, answered, scale in (
        (fitted, released, released, share),
        (fitted, pd.concat([released] * 3, ignore_index=True), released, share),
        (tree, tree.sample(), tree, 1),  # it answers ranges itself
    ):
        answers = evaluate.range_answers(answered, queries, data.schema) * scale
        direct = evaluate.range_queries(data.train, {"it": answers}, data.schema, queries)["absolute"].mean()
        (found,) = yardstick.score_rows(method, rows, [(RANGE_ERROR, "")])
        assert found == pytest.approx(direct / len(data.train), rel=1e-12)
    assert yardstick.score_rows(fitted, data.train, [(RANGE_ERROR, "")]) == [0.0]


def test_both_accuracies_of_rows_and_of_a_classifier(data, fitted):
    released, yardstick = fitted.sample(), Evaluator(data)
    wanted = check_measures(["balanced accuracy", "accuracy"], data, ["Bayes net", "linear SVM"], None, ROWS)
    direct = evaluate.tstr(data.train, data.test, released, data.schema, "ill", include_real=False).set_index("model")
    fields = {"accuracy": "accuracy", "balanced accuracy": "balanced_accuracy"}
    expected = [direct.loc[model, fields[metric]] for metric, model in wanted]
    assert len(wanted) == 4
    assert yardstick.score_rows(fitted, released, wanted) == expected
    forest = FOREST.fit(data.train, schema=data.schema)
    (own,) = yardstick.score_classifier(forest, [("accuracy", "")])
    assert own == forest.score(data.test)


def test_measures_of_another_kind_are_refused_or_left_out(data):
    wanted = ["accuracy", "3-way AVD", RANGE_ERROR]
    with pytest.raises(ParameterError, match="releases a classifier and no rows"):
        check_measures(wanted, data, ["Bayes net"], None, FOREST)
    assert check_measures(wanted, data, ["Bayes net"], None, FOREST, skip=True) == [("accuracy", "")]
    methods = {"rows": ROWS, "forest": FOREST, "reports": PPNB()}
    assert undefined_measures(methods, wanted) == {name: ["3-way AVD", RANGE_ERROR] for name in ("forest", "reports")}
    for method, measures, models, match in (
        (FOREST, ["1-way AVD"], ["Bayes net"], "none of these measures"),
        (ROWS, wanted, ["oracle"], "A model is not known"),
        (ROWS, ["SVM error"], [], "a label to predict"),
    ):
        with pytest.raises(ParameterError, match=match):
            check_measures(measures, data, models, None, method, skip=True)
    label = Label(column="ill", equals="yes")
    assert check_measures(["SVM error"], data, [], label, ROWS) == [("SVM error", "")]
    data = replace(data, test=data.test.head(0))
    assert check_measures(["SVM error on synthetic rows"], data, [], label, ROWS)
    with pytest.raises(ParameterError, match="needs test rows"):
        check_measures(["SVM error"], data, [], label, ROWS)
