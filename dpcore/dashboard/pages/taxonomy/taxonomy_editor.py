"""A column's public tree as a picture and as a table of paths: edited, read from a file, and put to use.

The table that is edited is kept in the session and never overwritten by its own edits (Streamlit would lose every
second one); a button that changes its shape makes a new one. What was edited is remembered beside it, because a widget
forgets its state when another column or page comes up.
"""

import re
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import housekeeping, intake, jobs, panels, session
from dpcore.dashboard.shell import escaped, mendable
from dpcore.dashboard.widgets import lasting
from dpcore.datasets import Dataset
from dpcore.domain.column import Column
from dpcore.domain.taxonomy import MAX_LEVELS, MAX_TEXT, Taxonomy
from dpcore.domain.taxonomy_tree import ANY, Hierarchy, intervals
from dpcore.errors import SchemaError
from dpcore.language import say
from dpcore.text import canonical

PAGE = "taxonomy"
VALUE = "value"
HEADINGS = {1: "group", 2: "group of groups"}
TALLEST = 1_200  # pixels of a tree; a taller one scrolls


@dataclass(frozen=True, eq=False)
class Draft:
    """A table of paths before its edits, and the root above them. Another version is another widget."""

    table: pd.DataFrame
    root: str
    version: int = 0


def drawer(data: Dataset) -> None:
    """The editor, in a drawer."""
    found = st.expander(say("Taxonomies: which values belong together"), key=f"{PAGE}.taxonomies", on_change="rerun")
    if found.open:
        with found:
            editor(f"{PAGE}.editor", data)


def editor(page: str, data: Dataset) -> None:
    """Choose a column, see its tree, change it, and put it to use."""
    names = list(data.schema.names)
    carrying = [i for i, column in enumerate(data.schema) if column.taxonomy is not None]
    left, right = st.columns([2, 3], vertical_alignment="bottom", gap="large")
    index = carrying[0] if carrying else 0
    column = data.schema[lasting(left.selectbox, "Column", f"{page}.column:{data.token}", names, index=index)]
    if len(values_of(column)) == 1:
        st.info("This column has one value: there is nothing to group.", icon=":material/info:")
        return
    owner = owner_of(data, column)
    draft = current(page, owner, column)
    picture = st.container()
    st.caption(
        "A taxonomy must not be made from these rows: it is public, and a method learns it for free. Write it from "
        "what the values mean."
    )
    table, root = paths(page, owner, draft)
    tree, problem = attempt(column, table, root)
    with picture:
        draw(column, tree, problem, applied=st.session_state.get(f"{page}.done") == owner)
    draft = replace(draft, table=table, root=root)
    buttons(page, data, column, owner, draft)
    if column.numeric:
        with right, mendable():
            make_intervals(page, column, owner, draft)
    with st.expander("From a file, or to one", icon=":material/upload_file:"):
        files(page, column, owner, draft, tree or column.taxonomy or default(column))


def owner_of(data: Dataset, column: Column) -> str:
    """Another file, or another declaration of the column: other widgets."""
    return f"{data.token}:{hash(str(column.to_dict()))}"


def current(page: str, owner: str, column: Column) -> Draft:
    """The table to edit: the column's own at first, later what was made of it."""
    drafts = session.kept(f"{page}.drafts", dict[str, Draft])
    draft = drafts.get(owner) or draft_of(column.taxonomy or default(column))
    edited = session.kept(f"{page}.edited", dict[str, Draft])
    if owner in edited and table_key(page, owner, draft) not in st.session_state:
        draft = replace(edited.pop(owner), version=draft.version + 1)  # the widget was away, and forgot its edits
    drafts[owner] = draft
    return draft


def start_over(page: str, owner: str, draft: Draft) -> None:
    """Edit this table from now on."""
    st.session_state[f"{page}.drafts"][owner] = replace(draft, version=draft.version + 1)
    st.session_state[f"{page}.edited"].pop(owner, None)
    st.rerun()


def draw_anew(page: str, owner: str, draft: Draft, tree: Taxonomy) -> None:
    """Edit the paths of this tree from now on."""
    start_over(page, owner, replace(draft_of(tree), version=draft.version))


def table_key(page: str, owner: str, draft: Draft) -> str:
    """The editor's table; another version is another widget."""
    return f"{page}.table:{owner}:{draft.version}"


def paths(page: str, owner: str, draft: Draft) -> tuple[pd.DataFrame, str]:
    """The table of paths, and the name of the root, as they are edited."""
    text = st.column_config.TextColumn
    config: dict[str, Any] = {VALUE: text("value", pinned=True, width="medium", help="Fixed by the schema.")}
    note = "The smallest group that holds the value; empty if it stands right under the root."
    for level, name in enumerate(draft.table.columns[1:], start=1):
        config[name] = text(HEADINGS.get(level, f"level {level}"), help=note)
        note = "The group around that one."
    look: Any = {"hide_index": True, "num_rows": "fixed", "disabled": [VALUE], "column_config": config}
    look["alt"] = "One row per value of the column, with the groups that hold it."
    table = st.data_editor(draft.table, key=table_key(page, owner, draft), **look)
    root = st.text_input("Name of the root, above everything", draft.root, key=f"{page}.root:{owner}:{draft.version}")
    st.session_state[f"{page}.edited"][owner] = Draft(table, str(root or ""))
    return table, str(root or "")


def buttons(page: str, data: Dataset, column: Column, owner: str, draft: Draft) -> None:
    """Put the tree to use, or change the table's shape. A refused tree leaves everything as it was typed."""
    levels = len(draft.table.columns) - 1
    cells = st.columns([2, 2, 2, 3])

    def pressed(place: int, label: str, key: str, **look: Any) -> bool:
        return bool(cells[place].button(label, key=f"{page}.{key}", width="stretch", **look))

    if pressed(0, "Apply", "apply", type="primary", icon=":material/check:"):
        with mendable():
            apply(page, data, column, owner, taxonomy_of(draft.table, draft.root))
    if pressed(1, "Add a level", "add", icon=":material/add:", disabled=levels >= MAX_LEVELS - 2):
        start_over(page, owner, replace(draft, table=draft.table.assign(**{f"level {levels + 1}": ""})))
    note = "Removes the last column of the table."
    if pressed(2, "Remove a level", "remove", icon=":material/remove:", disabled=levels < 1, help=note):
        start_over(page, owner, replace(draft, table=draft.table.iloc[:, :-1]))
    back = "Back to halves" if column.numeric else "Back to one level"
    if pressed(3, back, "back", icon=":material/undo:", help="As without a taxonomy."):
        draw_anew(page, owner, draft, default(column))


def make_intervals(page: str, column: Column, owner: str, draft: Draft) -> None:
    """A numeric column's bins in equal parts."""
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    note = "How many parts a node splits into."
    fanout = lasting(left.slider, "Parts per step", f"{page}.fanout", 2, 10, 2, help=note)
    if right.button("Make intervals", icon=":material/straighten:", key=f"{page}.intervals", width="stretch"):
        draw_anew(page, owner, draft, intervals(column, fanout))


def files(page: str, column: Column, owner: str, draft: Draft, tree: Taxonomy) -> None:
    """The tree as a CSV table, and from one."""
    st.markdown("One row per value: the value first, then its groups, the root last. No header row.")
    with mendable():
        label, kinds = f"Load a table of paths (CSV, at most {MAX_TEXT // 1_000_000} MB)", ["csv", "tsv", "txt"]
        file = housekeeping.uploader(label, type=kinds, key=f"{page}.file:{owner}")
        loaded = jobs.read_file(f"{page}.read", file, lambda raw: spelled(Taxonomy.from_csv(raw), column))
        if loaded is not None and st.session_state.get(f"{page}.file_id") != file.file_id:
            replace(column, taxonomy=loaded)  # says what does not fit
            st.session_state[f"{page}.file_id"] = file.file_id
            draw_anew(page, owner, draft, loaded)
    name = re.sub(r"[^\w-]+", "_", column.name).strip("_") or "column"
    st.download_button(
        "Save the drawn tree", tree.to_csv(), f"{name}.taxonomy.csv", "text/csv", key=f"{page}.save", on_click="ignore"
    )


def draw(column: Column, tree: Taxonomy | None, problem: str, *, applied: bool) -> None:
    """The tree of the table, or the one in use if the table makes none, and one line that says which it is."""
    nodes = Hierarchy.of(column if tree is None else replace(column, taxonomy=tree)).nodes
    rows = [(node.name, node.parent, len(node.codes)) for node in nodes]
    picture: Any = charts.taxonomy(pd.DataFrame(rows, columns=["node", "parent", "leaves"]))
    with st.container(border=True, height=TALLEST if picture.height > TALLEST else "content"):
        panels.chart(picture)
    if tree is None:
        told = f":orange[:material/error: The table makes no tree yet: {escaped(problem)} Drawn is the tree in use.]"
    elif not same(column, tree):
        told = ":blue[:material/edit: This tree is not in use yet: press Apply.]"
    elif applied:
        told = "This tree is in use now. A release that is already shown stays as it was."
        told = f":green[:material/check_circle: {told}]"
    else:
        told = ":material/check_circle: This is the tree in use."
    st.markdown(told)  # always one line: what is below must not jump while somebody edits it


def apply(page: str, data: Dataset, column: Column, owner: str, tree: Taxonomy) -> None:
    """Use this tree from now on; what the schema says without one is not stored."""
    changed = replace(column, taxonomy=tree)
    if same(replace(column, taxonomy=None), tree):
        changed = replace(column, taxonomy=None)
    schema = replace(data.schema, columns=tuple(changed if c.name == column.name else c for c in data.schema))
    session.amend(replace(data, schema=schema))
    rows = intake.current()
    if rows.made(data):
        rows.keep(schema, rows.read_off)  # the page of the schema goes on from here
    for kept in ("drafts", "edited"):
        st.session_state[f"{page}.{kept}"].pop(owner, None)
    st.session_state[f"{page}.done"] = owner_of(data, changed)
    st.rerun()


def values_of(column: Column) -> tuple[str, ...]:
    """The labels of a column but "missing"."""
    return column.labels[: column.size - column.missing]


def default(column: Column) -> Taxonomy:
    """What a column without a taxonomy stands for."""
    return intervals(column) if column.numeric else Taxonomy.flat(values_of(column), ANY)


def same(column: Column, tree: Taxonomy) -> bool:
    """Whether a column has this taxonomy already: names and parents make a tree what it is."""
    pair = (Hierarchy.of(found).nodes for found in (column, replace(column, taxonomy=tree)))
    first, second = ([(node.name, node.parent) for node in nodes] for nodes in pair)
    return first == second


def draft_of(tree: Taxonomy) -> Draft:
    """The paths as a table without the root, shorter ones filled with empty cells."""
    levels = max(len(path) for path in tree.paths) - 2
    names = [VALUE, *(f"level {level}" for level in range(1, levels + 1))]
    rows = [[*path[:1], *path[1:-1], *[""] * (levels + 2 - max(len(path), 2))] for path in tree.paths]
    return Draft(pd.DataFrame(rows, columns=names, dtype=object), tree.root if len(tree.paths[0]) > 1 else ANY)


def taxonomy_of(table: pd.DataFrame, root: str) -> Taxonomy:
    """The tree that an edited table means; SchemaError names the row."""
    found = []
    for value, *cells in table.itertuples(index=False, name=None):
        names = ["" if cell is None or pd.isna(cell) else str(cell).strip() for cell in cells]
        while names and not names[-1]:
            names.pop()
        found.append((str(value), *names, root.strip()))
    return Taxonomy(tuple(found))


def attempt(column: Column, table: pd.DataFrame, root: str) -> tuple[Taxonomy | None, str]:
    """The tree of the table, or what keeps it from being one."""
    try:
        tree = taxonomy_of(table, root)
        replace(column, taxonomy=tree)
    except SchemaError as error:
        return None, error.cause
    return tree, ""


def spelled(tree: Taxonomy, column: Column) -> Taxonomy:
    """The tree with its leaves spelled as the column spells the same values (3 and 3.0, spaces around)."""
    known = {canonical(value).strip(): value for value in values_of(column)}
    return Taxonomy(tuple((known.get(canonical(leaf), leaf), *above) for leaf, *above in tree.paths))
