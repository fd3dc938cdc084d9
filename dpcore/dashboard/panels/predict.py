"""Predictions for a file's rows, by the model on the screen or by one that was taken home earlier."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.dashboard import hosting, housekeeping, jobs
from dpcore.dashboard.intake import how_to_read
from dpcore.dashboard.panels.download import file_button
from dpcore.dashboard.panels.one_person import one_person
from dpcore.dashboard.session import Shown
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption, markdown
from dpcore.datasets.formats import UNPACKED
from dpcore.datasets.reading import MAX_BYTES, read_frame
from dpcore.export.model_file import Model
from dpcore.export.quoting import spreadsheet_csv, spreadsheet_safe
from dpcore.language import phrase, retold, say
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.text import canonical, claim, limit

HERE, FILE = phrase("The model on this page"), phrase("A model from a file")
FIRST = 20


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions for one file by one model."""

    file: str
    model: Model
    rows: pd.DataFrame


def predict(page: str, shown: Shown | None) -> None:
    """A model, a file, and what the one says of the other."""
    sources = [HERE, FILE] if shown is not None else [FILE]
    look: dict[str, Any] = {"default": sources[0], "required": True, "format_func": say}
    source = st.segmented_control(say("Predict with"), sources, key=f"{page}.model_from.{len(sources)}", **look)
    if source == HERE and shown is not None:
        model: Model | None = shown.release.model
    else:
        model = from_file(page)
    if model is None:
        caption("A model is enough: no private row is needed, and nothing is spent.")
        return
    st.markdown(about(model, "" if source == HERE else say("Its file says: ")))
    if model.about["guarantee_void"]:
        st.warning(escaped(retold(str(model.about["guarantee_void"]))), icon=":material/gpp_bad:")
    one_person(page, model)
    by(page, model)


def by(page: str, model: Model) -> None:
    """What a model says of the rows of a file."""
    st.divider()
    markdown("**All rows of a file**")
    needed = [name for name in model.schema.names if name != model.target]
    with st.expander(say("What the file must hold: {n:,} columns", n=len(needed))):
        rows = [{say("column"): name, say("allowed"): allowed(model, name)} for name in needed]
        st.dataframe(pd.DataFrame(rows), hide_index=True)
    file = housekeeping.uploader(
        say(
            "Rows to predict ({formats}, also packed; at most {size} MB)",
            formats=", ".join(UNPACKED),
            size=MAX_BYTES >> 20,
        ),
        key=f"{page}.rows",
        help=say(
            "Read in the memory of the computer that runs this program; written nowhere. Other columns are kept as "
            "they are."
        ),
    )

    with st.expander(say("How to read it: encoding, delimiter, decimals")):
        options = how_to_read(page)

    def work() -> Predicted:
        assert file is not None
        rows = read_frame(file.getvalue(), file.name, max_shape=hosting.max_shape(), **options)
        return Predicted(file.name, model, model.predictions(rows))

    asked = None if file is None else (file.file_id, model, *options.items())
    found = jobs.read_upload(f"dpcore.predicted:{page}", asked, phrase("Predicting"), work, last=True)
    if found is not None:
        if found.model is not model:
            told = phrase("What follows was predicted by an earlier model. Hand the file over again to ask this one.")
            st.info(say(told))
        answers(page, found)


def from_file(page: str) -> Model | None:
    """A model.json that was taken home; what was read last stays until something better is read."""
    file = housekeeping.uploader(
        say("A model.json that was taken home"),
        type="json",
        key=f"{page}.model_file",
        help=say("It holds trees and noisy counts as text. Nothing in it is run."),
    )
    return jobs.read_file(f"dpcore.model:{page}", file, Model.from_json, last=True)


def about(model: Model, whence: str = "") -> str:
    """A model in a sentence or two; `whence` is whose words its epsilons are."""
    told, (what, many) = model.about, model.size
    claimed, bound = told["epsilon_claimed"], told["epsilon_bound"]
    classes = ", ".join(escaped(str(name)) for name in model.classes_[:6]) + " …" * (len(model.classes_) > 6)
    return say(
        "**{method}** predicts **{target}** ({classes}). {what}: {many}. {whence}epsilon claimed: {claimed}, can cost "
        "up to: {bound}.",
        method=escaped(str(told["method"])),
        target=escaped(model.target),
        classes=classes,
        what=say(what),
        many=many,
        whence=whence,
        claimed=claim(claimed),
        bound=limit(bound),
    )


def allowed(model: Model, name: str) -> str:
    """What a column may hold, in words."""
    column = model.schema[name]
    missing = say(", or nothing") if column.missing else ""
    if column.numeric:
        low, high = (column.format_value(float(bound or 0.0)) for bound in (column.lower, column.upper))
        return say("{low} to {high}", low=low, high=high) + missing
    names, few = column.categories, ", ".join(column.categories[:8])
    return (say("{names} and {more:,} more", names=few, more=len(names) - 8) if len(names) > 8 else few) + missing


def answers(page: str, found: Predicted) -> None:
    """How many of each class, the first rows, and the table to take along."""
    name = found.rows.columns[-2]
    markdown(
        "{rows:,} predictions for **{file}** by {method}. They hold your file's rows: the file's privacy is yours "
        "to keep.",
        rows=len(found.rows),
        file=escaped(found.file),
        method=escaped(str(found.model.about["method"])),
    )
    if (target := found.model.target) in found.rows.columns:
        known = found.rows[target].dropna().map(canonical)
        right = (known == found.rows.loc[known.index, name].map(canonical)).sum()
        markdown(
            "Your file says **{target}** itself: {right:,} of {known:,} predictions agree.",
            target=escaped(target),
            right=right,
            known=len(known),
        )
    counts = found.rows[name].value_counts().reindex(list(found.model.classes_), fill_value=0)
    frame = pd.DataFrame({say("predicted"): counts.index.astype(str), say("rows"): counts.to_numpy()})
    st.dataframe(frame, hide_index=True, width="content", key=f"{page}.predicted_counts")
    escapes = spreadsheet_safe(found.rows)[1]
    table = spreadsheet_csv(found.rows).encode("utf-8")
    file_button(
        f"{page}.download_predictions", say("Download the predictions"), table, "predictions.csv", type="primary"
    )
    if escapes:
        caption(
            "{cells:,} cells that a spreadsheet would run as formulas begin with an apostrophe in the CSV.",
            cells=escapes,
        )
    first = found.rows.head(FIRST)
    st.dataframe(first[[*first.columns[-2:], *first.columns[:-2]]], hide_index=True, key=f"{page}.predicted_rows")
    means = (
        say(
            "The probability is naive Bayes's, which takes columns for independent: it is often far too sure of itself."
        )
        if isinstance(found.model.predictor, Bayes)
        else say(
            "The probability is the class's share in the leaves of the trees, which are noisy; where trees vote and "
            "the votes are close, it may be small for the class that won."
        )
    )
    caption("The first {n:,} rows. {means}", n=len(first), means=means)
