"""Predictions for invented people and for a file's rows, by a model of ours or from a file."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from dpcore.dashboard import hosting, housekeeping, jobs
from dpcore.dashboard.intake import how_to_read
from dpcore.dashboard.panels.download import file_button
from dpcore.dashboard.panels.one_person import one_person
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption, markdown
from dpcore.datasets.formats import UNPACKED
from dpcore.datasets.reading import read_frame
from dpcore.domain.column import Column
from dpcore.export.artifacts import Model
from dpcore.export.rendering import spreadsheet_csv, spreadsheet_safe
from dpcore.language import phrase, retold, say
from dpcore.text import canonical, claim, limit

FIRST, LISTED = 20, 8


class FilePredictions(NamedTuple):
    """Predictions for one file by one model."""

    file: str
    model: Model
    rows: pd.DataFrame


def drawer(page: str) -> None:
    """A drawer for a model from a file; what was read last stays until something better is."""
    with st.expander(say("Or predict with a saved model")):
        label, note = say("A model.json that you downloaded"), say("Nothing in it is run.")
        file = housekeeping.uploader(label, type="json", key=f"{page}.model_file", help=note)
        model = jobs.read_file(f"dpcore.model:{page}", file, Model.from_json, last=True)
        if model is None:
            caption("A model is enough: no private row is needed, and nothing is spent.")
        else:
            its_privacy(model.origin)
            predict(f"{page}.saved", model)


def its_privacy(about: Mapping[str, Any]) -> None:
    """What a file says of the privacy of what it holds."""
    caption(
        "Its file says: {method}, epsilon claimed: {claimed}, can cost up to: {bound}. {unit}",
        method=escape(str(about["method"])),
        claimed=claim(about["epsilon_claimed"]),
        bound=limit(about["epsilon_bound"]),
        unit=escape(str(about.get("unit", ""))),
    )
    if about["guarantee_void"]:
        st.warning(escape(retold(str(about["guarantee_void"]))), icon=":material/gpp_bad:")


def predict(page: str, model: Model) -> None:
    """What a model says of two invented people, and of the rows of a file."""
    one_person(page, model)
    st.divider()
    predict_file(page, model)


def predict_file(page: str, model: Model) -> None:
    """What a model says of the rows of a file."""
    markdown("**All rows of a file**")
    needed = [(one.name, describe_allowed(one)) for one in model.schema if one.name != model.target]
    with st.expander(say("What the file must hold: {n:,} columns", n=len(needed))):
        st.dataframe(pd.DataFrame(needed, columns=[say("column"), say("allowed")]), hide_index=True)
    label = say("Rows to predict: {kinds}, also packed", kinds=", ".join(UNPACKED))
    note = say("Read in the memory of the computer that runs this program; written nowhere.")
    file = housekeeping.uploader(label, key=f"{page}.rows", help=note)
    with st.expander(say("How to read it: encoding, delimiter, decimals")):
        options = how_to_read(page)

    def work() -> FilePredictions:
        rows = read_frame(file.getvalue(), file.name, max_shape=hosting.max_shape(), **options)
        return FilePredictions(file.name, model, model.predictions(rows))

    request = None if file is None else (file.file_id, model, *options.items())
    key, title = f"dpcore.predicted:{page}", phrase("Predicting")
    found = jobs.read_upload(key, request, title, work, last=True)
    if found is not None and found.model is model:
        answers(page, found)


def describe_allowed(column: Column) -> str:
    """What a column may hold: values or bins."""
    names = column.labels
    return ", ".join(names if len(names) <= LISTED else [*names[: LISTED - 1], "…", names[-1]])


def answers(page: str, found: FilePredictions) -> None:
    """How many of each class, the first rows, and the table to take along."""
    rows, model = found.rows, found.model
    name, target = rows.columns[-2], model.target
    markdown(
        "{rows:,} predictions for **{file}** by {method}. They hold your file's rows: the file's "
        "privacy is yours to keep.",
        rows=len(rows),
        file=escape(found.file),
        method=escape(str(model.origin["method"])),
    )
    if target in rows.columns:
        known = rows[target].dropna().map(canonical)
        markdown(
            "Your file says **{target}** itself: {right:,} of {known:,} predictions agree.",
            target=escape(target),
            right=(known == rows.loc[known.index, name].map(canonical)).sum(),
            known=len(known),
        )
    counts = rows[name].value_counts().reindex(list(model.classes_), fill_value=0).rename(index=str)
    frame = counts.rename_axis(say("predicted")).reset_index(name=say("rows"))
    st.dataframe(frame, hide_index=True, width="content", key=f"{page}.predicted_counts")
    table, key = spreadsheet_csv(rows).encode("utf-8"), f"{page}.download_predictions"
    file_button(key, say("Download the predictions"), table, "predictions.csv", type="primary")
    if escapes := spreadsheet_safe(rows)[1]:
        caption(
            "{cells:,} cells that a spreadsheet would run begin with an apostrophe in the CSV.",
            cells=escapes,
        )
    first = rows.head(FIRST)
    first = first[[*first.columns[-2:], *first.columns[:-2]]]
    st.dataframe(first, hide_index=True, key=f"{page}.predicted_rows")
    caption(
        "The first {n:,} rows. Probabilities are the model's own: naive Bayes is often far too sure of "
        "itself, and where trees vote, that of the class that won may be small.",
        n=len(first),
    )
