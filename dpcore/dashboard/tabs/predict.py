"""Predictions for a file's rows, by the model on the screen or by one that was taken home earlier."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pandas as pd
import streamlit as st

from dpcore.dashboard import housekeeping
from dpcore.dashboard.sections.intake import how_to_read
from dpcore.dashboard.session import Shown
from dpcore.dashboard.shell import escaped, mendable
from dpcore.dashboard.tabs.one_person import one_person
from dpcore.dashboard.tabs.take_home import download
from dpcore.datasets.formats import FORMATS
from dpcore.datasets.reading import MAX_BYTES, read_frame
from dpcore.errors import DPCoreError
from dpcore.export.model_file import Model
from dpcore.export.quoting import spreadsheet_csv, spreadsheet_safe
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.text import canonical, claim, limit

Value = TypeVar("Value")
HERE, FILE = "The model on this page", "A model from a file"
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
    source = st.segmented_control(
        "Predict with", sources, default=sources[0], required=True, key=f"{page}.model_from.{len(sources)}"
    )
    if source == HERE and shown is not None:
        model: Model | None = shown.release.model
    else:
        model = from_file(page)
    if model is None:
        st.caption("A model is enough: no private row is needed, and nothing is spent.")
        return
    st.markdown(about(model, "" if source == HERE else "Its file says: "))
    if model.about["guarantee_void"]:
        st.warning(escaped(str(model.about["guarantee_void"])), icon=":material/gpp_bad:")
    one_person(page, model)
    by(page, model)


def by(page: str, model: Model) -> None:
    """What a model says of the rows of a file."""
    st.divider()
    st.markdown("**All rows of a file**")
    needed = [name for name in model.schema.names if name != model.target]
    with st.expander(f"What the file must hold: {len(needed):,} columns"):
        rows = [{"column": name, "allowed": allowed(model, name)} for name in needed]
        st.dataframe(pd.DataFrame(rows), hide_index=True)
    file = housekeeping.uploader(
        f"Rows to predict ({', '.join(FORMATS[:5])}, also packed; at most {MAX_BYTES >> 20} MB)",
        key=f"{page}.rows",
        help="Read in the memory of the computer that runs this program; written nowhere. Other "
        "columns are kept as they are.",
    )

    options = how_to_read(page)

    def work() -> Predicted:
        assert file is not None
        return Predicted(file.name, model, model.predictions(read_frame(file.getvalue(), file.name, **options)))

    asked = None if file is None else (file.file_id, model, *options.items())
    found = kept(f"dpcore.predicted:{page}", asked, work)
    if found is not None:
        if found.model is not model:
            st.info("What follows was predicted by an earlier model. Hand the file over again to ask this one.")
        answers(page, found)


def kept(key: str, asked: Any, work: Callable[[], Value]) -> Value | None:
    """What was made last. New work is done once per thing asked for; if it fails, the cause stays on the screen."""
    memory: dict[str, Any] = st.session_state.setdefault(key, {"asked": None, "error": None, "value": None})
    if asked is not None and memory["asked"] != asked:
        memory["error"] = None
        try:
            memory["value"] = work()
        except DPCoreError as error:
            memory["error"] = error
        memory["asked"] = asked  # of what fails otherwise, nothing is kept and nothing earlier is shown for it
    if asked is not None and memory["error"] is not None:
        if memory["value"] is not None:
            st.caption("This was refused. What follows is still what was read before.")
        with mendable():
            raise memory["error"]
    found: Value | None = memory["value"]
    return found


def from_file(page: str) -> Model | None:
    """A model.json that was taken home; what was read last stays until something better is read."""
    file = housekeeping.uploader(
        "A model.json that was taken home",
        type="json",
        key=f"{page}.model_file",
        help="It holds trees and noisy counts as text. Nothing in it is run.",
    )
    return kept(
        f"dpcore.model:{page}",
        None if file is None else file.file_id,
        lambda: Model.from_json(file.getvalue() if file is not None else b""),
    )


def about(model: Model, whence: str = "") -> str:
    """A model in a sentence or two; `whence` is whose words its epsilons are."""
    told, (what, many) = model.about, model.size
    claimed, bound = told["epsilon_claimed"], told["epsilon_bound"]
    return (
        f"**{escaped(str(told['method']))}** predicts **{escaped(model.target)}** "
        f"({', '.join(escaped(str(name)) for name in model.classes_[:6])}{' …' if len(model.classes_) > 6 else ''}). "
        f"{what}: {many}. {whence}epsilon claimed: {claim(claimed)}, can cost up to: {limit(bound)}."
    )


def allowed(model: Model, name: str) -> str:
    """What a column may hold, in words."""
    column = model.schema[name]
    missing = ", or nothing" if column.missing else ""
    if column.numeric:
        return f"{' to '.join(column.told(float(bound or 0.0)) for bound in (column.lower, column.upper))}{missing}"
    names = column.categories
    return ", ".join(names[:8]) + (f" and {len(names) - 8:,} more" if len(names) > 8 else "") + missing


def answers(page: str, found: Predicted) -> None:
    """How many of each class, the first rows, and the table to take along."""
    name = found.rows.columns[-2]
    told = (
        f"{len(found.rows):,} predictions for **{escaped(found.file)}** by {escaped(str(found.model.about['method']))}"
    )
    st.markdown(f"{told}. They hold your file's rows: the file's privacy is yours to keep.")
    if (target := found.model.target) in found.rows.columns:
        known = found.rows[target].dropna().map(canonical)
        right = (known == found.rows.loc[known.index, name].map(canonical)).sum()
        st.markdown(f"Your file says **{escaped(target)}** itself: {right:,} of {len(known):,} predictions agree.")
    counts = found.rows[name].value_counts().reindex(list(found.model.classes_), fill_value=0)
    frame = pd.DataFrame({"predicted": counts.index.astype(str), "rows": counts.to_numpy()})
    st.dataframe(frame, hide_index=True, width="content", key=f"{page}.predicted_counts")
    escapes = spreadsheet_safe(found.rows)[1]
    table = spreadsheet_csv(found.rows).encode("utf-8")
    download(f"{page}.download_predictions", "the predictions", table, "predictions.csv", type="primary")
    if escapes:
        st.caption(f"{escapes:,} cells that a spreadsheet would run as formulas begin with an apostrophe in the CSV.")
    first = found.rows.head(FIRST)
    st.dataframe(first[[*first.columns[-2:], *first.columns[:-2]]], hide_index=True, key=f"{page}.predicted_rows")
    means = (
        "The probability is naive Bayes's, which takes columns for independent: it is often far too sure of itself."
        if isinstance(found.model.predictor, Bayes)
        else "The probability is the class's share in the leaves of the trees, which are noisy; where trees vote and "
        "the votes are close, it may be small for the class that won."
    )
    st.caption(f"The first {len(first):,} rows. {means}")
