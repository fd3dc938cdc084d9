"""Editor of a column's public taxonomy, as a chart and a table, with file upload and download."""

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import housekeeping, intake, jobs, panels, session
from dpcore.dashboard.panels.download import file_button
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption, lasting, markdown
from dpcore.datasets import Dataset, new_token
from dpcore.domain.column import Column
from dpcore.domain.taxonomy import MAX_LEVELS, Taxonomy
from dpcore.domain.taxonomy_tree import ANY, Hierarchy, intervals
from dpcore.errors import SchemaError
from dpcore.language import phrase, retold, say
from dpcore.text import canonical

KEY = "taxonomy.editor"
TALLEST = 1_200  # pixels of a tree; a taller one scrolls
Owner = tuple[str, Column]  # token of the data, and the declared column


class Draft:
    """A taxonomy that is being edited: a table of groups by value, with one level to spare.

    The table's widget never gets back the table that it returned; Streamlit would lose every second
    edit. A widget that was not drawn for a while has forgotten its edits, so a new one continues
    from them.
    """

    def __init__(self, tree: Taxonomy) -> None:
        """Start from the paths of `tree`: a row per value, a column per level, one spare level."""
        levels = min(max(map(len, tree.paths)) - 1, MAX_LEVELS - 2)
        rows = [[*path[1:-1], *[""] * levels][:levels] for path in tree.paths]
        names = [say("level {n}", n=n) for n in range(1, levels + 1)]
        values = pd.Index(tree.leaves, name=say("value"))
        self.base = self.edited = pd.DataFrame(rows, values, names, dtype=object)
        self.root, self.token = tree.root, ""

    def edit(self) -> None:
        """Draw the table of the draft, and keep its edits."""
        if f"{KEY}.table:{self.token}" not in st.session_state:
            self.base, self.token = self.edited, new_token()
        look: Any = {"key": f"{KEY}.table:{self.token}", "disabled": ["_index"]}
        look["alt"] = say("One row per value of the column, with the groups that hold it.")
        self.edited = st.data_editor(self.base, **look)

    def tree(self) -> Taxonomy:
        """Return the taxonomy that the table describes; a SchemaError names the faulty row."""
        rows = zip(self.edited.index, self.edited.fillna("").to_numpy(), strict=True)
        paths = ((value, *filter(None, map(str.strip, cells)), self.root) for value, cells in rows)
        return Taxonomy(tuple(paths))


def drafts() -> dict[Owner, Draft]:
    """Return the session's taxonomies that are edited and not in use yet.

    Keys are the token of the data and the column.
    """
    return session.keep_once(f"{KEY}.drafts", dict[Owner, Draft])


def start_over(owner: Owner, tree: Taxonomy) -> None:
    """Drop the edits of a taxonomy, and edit `tree` instead. A button's callback.

    `owner` is the token of the data and the column.
    """
    drafts()[owner] = Draft(tree)


def draw_drawer(data: Dataset) -> None:
    """Draw the folded drawer with the editor of taxonomies, for columns of two values or more."""
    label = say("Taxonomies: which values belong together")
    found = st.expander(label, key="taxonomy.taxonomies", on_change="rerun")
    columns = {column.name: column for column in data.schema if column.size - column.missing > 1}
    if found.open and columns:
        with found:
            draw_editor(data, columns)


def draw_editor(data: Dataset, columns: dict[str, Column]) -> None:
    """Draw the choice of one of `columns`, its taxonomy, the editor, and the apply button."""
    first = [column.taxonomy is None for column in columns.values()]
    at = first.index(False) if not all(first) else 0
    left, right = st.columns([2, 3], vertical_alignment="bottom", gap="large")
    label, key = say("Column"), f"{KEY}.column:{data.token}"
    column = columns[lasting(left.selectbox, label, key, list(columns), index=at)]
    owner = data.token, column
    draft = drafts().setdefault(owner, Draft(taxonomy_or_default(column)))
    picture = st.container()
    caption(
        "A taxonomy is public: write it from what values mean, never from these rows. Level 1 is a "
        "value's smallest group, level 2 the group around that. A cell may be empty."
    )
    draft.edit()
    changed, problem = column, ""
    try:
        changed = with_taxonomy(column, draft.tree())
    except SchemaError as error:
        problem = error.cause
    with picture:
        draw_picture(changed)
        status = phrase(":material/check_circle: This tree is in use, from the next run on.")
        if problem:
            status = phrase(":orange[:material/error: The table is not a tree, so the old tree stays: {problem}]")
        elif changed != column:
            status = phrase(":blue[:material/edit: This tree is not in use yet: press Apply the tree.]")
        markdown(status, problem=escape(retold(problem)))
    with st.container(horizontal=True):
        pressed = st.button(say("Apply the tree"), f"{KEY}.apply", type="primary", icon=":material/check:")
        fresh, label = taxonomy_or_default(replace(column, taxonomy=None)), say("Reset taxonomy to one level")
        if column.numeric:
            fanout = lasting(right.slider, say("Parts that an interval is split into"), f"{KEY}.fanout", 2, 10, 2)
            fresh, label = intervals(column, fanout), say("Make taxonomy from intervals")
        st.button(label, f"{KEY}.again", on_click=start_over, args=(owner, fresh))
    if pressed and not problem:
        drafts().pop(owner)
        apply_taxonomy(data, changed)
    with st.expander(say("Load or save a taxonomy"), icon=":material/upload_file:"):
        caption("One row per value: the value, then its groups, the root last. No header row.")
        label, kinds = say("Load a table of paths (CSV)"), ["csv", "tsv", "txt"]
        file = housekeeping.uploader(label, type=kinds, key=f"{KEY}.file:{draft.token}")
        # 3 and 3.0 are one value.
        known = {canonical(value): value for value in taxonomy_or_default(column).leaves}

        def read_taxonomy(raw: bytes) -> Column:
            """Return the column with the taxonomy of an uploaded table of paths (CSV)."""
            paths = ((known.get(canonical(one), one), *above) for one, *above in Taxonomy.from_csv(raw).paths)
            return with_taxonomy(column, Taxonomy(tuple(paths)))

        loaded = jobs.read_file(KEY, file, read_taxonomy)
        if loaded is not None:
            start_over(owner, taxonomy_or_default(loaded))
            st.rerun()
        file_button(f"{KEY}.save", say("Save the taxonomy tree"), taxonomy_or_default(changed).to_csv(), "taxonomy.csv")


def draw_picture(column: Column) -> None:
    """Draw a column's taxonomy as a tree."""
    rows = [(node.name, node.parent, len(node.codes)) for node in Hierarchy.from_column(column).nodes]
    picture: Any = charts.taxonomy(pd.DataFrame(rows, columns=["node", "parent", "leaves"]))
    with st.container(border=True, height=TALLEST if picture.height > TALLEST else "content"):
        panels.chart(picture)


def apply_taxonomy(data: Dataset, changed: Column) -> None:
    """Use the column `changed`, which has a new taxonomy, from now on, also on the page Data."""
    columns = tuple(changed if column.name == changed.name else column for column in data.schema)
    schema = replace(data.schema, columns=columns)
    session.replace_schema(replace(data, schema=schema))
    rows = intake.current_intake()
    if rows.is_source_of(data):
        inferred = data.schema.source == "inferred"  # an inferred schema stays inferred
        rows.set_schema(schema, rows.inferred_columns or (schema.names if inferred else ()))
    st.rerun()


def taxonomy_or_default(column: Column) -> Taxonomy:
    """Return a column's taxonomy, or its default: intervals of numbers, or one flat level."""
    values = column.labels[: column.size - column.missing]
    return column.taxonomy or (intervals(column) if column.numeric else Taxonomy.flat(values, ANY))


def with_taxonomy(column: Column, tree: Taxonomy) -> Column:
    """Return the column with the taxonomy `tree`, which is not stored if it is the default."""
    plain = replace(column, taxonomy=None)
    return plain if tree == taxonomy_or_default(plain) else replace(column, taxonomy=tree)
