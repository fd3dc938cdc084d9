"""The accuracy of a released classifier on real rows, beside its baselines."""

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
RELEASED, TRUTHFUL = phrase("released"), phrase("naive Bayes from true answers")


def draw_scores(page: str, shown: ShownRelease) -> None:
    """Draw accuracies beside baselines, the confusion matrix, and the cost of the noise."""
    if (found := compared_classifiers(page, shown)) is None:
        return
    frame, confusion, costs = found
    panels.real(charts.classifier_scores, frame)
    if not shown.data.in_memory:
        some = len(shown.data.train_sample)
        caption("The baselines were trained on a uniform sample of {some:,} rows.", some=some)
    panels.real(charts.confusion, confusion)
    if costs is not None:
        majority = float(frame.loc[frame["model"] == MAJORITY, "accuracy"].iloc[0])
        panels.real(charts.costs, costs, majority=majority)


def compared_classifiers(page: str, shown: ShownRelease) -> ComparisonFrames | None:
    """Compare the classifiers once per release, in the background; None until that is finished."""
    return jobs.late_value(page, shown, "compared", phrase("Testing classifiers"), partial(compare_classifiers, shown))


def accuracy_charts(page: str, shown: ShownRelease) -> list[tuple[Any, pd.DataFrame]] | None:
    """Return the charts of a classifier's accuracy for the report; None until they are computed."""
    if not len(shown.data.test_sample):
        return []
    if (found := compared_classifiers(page, shown)) is None:
        return None
    frame, confusion, _ = found
    with use_language(ENGLISH):  # as all files are
        return [(charts.classifier_scores(frame), frame), (charts.confusion(confusion), confusion)]


def draw_redraws(page: str, shown: ShownRelease) -> None:
    """Draw the accuracy of 20 more runs of the same method."""
    if len(shown.data.test_sample):
        redraw.draw_redraws(page, shown)
    else:
        st.info(say("Runs are compared by accuracy, which needs test rows. Choose their share on Data."))


def compare_classifiers(shown: ShownRelease, progress: Progress) -> ComparisonFrames:
    """Return scores of the classifier and its baselines, the confusion matrix, and noise costs.

    The noise costs are None for all methods but forests.
    """
    release, data, model = shown.release, shown.data, shown.release.model
    evaluator, models, costs = panels.evaluator(shown), {RELEASED: model.predict_proba}, None
    progress(0.0, phrase("testing the released classifier"))
    confusion = evaluator.assess_model(model.predict_proba, model.target).confusion
    if math.isfinite(release.ledger.epsilon_claimed):
        progress(0.1, phrase("the same method without noise"))
        plain = panels.fit_noiseless(shown)
        models[PLAIN] = plain.predict_proba
        if "forest" in model.contents and model.reports is None and data.in_memory:  # reports are noisy
            costs = tree_errors.noise_and_structure(model.contents["forest"], plain.forest_, data)
    progress(0.6, phrase("training baselines on the real rows"))
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
