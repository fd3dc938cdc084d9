"""Predictions of a model for invented people and for the rows of a file."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from dpcore.dashboard import hosting, housekeeping, jobs
from dpcore.dashboard.intake import choose_reading
from dpcore.dashboard.panels.download import file_button
from dpcore.dashboard.panels.one_person import draw_two_persons
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption, markdown
from dpcore.datasets.formats import TABLE_FORMATS
from dpcore.datasets.reading import read_frame
from dpcore.domain.column import Column
from dpcore.export.artifacts import Model
from dpcore.export.rendering import spreadsheet_csv, spreadsheet_safe
from dpcore.language import phrase, retold, say
from dpcore.text import canonical, claim, limit

FIRST, LISTED = 20, 8


class FilePredictions(NamedTuple):
    """Predictions of one model for one file."""

    file: str
    model: Model
    rows: pd.DataFrame


def saved_model_drawer(page: str) -> None:
    """Draw an expander for a model from a file; the last readable model stays."""
    with st.expander(say("Or predict with a saved model")):
        label, note = say("A model.json that you downloaded"), say("No code in the file is run.")
        file = housekeeping.uploader(label, type="json", key=f"{page}.model_file", help=note)
        model = jobs.read_file(f"dpcore.model:{page}", file, Model.from_json, last=True)
        if model is None:
            caption("A saved model suffices: no private row is needed, and no budget is spent.")
        else:
            draw_model_privacy(model.origin)
            draw_predictions(f"{page}.saved", model)


def draw_model_privacy(about: Mapping[str, Any]) -> None:
    """Draw what a model's file says of its privacy."""
    caption(
        "The model's file says: {method}, claimed epsilon: {claimed}, proven at most: {bound}. {unit}",
        method=escape(str(about["method"])),
        claimed=claim(about["epsilon_claimed"]),
        bound=limit(about["epsilon_bound"]),
        unit=escape(str(about.get("unit", ""))),
    )
    if about["guarantee_void"]:
        st.warning(escape(retold(str(about["guarantee_void"]))), icon=":material/gpp_bad:")


def draw_predictions(page: str, model: Model) -> None:
    """Draw a model's predictions for two invented people, and for the rows of a file."""
    draw_two_persons(page, model)
    st.divider()
    predict_rows(page, model)


def predict_rows(page: str, model: Model) -> None:
    """Draw a model's predictions for the rows of a file."""
    markdown("**All rows of a file**")
    needed = [(one.name, describe_allowed(one)) for one in model.schema if one.name != model.target]
    with st.expander(say("What the file must hold: {n:,} columns", n=len(needed))):
        st.dataframe(pd.DataFrame(needed, columns=[say("column"), say("allowed values")]), hide_index=True)
    label = say("Rows to predict: {kinds}, also compressed", kinds=", ".join(TABLE_FORMATS))
    note = say("The file is read into the memory of this server, and written nowhere.")
    file = housekeeping.uploader(label, key=f"{page}.rows", help=note)
    with st.expander(say("How to read the file: encoding, delimiter, decimals")):
        options = choose_reading(page)

    def work() -> FilePredictions:
        rows = read_frame(file.getvalue(), file.name, max_shape=hosting.max_shape(), **options)
        return FilePredictions(file.name, model, model.predictions(rows))

    request = None if file is None else (file.file_id, model, *options.items())
    key, title = f"dpcore.predicted:{page}", phrase("Predicting classes")
    found = jobs.read_upload(key, request, title, work, last=True)
    if found is not None and found.model is model:
        draw_answers(page, found)


def describe_allowed(column: Column) -> str:
    """Return a column's allowed values or bins as text."""
    names = column.labels
    return ", ".join(names if len(names) <= LISTED else [*names[: LISTED - 1], "…", names[-1]])


def draw_answers(page: str, found: FilePredictions) -> None:
    """Draw the counts of predicted classes, the first rows, and a download of all predictions.

    `found` has the predictions for one file.
    """
    rows, model = found.rows, found.model
    name, target = rows.columns[-2], model.target
    markdown(
        "{rows:,} predictions for **{file}** by {method}. They contain your file's rows: keep "
        "them as private as the file.",
        rows=len(rows),
        file=escape(found.file),
        method=escape(str(model.origin["method"])),
    )
    if target in rows.columns:
        known = rows[target].dropna().map(canonical)
        markdown(
            "Your file has the column **{target}**: {right:,} of {known:,} predictions agree with it.",
            target=escape(target),
            right=(known == rows.loc[known.index, name].map(canonical)).sum(),
            known=len(known),
        )
    counts = rows[name].value_counts().reindex(list(model.classes_), fill_value=0).rename(index=str)
    frame = counts.rename_axis(say("predicted class")).reset_index(name=say("number of rows"))
    st.dataframe(frame, hide_index=True, width="content", key=f"{page}.predicted_counts")
    table, key = spreadsheet_csv(rows).encode("utf-8"), f"{page}.download_predictions"
    file_button(key, say("Download the predictions"), table, "predictions.csv", type="primary")
    if escapes := spreadsheet_safe(rows)[1]:
        caption(
            "{cells:,} cells that a spreadsheet would run as formulas begin with an apostrophe in the CSV.",
            cells=escapes,
        )
    first = rows.head(FIRST)
    first = first[[*first.columns[-2:], *first.columns[:-2]]]
    st.dataframe(first, hide_index=True, key=f"{page}.predicted_rows")
    caption(
        "The first {n:,} rows. Probabilities are the model's own: naive Bayes is often far too "
        "sure, and among trees that vote, the winning class may have a small probability.",
        n=len(first),
    )
