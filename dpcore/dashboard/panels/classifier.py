"""How good a released classifier is on real rows, beside what it has to be measured against."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.arguments import Progress
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import jobs, panels
from dpcore.dashboard.panels import redraw
from dpcore.dashboard.session import Shown
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption, markdown
from dpcore.datasets import Dataset
from dpcore.evaluate import tree_errors
from dpcore.evaluate.baselines import DEEP, DEPTH, FOREST, PLAIN, TREE, TREES
from dpcore.evaluate.evaluator import SCORES
from dpcore.evaluate.learners import MAJORITY, confusion_frame
from dpcore.language import ENGLISH, phrase, say, speaking
from dpcore.postprocess.naive_bayes import Bayes

Comparison = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame | None]
RELEASED, TRUTHFUL = phrase("released"), phrase("naive Bayes, true answers")


def accuracy(page: str, shown: Shown) -> None:
    """Accuracies beside references, which classes are taken for which, and what the noise took."""
    release, data = shown.release, shown.data
    if not len(data.test_sample):
        told = phrase("No rows were set apart for testing: choose it on Data.")
        st.info(say(told))
        return
    found = comparison(page, shown)
    if found is None:
        return
    markdown(
        "How well is **{target}** predicted for {rows:,} real rows that this release did not learn from? ({mark}) "
        "Balanced accuracy is the mean share of each class that is found: a model that always says the same scores no "
        "better than by chance.",
        target=escaped(release.model.target),
        rows=len(data.test_sample),
        mark=say(REAL_DATA),
    )
    scores, confusion, costs = found
    panels.real(charts.classifier_scores, scores)
    told = say(
        "The same builder has the release's size and no noise. scikit-learn's tree is as deep as the release, or "
        "{depth} levels; its forest has {trees} trees at least, up to {deep} levels deep.",
        depth=DEPTH,
        trees=TREES,
        deep=DEEP,
    )
    st.caption(told + (say(" Naive Bayes learned from true answers.") if release.model.reports is not None else ""))
    if not data.held:
        caption(
            "The real rows are in a folder. The release and its builder learned from all {rows:,} of them; "
            "scikit-learn’s models, and naive Bayes from true answers, learned from a uniform sample of {some:,}. "
            "The separate costs of noise and structure are shown for rows in memory only.",
            rows=data.sizes[0],
            some=len(data.train_sample),
        )
    panels.of_test_rows(shown)
    panels.real(charts.confusion, confusion)
    if costs is not None:
        majority = float(scores.loc[scores["model"] == MAJORITY, "accuracy"].iloc[0])
        panels.real(charts.costs, costs, majority=majority)
        caption(
            "From the release to the same trees with noiseless counts of all rows: what the noise in the leaves "
            "cost, and, where each tree has rows of its own, that it knows no others. From there to noiseless trees: "
            "what is lost by choosing splits privately. Noiseless trees grow by the same rules without noise, for "
            "this screen only. One run and {rows:,} test rows measure an accuracy to within about {margin:.1%}: what "
            "is smaller is random.",
            rows=len(data.test_sample),
            margin=margin(scores["accuracy"].iloc[0], len(data.test_sample)),
        )


def comparison(page: str, shown: Shown) -> Comparison | None:
    """`compared`, once per release; None while it is under way, and if it was stopped."""
    return jobs.once(page, shown, "compared", phrase("Comparing"), lambda progress: compared(shown, progress))


def pictures(page: str, shown: Shown) -> list[tuple[Any, pd.DataFrame]] | None:
    """The charts of a model's accuracy, for a report that somebody wants them in; None until they are there."""
    if not len(shown.data.test_sample):
        return []
    found = comparison(page, shown)
    if found is None:
        return None
    scores, confusion, _ = found
    with speaking(ENGLISH):  # as all files are
        return [(charts.classifier_scores(scores), scores), (charts.confusion(confusion), confusion)]


def margin(share: float, rows: int) -> float:
    """Half the width of a 95% interval of a share of so many rows."""
    return 1.96 * math.sqrt(max(share * (1 - share), 1 / rows) / rows)


def redraws(page: str, shown: Shown) -> None:
    """20 more runs of the same method, and between which accuracies most of them lie."""
    if not len(shown.data.test_sample):
        st.info(say("Runs are compared by their accuracy, which needs rows kept aside to test on."))
        return
    redraw.redraws(page, shown)
    if shown.redraws is not None:
        again = shown.redraws[shown.redraws["run"] > 0].groupby("metric", sort=False)["value"]
        told = [
            say(
                "{metric} from **{low:.1%}** to **{high:.1%}**",
                metric=say(str(metric)),
                low=values.quantile(0.05),
                high=values.quantile(0.95),
            )
            for metric, values in again
        ]
        markdown("Nine of ten runs have {ranges} ({mark}).", ranges=say(" and ").join(told), mark=say(REAL_DATA))


def compared(shown: Shown, progress: Progress) -> Comparison:
    """Scores with references, the confusion matrix, and the costs of noise and structure (forests only)."""
    release, data, model = shown.release, shown.data, shown.release.model
    schema, target, models = release.schema, model.target, {RELEASED: model.predict_proba}
    progress(0.0, phrase("judging the release"))
    evaluator = panels.evaluator(shown)
    confusion = confusion_frame(evaluator.judged(model.predict_proba, target).confusion, list(model.classes_))
    costs = None
    if math.isfinite(release.ledger.epsilon_claimed):
        progress(0.1, phrase("the same method without noise"))
        plain = panels.noiseless(shown)
        models[PLAIN] = plain.predict_proba
        if "forest" in model.released and model.reports is None and data.held:  # reports have noise in every value
            costs = tree_errors.noise_and_structure(model.released["forest"], plain.forest_, data)
    progress(0.6, phrase("learning from the real rows"))
    if model.reports is not None and not release.noiseless:
        normal = isinstance(model.predictor, Bayes) and bool(model.predictor.normals)
        models[TRUTHFUL] = evaluator.truthful(target, schema, normal=normal).predict_proba
    scores = evaluator.scores(models, target)
    beside = beside_real(data, target, {**release.parameters, **model.sizes})
    progress(1.0, phrase("done"))
    return pd.concat([scores.assign(private=scores["model"] == RELEASED), beside], ignore_index=True), confusion, costs


def beside_real(data: Dataset, target: str, given: Mapping[str, Any]) -> pd.DataFrame:
    """References that learned from real rows: a tree as deep as the release, and a forest with nothing held back."""
    depth, trees = int(given.get("max_depth") or DEPTH), max(int(given.get("n_trees") or 0), TREES)
    kinds = (MAJORITY, TREE, FOREST)
    found = evaluate.baselines(data, kinds, target=target, n_trees=trees, tree_depth=depth)
    wide = found.pivot_table("value", "reference", "metric", sort=False).rename(columns=SCORES)
    return wide.rename_axis("model").reset_index().assign(private=False)
