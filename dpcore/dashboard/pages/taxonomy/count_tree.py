"""Panels of the page Taxonomy tree: the tree of counts, range queries, and their errors."""

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.arguments import Floats
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import panels
from dpcore.dashboard.panels import forest, redraw
from dpcore.dashboard.session import ShownRelease, remember
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption
from dpcore.dashboard.workbench import Parts
from dpcore.datasets import Dataset
from dpcore.domain.column import Column
from dpcore.domain.range_query import RangeQuery, random_queries
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy_tree import Hierarchy
from dpcore.evaluate import tree_errors
from dpcore.evaluate.ranges import cells_covered, one_answer, true_answers
from dpcore.export.artifacts import CountTree
from dpcore.language import phrase, say
from dpcore.methods.base import Synthesizer
from dpcore.postprocess.count_tree import ALL, SURE, ReleasedTree, group_queries, node_table
from dpcore.rows import HeldRows, Rows

PAGE = "taxonomy"
WIDTH = 740  # pixels, without the names of the levels
QUERIES = 500
SMALL = 5_000  # leaves: with fewer, inner levels hardly lower the noise


def model_parts(shown: ShownRelease, _: Dataset) -> Parts:
    """Return the parts of the tab Model: the tree of counts, range queries, and their errors."""
    return {
        phrase("Tree"): lambda: draw_tree(shown),
        phrase("Ask a range"): lambda: draw_range_query(shown),
        phrase("Error by range"): lambda: draw_errors(shown),
    }


def released_tree(shown: ShownRelease) -> CountTree:
    """Return the tree of counts of a release, with its generalized rows."""
    return shown.release.artifact_as(CountTree)


def true_counts(shown: ShownRelease, tree: ReleasedTree | None = None) -> list[Floats]:
    """Return the noiseless counts of a tree's groups, one array per level.

    `tree` is the tree to count; the released tree by default.
    """
    return tree_errors.true_counts(tree or released_tree(shown).tree, real_rows(shown))


def real_rows(shown: ShownRelease) -> Rows:
    """Return the real rows, limited to the rows that the release counted."""
    rows = panels.evaluator(shown).rows
    return rows.take(panels.compared_row_indices(shown)) if isinstance(rows, HeldRows) else rows


def per_row(shown: ShownRelease) -> float:
    """Return the epsilon per row at which a histogram would cost as much as the release.

    It is the release's epsilon, divided by the most rows of one person if persons are protected.
    """
    unit, epsilon = shown.release.schema.persons, float(shown.release.parameters["epsilon"])
    return epsilon if unit is None else epsilon / unit.max_contributions


def flat_answers(shown: ShownRelease, truth: Any, queries: Any, schema: Schema, seed: int = 0) -> Floats:
    """Return noisy answers to range queries from a histogram of all cells, as a baseline.

    The histogram has the same privacy loss as the release `shown`. `truth` are the noiseless
    answers to `queries`, and `schema` describes the cells.
    """
    how: Any = {"relation": str(shown.release.ledger.relation), "seed": seed}
    return evaluate.uniform_baseline_answers(truth, queries, schema, epsilon=per_row(shown), **how)


def draw_tree(shown: ShownRelease) -> None:
    """Draw the tree of counts before and after they were made consistent, below a chosen node."""
    found = released_tree(shown).tree
    levels, leaves = len(found.partitions), found.leaves.size
    text = say(
        "**{levels:,} levels**, down to **{leaves:,} groups**, empty ones included. Counts and "
        "intervals are part of the release; errors are measured on the real rows.",
        levels=levels,
        leaves=leaves,
    )
    st.markdown(f"{text}{panels.describe_person_sample(shown)}")
    if sum(found.measured_levels) > 1 and leaves < SMALL:
        caption("Inner levels of this tree correct little: counting a node helps if it holds many groups.")
    private = st.toggle(say("Color by error (reads the real rows)"), True, f"{PAGE}.tree_errors")
    key = f"{PAGE}.tree_at:{id(shown)}"
    at: tuple[int, int] = st.session_state.get(key) or (0, 0)
    frame = remember(shown, f"nodes {at}", lambda: node_table(found, at=at))
    # Groups that a level does not split are named once.
    inner = frame[frame["level"] < levels - 1].drop_duplicates("name")
    names = {(0, 0): ""} | inner.set_index(["level", "place"])["name"].to_dict()
    names[0, 0] = say(ALL)
    if len(options := list(names)) > 1:
        label, name_of = say("Show tree from this group"), names.__getitem__
        st.selectbox(label, options, options.index(at), name_of, key)
    if private:
        truth = remember(shown, "true tree", lambda: true_counts(shown))
        panels.real(charts.count_tree, tree_errors.add_true_counts(frame, truth), width=WIDTH)
    else:
        panels.chart(charts.count_tree(frame, width=WIDTH), data=frame)
    if rest := levels - 1 - int(frame["level"].max()):
        caption("{rest:,} more levels lie below; choose a lower group to see them.", rest=rest)
    forest.draw_largest_groups(released_tree(shown).generalized_rows)


def draw_errors(shown: ShownRelease) -> None:
    """Draw the errors of random range queries by size, with and without consistent counts."""
    if not released_tree(shown).tree.leaves.divided_columns:
        st.info(say("This release split no column: all rows are one group."))
        return
    finer = st.toggle(say("Finer ranges than the release's own groups"), key=f"{PAGE}.finer")
    text = say(
        "{queries:,} random ranges of columns that the release split. Errors come from the **noise** "
        "of the counts and, in finer ranges, from how **unevenly** rows are spread inside groups.",
        queries=QUERIES,
    )
    st.markdown(f"{text}{panels.describe_person_sample(shown)}")
    frame = remember(shown, f"range errors {finer}", lambda: range_errors(shown, finer=finer))
    panels.real(charts.error_by_range, frame)
    caption(
        "“Counts of published groups” are never negative. “Flat histogram” counts all combinations of "
        "values at the same privacy loss: a what-if with noise of its own, not part of the release."
    )


def range_errors(shown: ShownRelease, *, finer: bool) -> pd.DataFrame:
    """Return the mean errors of random range queries by size, for each way to answer and baseline.

    If `finer`, the ranges may be finer than the groups of the release.
    """
    counts, schema, rows = released_tree(shown), shown.release.schema, real_rows(shown)
    found, divided = counts.tree, schema.select(counts.tree.leaves.divided_columns)
    queries = random_queries(divided, QUERIES) if finer else group_queries(found, QUERIES)
    answers = {
        phrase("consistent counts"): found.answers(queries),
        phrase("noisy counts, fewest groups"): found.noisy_answers(queries)[0],
        phrase("counts of published groups"): found.answers(queries, counts.leaf_counts),
        phrase("flat histogram"): flat_answers(shown, true_answers(rows, schema, queries), queries, divided),
    }
    if finer:
        answers[phrase("noiseless groups")] = found.answers(queries, true_counts(shown)[-1])
    frame = evaluate.range_queries(rows, answers, schema, queries)
    frame = evaluate.errors_by_query_size(frame)
    return frame.assign(baseline=frame["release"].isin(["flat histogram", "noiseless groups"]))


def draw_range_query(shown: ShownRelease) -> None:
    """Draw one range query, and the answer of each way of counting."""
    schema = shown.release.schema
    text = say(
        "How many rows …? Choose columns, and in each a group or an interval. Where the "
        "release did not split that finely, the answer takes a group's rows to be spread evenly."
    )
    st.markdown(f"{text}{panels.describe_person_sample(shown)}")
    divided, key = list(released_tree(shown).tree.leaves.divided_columns), f"{PAGE}.ask:{id(shown)}"
    names = st.multiselect(say("Columns"), schema.names, divided[:1], key=key)
    if not names:
        st.info(say("Choose a column."))
        return
    cells = zip(st.columns(max(len(names), 2)), names, strict=False)
    query = RangeQuery.from_codes({one: draw_group_picker(cell, key, schema[one]) for cell, one in cells})
    frame = remember(shown, f"ask {query!r}", lambda: range_answers(shown, query))
    near = frame["release"] != "flat histogram"  # its interval would squeeze the others to dots
    panels.real(charts.range_answers, frame, of=near)
    caption(
        "This range covers {size:.3g}% of the domain. A flat histogram at the same privacy loss "
        "would have answered {estimate:,.0f} (95%: {low:,.0f} to {high:,.0f}; {mark}). The "
        "intervals do not know how unevenly rows are spread inside a group.",
        size=100 * query.size(schema),
        mark=say(REAL_DATA),
        **frame[~near].iloc[0],
    )
    with st.expander(say("Two ways to answer (the patent's figures 1 and 2)")):
        panels.chart(charts.frameworks())


def draw_redraws(page: str, shown: ShownRelease) -> None:
    """Draw how far the counts of 20 more trees are from the truth, before and after consistency."""

    def measure_levels(fitted: Synthesizer) -> pd.DataFrame:
        """Return the errors of a fitted method's counts by level, before and after consistency."""
        found: ReleasedTree = vars(fitted)["tree_"]
        return tree_errors.level_errors(found, true_counts(shown, found))

    redraw.draw_redraws(page, shown, measure_levels, partial(panels.real, charts.level_errors))


def draw_group_picker(cell: Any, key: str, column: Column) -> tuple[int, ...]:
    """Draw the choice of an interval of numbers or a group of the taxonomy; return its codes.

    `cell` is the container to draw in, and `key` starts the key of the control.
    """
    labels, label = column.labels[: column.size - column.missing], escape(column.name)
    look: Any = {"key": f"{key}.{column.name}"}
    if column.numeric and len(labels) > 1:
        ends = labels[0], labels[len(labels) // 2]
        first, last = cell.select_slider(label, labels, ends, **look)
        return tuple(range(labels.index(first), labels.index(last) + 1))
    groups = Hierarchy.from_column(column).nodes
    names = [f"{'· ' * group.depth}{group.name}" for group in groups]
    at = min(1, len(groups) - 1)
    chosen: int = cell.selectbox(label, range(len(groups)), at, names.__getitem__, **look)
    return groups[chosen].codes


def range_answers(shown: ShownRelease, query: RangeQuery) -> pd.DataFrame:
    """Return the answers to a range query with their intervals, and the true answer.

    The true answer is read from the real rows.
    """
    counts, schema = released_tree(shown), shown.release.schema
    found, names = counts.tree, {*counts.tree.leaves.divided_columns, *dict(query.codes)}
    truth = true_answers(real_rows(shown), schema, [query])
    noisy, width = found.noisy_answers([query])
    cells = schema.select([name for name in schema.names if name in names])
    (estimate,) = flat_answers(shown, truth, [query], cells, seed=abs(hash((id(shown), query))))
    scale = shown.release.ledger.relation.histogram_l1 / per_row(shown)
    half_width = SURE * math.sqrt(2 * cells_covered(query, cells)) * scale
    rows = [
        ("noisy counts, fewest groups", noisy[0], width[0]),
        ("consistent counts", found.answers([query])[0], found.half_widths([query])[0]),
        ("flat histogram", estimate, half_width),
        ("counts of published groups", found.answers([query], counts.leaf_counts)[0], np.nan),
    ]
    return one_answer(rows, truth[0])
