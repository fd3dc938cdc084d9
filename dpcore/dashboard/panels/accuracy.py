"""How well classifiers learn from a release: trained on it and on real rows, tested on real rows kept aside."""

import math
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.arguments import Progress
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import jobs
from dpcore.dashboard.panels import classifier, distances, evaluator, noiseless, of_test_rows, real
from dpcore.dashboard.session import Shown, remember
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption, markdown
from dpcore.evaluate.learners import MAJORITY
from dpcore.export.model_file import Model
from dpcore.language import ENGLISH, phrase, retold, say, speaking

RARE = 0.1  # share of a class below which accuracy says little of it


def accuracy(page: str, shown: Shown) -> None:
    """A released classifier, or classifiers trained on synthetic and on real rows, tested on real rows kept aside."""
    if isinstance(shown.release.artifact, Model):
        classifier.accuracy(page, shown)
        return
    release, data = shown.release, shown.data
    target = release.parameters.get("target") or release.schema.target
    if not len(data.test_sample):
        st.info(say("No rows were set apart for testing: choose it on Data."))
        return
    if target is None:
        st.info(say("Accuracy needs a class column. Choose one on Data."))
        return
    frame = jobs.once(page, shown, "accuracy", phrase("Training classifiers"), partial(accuracies, shown, target))
    if frame is None:
        return
    classes = partial(evaluate.marginals, evaluator(shown).rows, release.synthetic, release.schema, target)
    rarest = float(remember(shown, f"column {target}", classes)["real"].min())
    metric = "balanced_accuracy" if rarest < RARE else "accuracy"
    majority = float(frame.loc[frame["model"] == MAJORITY, metric].iloc[0])
    markdown(
        "How well can **{target}** be predicted for {rows:,} real rows that this release did not learn from, by a "
        "classifier that learned from the synthetic rows, or from the real ones? ({mark})",
        target=escaped(target),
        rows=len(data.test_sample),
        mark=say(REAL_DATA),
    )
    if rarest < RARE:
        caption("Balanced accuracy: the mean share of each class that is found, as the rarest class is below 10 %.")
    real(charts.accuracy, frame, of=frame["model"] != MAJORITY, majority=majority, metric=metric)
    tested = evaluator(shown).asked
    for note in dict.fromkeys(note.removesuffix(tested).strip() for note in frame["note"].fillna("")):
        if note:
            st.caption(escaped(retold(note)))
    of_test_rows(shown)


def accuracies(shown: Shown, target: str, progress: Progress) -> pd.DataFrame:
    """The release's accuracies beside those of real rows and of the same method without noise.

    The reference without noise is for the screen only: it is never released. What it is better at is the price of
    privacy: noise, and whatever a method leaves out because its epsilon is small.
    """
    release, measured = shown.release, evaluator(shown)
    found = [measured.learned(release.synthetic, target, progress=progress)]
    if math.isfinite(release.ledger.epsilon_claimed):
        progress(0.5, phrase("the same method without noise"))
        rows = noiseless(shown).sample(len(release.synthetic))
        scores = measured.learned(rows, target, include_real=False)
        found.append(scores.assign(trained_on="same method, no noise"))
    return pd.concat(found, ignore_index=True)


def comparisons(page: str, shown: Shown) -> list[tuple[Any, pd.DataFrame]] | None:
    """The charts that compare a release with real rows, for a report that someone wants them in; None until then."""
    if isinstance(shown.release.artifact, Model):
        return classifier.pictures(page, shown)
    with speaking(ENGLISH):  # as all files are
        worst = remember(shown, "1-way", lambda: distances(shown, 1))
        found: list[tuple[Any, pd.DataFrame]] = [(charts.worst_columns(worst), worst)]
        if len(shown.release.schema) > 1:
            pairs = remember(shown, "2-way", lambda: distances(shown, 2))
            found.append((charts.pair_heatmap(pairs), pairs))
        return found
