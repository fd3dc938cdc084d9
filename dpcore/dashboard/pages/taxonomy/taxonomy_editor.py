"""A column's public tree, in a picture and a table: edited, read from a file, and put to use."""

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
Owner = tuple[str, Column]  # rows, and a column as it is declared


class Draft:
    """A tree as a table of groups by value, with room for one more level.

    The widget never gets back what it returned (Streamlit would lose every second edit). But where
    it was not drawn for a while, it forgot its edits, and a new one goes on from them.
    """

    def __init__(self, tree: Taxonomy) -> None:
        levels = min(max(map(len, tree.paths)) - 1, MAX_LEVELS - 2)
        rows = [[*path[1:-1], *[""] * levels][:levels] for path in tree.paths]
        names = [say("level {n}", n=n) for n in range(1, levels + 1)]
        values = pd.Index(tree.leaves, name=say("value"))
        self.base = self.edited = pd.DataFrame(rows, values, names, dtype=object)
        self.root, self.token = tree.root, ""

    def edit(self) -> None:
        """Draw the table."""
        if f"{KEY}.table:{self.token}" not in st.session_state:
            self.base, self.token = self.edited, new_token()
        look: Any = {"key": f"{KEY}.table:{self.token}", "disabled": ["_index"]}
        look["alt"] = say("One row per value of the column, with the groups that hold it.")
        self.edited = st.data_editor(self.base, **look)

    def tree(self) -> Taxonomy:
        """The tree that the table means; SchemaError names the row."""
        rows = zip(self.edited.index, self.edited.fillna("").to_numpy(), strict=True)
        paths = ((value, *filter(None, map(str.strip, cells)), self.root) for value, cells in rows)
        return Taxonomy(tuple(paths))


def drafts() -> dict[Owner, Draft]:
    """What is edited, and not in use yet."""
    return session.keep_once(f"{KEY}.drafts", dict[Owner, Draft])


def start_over(owner: Owner, tree: Taxonomy) -> None:
    """Edit the paths of this tree from now on."""
    drafts()[owner] = Draft(tree)


def drawer(data: Dataset) -> None:
    """The editor, in a drawer."""
    label = say("Taxonomies: which values belong together")
    found = st.expander(label, key="taxonomy.taxonomies", on_change="rerun")
    columns = {column.name: column for column in data.schema if column.size - column.missing > 1}
    if found.open and columns:
        with found:
            editor(data, columns)


def editor(data: Dataset, columns: dict[str, Column]) -> None:
    """Choose a column, see its tree, change it, and put it to use."""
    first = [column.taxonomy is None for column in columns.values()]
    at = first.index(False) if not all(first) else 0
    left, right = st.columns([2, 3], vertical_alignment="bottom", gap="large")
    label, key = say("Column"), f"{KEY}.column:{data.token}"
    column = columns[lasting(left.selectbox, label, key, list(columns), index=at)]
    owner = data.token, column
    draft = drafts().setdefault(owner, Draft(tree_of(column)))
    picture = st.container()
    caption(
        "A taxonomy is public: write it from what values mean, never from these rows. Level 1 is a "
        "value's smallest group, level 2 the group around that. A cell may be empty."
    )
    draft.edit()
    changed, problem = column, ""
    try:
        changed = with_tree(column, draft.tree())
    except SchemaError as error:
        problem = error.cause
    with picture:
        draw(changed)
        status = phrase(":material/check_circle: This tree is in use, from the next run on.")
        if problem:
            status = phrase(":orange[:material/error: No tree yet, so the old one stays: {problem}]")
        elif changed != column:
            status = phrase(":blue[:material/edit: This tree is not in use yet: press Apply.]")
        markdown(status, problem=escape(retold(problem)))
    with st.container(horizontal=True):
        pressed = st.button(say("Apply"), f"{KEY}.apply", type="primary", icon=":material/check:")
        fresh, label = tree_of(replace(column, taxonomy=None)), say("Back to one level")
        if column.numeric:
            fanout = lasting(right.slider, say("Parts per step"), f"{KEY}.fanout", 2, 10, 2)
            fresh, label = intervals(column, fanout), say("Make intervals")
        st.button(label, f"{KEY}.again", on_click=start_over, args=(owner, fresh))
    if pressed and not problem:
        drafts().pop(owner)
        use(data, changed)
    with st.expander(say("From a file, or to one"), icon=":material/upload_file:"):
        caption("One row per value: the value, then its groups, the root last. No header row.")
        label, kinds = say("Load a table of paths (CSV)"), ["csv", "tsv", "txt"]
        file = housekeeping.uploader(label, type=kinds, key=f"{KEY}.file:{draft.token}")
        known = {canonical(value): value for value in tree_of(column).leaves}  # 3 and 3.0 are the same value

        def read(raw: bytes) -> Column:
            paths = Taxonomy.from_csv(raw).paths
            return with_tree(column, Taxonomy(tuple((known.get(canonical(one), one), *above) for one, *above in paths)))

        loaded = jobs.read_file(KEY, file, read)
        if loaded is not None:
            start_over(owner, tree_of(loaded))
            st.rerun()
        file_button(f"{KEY}.save", say("Save the tree"), tree_of(changed).to_csv(), "taxonomy.csv")


def draw(column: Column) -> None:
    """A column's tree."""
    rows = [(node.name, node.parent, len(node.codes)) for node in Hierarchy.of(column).nodes]
    picture: Any = charts.taxonomy(pd.DataFrame(rows, columns=["node", "parent", "leaves"]))
    with st.container(border=True, height=TALLEST if picture.height > TALLEST else "content"):
        panels.chart(picture)


def use(data: Dataset, changed: Column) -> None:
    """Use a column with this tree from now on, on the page of the schema as well."""
    columns = tuple(changed if column.name == changed.name else column for column in data.schema)
    schema = replace(data.schema, columns=columns)
    session.replace_schema(replace(data, schema=schema))
    rows = intake.current_intake()
    if rows.is_source_of(data):
        inferred = data.schema.source == "inferred"  # and stays so, whatever the page of the schema has read since
        rows.keep(schema, rows.inferred_columns or (schema.names if inferred else ()))
    st.rerun()


def tree_of(column: Column) -> Taxonomy:
    """A column's taxonomy, or what it stands for without one."""
    values = column.labels[: column.size - column.missing]
    return column.taxonomy or (intervals(column) if column.numeric else Taxonomy.flat(values, ANY))


def with_tree(column: Column, tree: Taxonomy) -> Column:
    """The column with this tree, which is not stored if it has it without."""
    plain = replace(column, taxonomy=None)
    return plain if tree == tree_of(plain) else replace(column, taxonomy=tree)
