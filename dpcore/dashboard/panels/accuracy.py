"""How well classes are predicted, by a released classifier or by what learns from released rows."""

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
from dpcore.dashboard.panels import centers, classifier, distances, evaluator, noiseless, of_test_rows, real, shares
from dpcore.dashboard.session import ShownRelease, remember
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import markdown
from dpcore.datasets import Dataset
from dpcore.errors import DPCoreError
from dpcore.evaluate.evaluator import Evaluator
from dpcore.evaluate.learners import MAJORITY
from dpcore.export.artifacts import Model
from dpcore.language import ENGLISH, phrase, retold, say, use_language

CENTERS = "Means and medians of numbers, whatever the bins"
HEADS = ["column", "real mean", "mean", "median", "real rows below the median", "far off"]
RARE_CLASS = 0.1  # share of rows below which accuracy says little of a class


def rare_class(page: str, method: Any, data: Dataset, rows: int | None) -> None:
    """Say how many rows the rarest class has, where they are few, and the noise on them; it reads the rows."""
    target, schema = getattr(method, "target", None) or data.schema.target, data.schema
    if target is None or schema[target].numeric or not data.held:
        return
    known = session.keep_once("dpcore.classes", dict[Any, Any])
    counts = session.compute_once(
        known, (data.token, target, schema.to_json()), partial(Evaluator(data).class_rows, target)
    )
    rarest = int(counts.argmin())
    if counts[rarest] >= RARE_CLASS * counts.sum():
        return
    with suppress(DPCoreError):
        noise = before_run.expectation(method, schema, rows or before_run.rows_expected(page, schema)).class_noise
        if noise is not None and math.isfinite(noise):
            words = phrase("**{column} = {value}:** about {n:,.0f} rows, noise about ± {noise:,.0f}. :orange[{mark}]")
            about = {"column": escape(target), "value": escape(schema[target].labels[rarest]), "mark": say(REAL_DATA)}
            st.markdown(say(words, n=float(f"{counts[rarest]:.2g}"), noise=float(f"{noise:.2g}"), **about))


def accuracy(page: str, shown: ShownRelease) -> None:
    """A released classifier, or classifiers trained on synthetic and on real rows, tested on real rows kept aside."""
    rows = len(shown.data.test_sample)
    target = shown.release.parameters.get("target") or shown.release.schema.target
    if not rows:
        st.info(say("No rows were set apart for testing: choose it on Data."))
    elif target is None:
        st.info(say("Accuracy needs a class column. Choose one on Data."))
    else:
        markdown(
            "How well is **{target}** predicted for real rows that were not learned from? "
            "Differences below {margin:.1%} may be random ({mark}).",
            target=escape(target),
            margin=1 / math.sqrt(rows),  # 95% intervals of shares are narrower
            mark=say(REAL_DATA),
        )
        if isinstance(shown.release.artifact, Model):
            classifier.scores(page, shown)
        else:
            learners(page, shown, target)
        of_test_rows(shown)


def learners(page: str, shown: ShownRelease, target: str) -> None:
    """What classifiers score that were trained on the synthetic rows, and on the real ones."""
    compute = partial(accuracies, shown, target)
    frame = jobs.once(page, shown, "accuracy", phrase("Training classifiers"), compute)
    if frame is None:
        return
    metric = "accuracy"
    if shares(shown, target)["real"].min() < RARE_CLASS:
        metric = "balanced_accuracy"
        markdown("Balanced accuracy: the mean share of each class that is found, as the rarest class is below 10 %.")
    known = frame["model"] != MAJORITY
    majority = float(frame.loc[~known, metric].iloc[0])
    real(charts.accuracy, frame, of=known, majority=majority, metric=metric)
    notes = frame["note"].fillna("").str.removesuffix(evaluator(shown).test_rows_note).str.strip()
    for note in notes[notes != ""].unique():
        st.caption(escape(retold(note)))


def accuracies(shown: ShownRelease, target: str, progress: Progress) -> pd.DataFrame:
    """The release's accuracies beside those of real rows and of the same method without noise.

    The reference without noise is for the screen only: it is never released. What it is better at
    is the price of privacy: noise, and whatever a method leaves out because its epsilon is small.
    """
    release, measured = shown.release, evaluator(shown)
    found = [measured.train_and_test(release.synthetic, target, progress=progress)]
    if math.isfinite(release.ledger.epsilon_claimed):
        progress(0.5, phrase("the same method without noise"))
        rows = noiseless(shown).sample(len(release.synthetic))
        scores = measured.train_and_test(rows, target, include_real=False)
        found.append(scores.assign(trained_on="same method, no noise"))
    return pd.concat(found, ignore_index=True)


def comparisons(page: str, shown: ShownRelease) -> list[tuple[Any, pd.DataFrame]] | None:
    """Charts, and a table under its title, that compare with real rows, for a report."""
    if isinstance(shown.release.artifact, Model):
        return classifier.pictures(page, shown)
    found: list[tuple[Any, pd.DataFrame]] = []
    draws = (charts.worst_columns, charts.pair_heatmap)
    with use_language(ENGLISH):  # as all files are
        for degree, draw in zip(range(1, len(shown.release.schema) + 1), draws, strict=False):
            frame = remember(shown, f"{degree}-way", partial(distances, shown, degree))
            found.append((draw(frame), frame))
    if numbers := centers(shown):
        found.append((CENTERS, pd.DataFrame(numbers).set_axis(HEADS, axis=1)))
    return found
