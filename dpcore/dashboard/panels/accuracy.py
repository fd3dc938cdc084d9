"""The tab Accuracy: how well classes are predicted by a release, or by learning from its rows."""

import math
from contextlib import suppress
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Progress
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import before_run, jobs, session
from dpcore.dashboard.panels import (
    classifier,
    column_centers,
    column_shares,
    evaluator,
    fit_noiseless,
    marginal_distances,
    note_test_sample,
    real,
)
from dpcore.dashboard.session import ShownRelease, remember
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import markdown
from dpcore.datasets import Dataset
from dpcore.errors import DPCoreError
from dpcore.evaluate.evaluator import Evaluator
from dpcore.evaluate.learners import MAJORITY
from dpcore.export.artifacts import Model
from dpcore.language import ENGLISH, phrase, retold, say, use_language

CENTERS = "Means and medians of numeric columns"
HEADS = ["column", "real mean", "mean", "median", "real rows below the median", "far off"]
RARE_CLASS = 0.1  # share of rows below which balanced accuracy is shown


def draw_rare_class(page: str, method: Any, data: Dataset, rows: int | None) -> None:
    """Draw the number of rows of the rarest class and the noise on it; this reads rows.

    `rows` is the public number of rows; if it is None, the noise is that for the number of rows
    that the user expects. Nothing is drawn if the rarest class has at least a tenth of the rows.
    """
    target, schema = getattr(method, "target", None) or data.schema.target, data.schema
    if target is None or schema[target].numeric or not data.in_memory:
        return
    known = session.keep_once("dpcore.classes", dict[Any, Any])
    counts = session.compute_once(
        known, (data.token, target, schema.to_json()), partial(Evaluator(data).class_rows, target)
    )
    rarest = int(counts.argmin())
    if counts[rarest] >= RARE_CLASS * counts.sum():
        return
    with suppress(DPCoreError):
        noise = before_run.expected_errors(method, schema, rows or before_run.forecast_rows(page, schema)).class_noise
        if noise is not None and math.isfinite(noise):
            words = phrase("**{column} = {value}:** about {n:,.0f} rows, noise ± {noise:,.0f} rows. :orange[{mark}]")
            about = {"column": escape(target), "value": escape(schema[target].labels[rarest]), "mark": say(REAL_DATA)}
            st.markdown(say(words, n=float(f"{counts[rarest]:.2g}"), noise=float(f"{noise:.2g}"), **about))


def draw_accuracy(page: str, shown: ShownRelease) -> None:
    """Draw the accuracy on real test rows of a classifier, or of classifiers that learn from rows.

    The latter are trained on synthetic and on real rows.
    """
    rows = len(shown.data.test_sample)
    target = shown.release.parameters.get("target") or shown.release.schema.target
    if not rows:
        st.info(say("No rows were set aside for testing. Choose a share of test rows on Data."))
    elif target is None:
        st.info(say("Accuracy needs a class column. Choose one on Data."))
    else:
        markdown(
            "How well is **{target}** predicted for real test rows, which no model learned from? "
            "Differences below {smallest:.1%} may be random ({mark}).",
            target=escape(target),
            smallest=1 / math.sqrt(rows),  # 95% intervals of shares are narrower
            mark=say(REAL_DATA),
        )
        if isinstance(shown.release.artifact, Model):
            classifier.draw_scores(page, shown)
        else:
            draw_learners(page, shown, target)
        note_test_sample(shown)


def draw_learners(page: str, shown: ShownRelease, target: str) -> None:
    """Draw the accuracy of classifiers that were trained on the synthetic and on the real rows."""
    compute = partial(compute_accuracies, shown, target)
    frame = jobs.late_value(page, shown, "accuracy", phrase("Training classifiers"), compute)
    if frame is None:
        return
    metric = "accuracy"
    if column_shares(shown, target)["real"].min() < RARE_CLASS:
        metric = "balanced_accuracy"
        markdown("One class has below 10 % of rows, so accuracy is balanced: the mean share predicted right per class.")
    known = frame["model"] != MAJORITY
    majority = float(frame.loc[~known, metric].iloc[0])
    real(charts.accuracy, frame, of=known, majority=majority, metric=metric)
    notes = frame["note"].fillna("").str.removesuffix(evaluator(shown).test_rows_note).str.strip()
    for note in notes[notes != ""].unique():
        st.caption(escape(retold(note)))


def compute_accuracies(shown: ShownRelease, target: str, progress: Progress) -> pd.DataFrame:
    """Return accuracies of classifiers by their training rows: synthetic, real, and noiseless.

    "same method, no noise" is a baseline for the screen only, and is never released. Its lead over
    the release is the cost of privacy: noise, and the structure that a small epsilon does not
    allow.
    """
    release, measured = shown.release, evaluator(shown)
    found = [measured.train_and_test(release.synthetic, target, progress=progress)]
    if math.isfinite(release.ledger.epsilon_claimed):
        progress(0.5, phrase("the same method without noise"))
        rows = fit_noiseless(shown).sample(len(release.synthetic))
        scores = measured.train_and_test(rows, target, include_real=False)
        found.append(scores.assign(trained_on="same method, no noise"))
    return pd.concat(found, ignore_index=True)


def comparison_charts(page: str, shown: ShownRelease) -> list[tuple[Any, pd.DataFrame]] | None:
    """Return charts and tables that compare a release with real rows, for the HTML report.

    Returns None until they are computed.
    """
    if isinstance(shown.release.artifact, Model):
        return classifier.accuracy_charts(page, shown)
    found: list[tuple[Any, pd.DataFrame]] = []
    draws = (charts.worst_columns, charts.pair_heatmap)
    with use_language(ENGLISH):  # as all files are
        for degree, draw in zip(range(1, len(shown.release.schema) + 1), draws, strict=False):
            frame = remember(shown, f"{degree}-way", partial(marginal_distances, shown, degree))
            found.append((draw(frame), frame))
    if numbers := column_centers(shown):
        found.append((CENTERS, pd.DataFrame(numbers).set_axis(HEADS, axis=1)))
    return found
