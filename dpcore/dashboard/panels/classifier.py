"""How good a released classifier is on real rows, beside what it has to be measured against."""

import math
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.arguments import Progress
from dpcore.dashboard import jobs, panels
from dpcore.dashboard.panels import redraw
from dpcore.dashboard.session import ShownRelease
from dpcore.dashboard.widgets import caption
from dpcore.evaluate import tree_errors
from dpcore.evaluate.evaluator import DEPTH, FOREST, PLAIN, SCORES, TREE, TREES
from dpcore.evaluate.learners import MAJORITY, confusion_frame
from dpcore.language import ENGLISH, phrase, say, use_language
from dpcore.postprocess.naive_bayes import Bayes

ComparisonFrames = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame | None]
RELEASED, TRUTHFUL = phrase("released"), phrase("naive Bayes, true answers")


def scores(page: str, shown: ShownRelease) -> None:
    """Accuracies beside references, which classes are taken for which, and what the noise took."""
    if (found := comparison(page, shown)) is None:
        return
    frame, confusion, costs = found
    panels.real(charts.classifier_scores, frame)
    if not shown.data.held:
        some = len(shown.data.train_sample)
        caption("Baselines learned from a uniform sample of {some:,} rows.", some=some)
    panels.real(charts.confusion, confusion)
    if costs is not None:
        majority = float(frame.loc[frame["model"] == MAJORITY, "accuracy"].iloc[0])
        panels.real(charts.costs, costs, majority=majority)


def comparison(page: str, shown: ShownRelease) -> ComparisonFrames | None:
    """`compare_classifiers`, once per release; None while it is under way, and if it was stopped."""
    return jobs.once(page, shown, "compared", phrase("Comparing"), partial(compare_classifiers, shown))


def pictures(page: str, shown: ShownRelease) -> list[tuple[Any, pd.DataFrame]] | None:
    """The charts of a model's accuracy, for a report that somebody wants them in; None until they are there."""
    if not len(shown.data.test_sample):
        return []
    if (found := comparison(page, shown)) is None:
        return None
    frame, confusion, _ = found
    with use_language(ENGLISH):  # as all files are
        return [(charts.classifier_scores(frame), frame), (charts.confusion(confusion), confusion)]


def redraws(page: str, shown: ShownRelease) -> None:
    """20 more runs of the same method, by their accuracy."""
    if len(shown.data.test_sample):
        redraw.redraws(page, shown)
    else:
        st.info(say("Runs are compared by their accuracy, which needs rows kept aside to test on."))


def compare_classifiers(shown: ShownRelease, progress: Progress) -> ComparisonFrames:
    """Scores with references, the confusion matrix, and the costs of noise and structure (forests only)."""
    release, data, model = shown.release, shown.data, shown.release.model
    evaluator, models, costs = panels.evaluator(shown), {RELEASED: model.predict_proba}, None
    progress(0.0, phrase("judging the release"))
    confusion = evaluator.assess_model(model.predict_proba, model.target).confusion
    if math.isfinite(release.ledger.epsilon_claimed):
        progress(0.1, phrase("the same method without noise"))
        plain = panels.noiseless(shown)
        models[PLAIN] = plain.predict_proba
        if "forest" in model.released and model.reports is None and data.held:  # reports have noise in every value
            costs = tree_errors.noise_and_structure(model.released["forest"], plain.forest_, data)
    progress(0.6, phrase("learning from the real rows"))
    if model.reports is not None and not release.noiseless:
        normal = isinstance(model.predictor, Bayes) and bool(model.predictor.normals)
        truthful = evaluator.fit_true_naive_bayes(model.target, release.schema, normal=normal)
        models[TRUTHFUL] = truthful.predict_proba
    given = release.parameters
    size: Any = {"n_trees": max(given.get("n_trees") or 0, TREES), "tree_depth": given.get("max_depth") or DEPTH}
    baselines = evaluate.baselines(data, (MAJORITY, TREE, FOREST), target=model.target, **size)
    wide = baselines.pivot_table("value", "reference", "metric", sort=False).rename(columns=SCORES)
    found = [evaluator.scores(models, model.target), wide.rename_axis("model").reset_index()]
    frame = pd.concat(found, ignore_index=True)
    frame = frame.assign(private=frame["model"] == RELEASED)
    return frame, confusion_frame(confusion, list(model.classes_)), costs
