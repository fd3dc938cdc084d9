"""What the page of taxonomy trees shows of its own: the tree of counts, range queries."""

import math
import zlib
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.arguments import Floats
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import panels
from dpcore.dashboard.panels import redraw
from dpcore.dashboard.session import Shown, remember
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption, markdown
from dpcore.dashboard.workbench import Parts
from dpcore.datasets import Dataset
from dpcore.domain.range_query import RangeQuery, random_queries
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy_tree import Hierarchy
from dpcore.evaluate import tree_errors
from dpcore.evaluate.ranges import one_answer, true_answers
from dpcore.export.artifacts import CountTree
from dpcore.language import phrase, say
from dpcore.methods.synthesizer import Synthesizer
from dpcore.postprocess import count_tree_frames
from dpcore.postprocess.count_tree import SURE, ReleasedTree
from dpcore.rows import HeldRows, Rows

PAGE = "taxonomy"
MOST_COLUMNS = 4
MOST_NODES = 400
WIDTH = 740  # pixels; the names of the levels stand beside
QUERIES = 500
GROUPS, DIVIDED = phrase("The release's own groups"), phrase("Finer ranges of the same columns")
EVERY = phrase("All columns")
FLAT = phrase(
    "“Flat” is what a histogram of every single combination of values of the columns in question would answer at the "
    "same privacy loss: a what-if with noise of its own, not part of the release."
)
WIDEST = 20  # times the others' intervals
SMALL = 5_000  # leaves; below it, inner levels can lower the noise of large ranges by little


def model(shown: Shown, _: Dataset) -> Parts:
    """The tree of counts, answers of it to ranges, and their errors."""
    return {
        phrase("Tree"): lambda: tree(PAGE, shown),
        phrase("Ask a range"): lambda: ask(PAGE, shown),
        phrase("Error by range"): lambda: errors(PAGE, shown),
    }


def released(shown: Shown) -> CountTree:
    """The released tree, and its rows."""
    return shown.release.artifact_as(CountTree)


def true_counts(shown: Shown, tree: ReleasedTree | None = None) -> list[Floats]:
    """What a tree's counts would be without noise, per level; the released tree's, or another's."""
    return tree_errors.true_counts(tree or released(shown).tree, real_rows(shown))


def real_rows(shown: Shown) -> Rows:
    """The real rows, cut as those that were counted."""
    rows = panels.evaluator(shown).rows
    return rows.at(panels.likened(shown)) if isinstance(rows, HeldRows) else rows


def per_row(shown: Shown) -> float:
    """What a histogram of the rows that were counted may spend on one of them."""
    unit = shown.release.schema.persons
    return float(shown.release.parameters["epsilon"]) / (1 if unit is None else unit.max_contributions)


def tree(page: str, shown: Shown) -> None:
    """The tree of counts before and after consistency, from any node down."""
    counts = released(shown)
    found = counts.tree
    levels, leaves = len(found.partitions), found.leaves.size
    measured = sum(found.measured)
    told = say(
        "Levels: **{levels:,}**; with counts of their own: **{measured:,}**. Groups at the bottom, empty ones "
        "included: **{leaves:,}**. Counts and intervals are part of the release; errors are measured on the real rows.",
        levels=levels,
        measured=measured,
        leaves=leaves,
    )
    st.markdown(f"{told}{panels.of_persons(shown)}")
    if measured > 1 and leaves < SMALL:
        caption(
            "With {leaves:,} groups there is little that inner levels can correct: a node has to hold many groups "
            "before counting it helps. More splits make the difference visible.",
            leaves=leaves,
        )
    private = st.toggle(say("Color by error (reads the real rows)"), value=True, key=f"{page}.tree_errors")
    key = f"{page}.tree_at:{id(shown)}"
    at: tuple[int, int] = st.session_state.get(key) or (0, 0)
    frame = remember(shown, f"nodes {at}", lambda: count_tree_frames.nodes(found, at=at, most=MOST_NODES))
    inner = frame[frame["level"] < levels - 1].drop_duplicates("name")  # what one level left whole
    named = zip(inner["level"].tolist(), inner["place"].tolist(), inner["name"].tolist(), strict=True)
    names = {(0, 0): say(count_tree_frames.ALL), **{(level, place): name for level, place, name in named}}
    options = list(names)
    if len(options) > 1:
        st.selectbox(say("From this group down"), options, options.index(at), format_func=names.__getitem__, key=key)
    if private:
        truth = remember(shown, "true tree", lambda: true_counts(shown))
        frame = tree_errors.with_truth(frame, truth)
        panels.real(charts.count_tree, frame, width=WIDTH)
    else:
        panels.chart(charts.count_tree(frame, width=WIDTH), data=frame)
    rest = levels - 1 - int(frame["level"].max())
    if rest and len(frame) == 1:
        caption("The next level has more than {n:,} groups here, too many to draw. The largest of all:", n=MOST_NODES)
        largest = counts.generalized.nlargest(20, counts.generalized.columns[-1])
        st.dataframe(largest[[*largest.columns[-1:], *largest.columns[:-1]]], hide_index=True, key=f"{page}.largest")
    elif rest:
        caption("{rest:,} more levels lie below; choose a group further down to see them.", rest=rest)


def errors(page: str, shown: Shown) -> None:
    """Errors of random range queries by their size, with and without consistency."""
    if not released(shown).tree.leaves.family:
        st.info(say("This release split no column: it answers every query by the same share of all rows."))
        return
    look: Any = {"default": GROUPS, "required": True, "format_func": say, "key": f"{page}.workload"}
    workload = st.segmented_control(say("Ranges of"), (GROUPS, DIVIDED, EVERY), **look)
    told = say(
        "{queries:,} random ranges of one to four columns. Two errors add up in an answer: the **noise** of the "
        "counts, and how **unevenly** rows are spread inside the groups, which consistency cannot mend. Ranges of "
        "the release's own groups have only the first, and, if they are published, what moving negative counts to 0 "
        "does to them.",
        queries=QUERIES,
    )
    st.markdown(f"{told}{panels.of_persons(shown)}")
    frame = remember(shown, f"range errors {workload}", lambda: range_errors(shown, str(workload)))
    panels.real(charts.error_by_range, frame)
    caption(FLAT)


def range_errors(shown: Shown, workload: str) -> pd.DataFrame:
    """Mean errors by size of the range, of each way to answer from this release; of noiseless counts as a reference."""
    release, counts = shown.release, released(shown)
    found = counts.tree
    schema, divided = release.schema, release.schema.select(found.leaves.family)
    queries = (
        count_tree_frames.group_queries(found, QUERIES)
        if workload == GROUPS
        else random_queries(divided if workload == DIVIDED else schema, QUERIES)
    )
    answers = {
        phrase("consistent"): found.answers(queries),
        phrase("noisy: as few groups as will do"): found.noisy_answers(queries)[0],
        phrase("published groups"): found.answers(queries, counts.leaf_counts),
    }
    if workload != GROUPS:
        answers[phrase("no noise, same groups")] = found.answers(queries, true_counts(shown)[-1])
    epsilon, relation = per_row(shown), str(release.ledger.relation)
    if epsilon > 0:
        truth = true_answers(real_rows(shown), schema, queries)
        answers[phrase("flat")] = evaluate.uniform_baseline_answers(
            truth, queries, schema if workload == EVERY else divided, epsilon=epsilon, relation=relation, seed=0
        )
    frame = evaluate.errors_by_query_size(evaluate.range_queries(real_rows(shown), answers, schema, queries))
    return frame.assign(baseline=frame["release"].isin(["flat", "no noise, same groups"]))


def ask(page: str, shown: Shown) -> None:
    """One range query, and what each way of counting would answer."""
    schema = shown.release.schema
    people = schema.unit is None
    asked = say("How many people …?") if people else say("How many rows …?")
    choose = say(
        "Choose up to four columns, and in each a group or an interval. A group that the release did not split that "
        "finely is answered as if all in it were spread evenly."
    )
    st.markdown(f"{asked} {choose}{panels.of_persons(shown)}")
    divided = list(released(shown).tree.leaves.family)
    key = f"{page}.ask:{id(shown)}"
    names = st.multiselect(say("Columns"), schema.names, default=divided[:2], max_selections=MOST_COLUMNS, key=key)
    if not names:
        st.info(say("Choose a column."))
        return
    sets = {}
    for place, name in zip(st.columns(max(len(names), 2)), names, strict=False):
        with place:
            sets[name] = group_picker(f"{key}.{name}", schema, name)
    query = RangeQuery.of(sets)
    frame = remember(shown, f"ask {query!r}", lambda: answers(shown, query))
    size, truth = query.size(schema), float(frame["true"].iloc[0])
    cells = say("all") if size > 0.9995 else f"{100 * size:.3g}%"
    covers = say("This range covers **{cells}** of the domain.", cells=cells)
    if people:
        fall = say("**{truth:,.0f}** real people fall into it ({mark}).", truth=truth, mark=say(REAL_DATA))
    else:
        fall = say("**{truth:,.0f}** real rows fall into it ({mark}).", truth=truth, mark=say(REAL_DATA))
    st.markdown(f"{covers} {fall}")
    near = frame["release"] != "flat"
    flat, width = frame[~near], (frame["high"] - frame["low"])
    apart = len(flat) and width[~near].max() > WIDEST * max(width[near].max(), 1.0)  # would squeeze the others to dots
    if apart:
        row = flat.iloc[0]
        markdown(
            "Off the chart: **flat** would have answered **{estimate:,.0f}** (95%: {low:,.0f} to {high:,.0f}; {mark}).",
            estimate=row["estimate"],
            low=row["low"],
            high=row["high"],
            mark=say(REAL_DATA),
        )
    panels.real(charts.range_answers, frame, of=near | (not apart))
    lines = say("Lines are 95% intervals of the noise. They do not know how unevenly rows are spread inside a group.")
    st.caption(f"{lines} {say(FLAT)}")
    with st.expander(say("Two ways to answer (the patent's figures 1 and 2)")):
        panels.chart(charts.frameworks())


def redraws(page: str, shown: Shown) -> None:
    """20 more trees: how far their counts are from the true ones, before and after consistency."""

    def look(fitted: Synthesizer) -> pd.DataFrame:
        found: ReleasedTree = vars(fitted)["tree_"]
        return tree_errors.level_errors(found, true_counts(shown, found))

    def draw(frame: pd.DataFrame) -> None:
        panels.real(charts.level_errors, frame)

    redraw.redraws(page, shown, look, draw)


def group_picker(key: str, schema: Schema, name: str) -> tuple[int, ...]:
    """Codes of one column: an interval of numbers, or a group of the taxonomy."""
    column = schema[name]
    labels = column.labels[: column.size - column.missing]
    if column.numeric and len(labels) > 1:
        first, last = st.select_slider(escaped(name), labels, value=(labels[0], labels[len(labels) // 2]), key=key)
        return tuple(range(labels.index(first), labels.index(last) + 1))
    nodes = Hierarchy.of(column).nodes
    place = st.selectbox(
        escaped(name),
        range(len(nodes)),
        index=min(1, len(nodes) - 1),
        format_func=lambda i: f"{'· ' * nodes[i].depth}{nodes[i].name}",
        key=key,
    )
    return nodes[int(place or 0)].codes


def answers(shown: Shown, query: RangeQuery) -> pd.DataFrame:
    """The answers with their intervals; the true one is read off the real rows."""
    release, counts = shown.release, released(shown)
    found = counts.tree
    schema, epsilon = release.schema, per_row(shown)
    truth = true_answers(real_rows(shown), schema, [query])
    noisy, noisy_margin = found.noisy_answers([query])
    rows = [
        ("noisy: as few groups as will do", noisy[0], noisy_margin[0]),
        ("consistent", found.answers([query])[0], found.margins([query])[0]),
    ]
    published = found.answers([query], counts.leaf_counts)[0]
    if epsilon > 0:
        asked = schema.select([n for n in schema.names if n in {*found.leaves.family, *dict(query.codes)}])
        relation, seed = release.ledger.relation, zlib.crc32(repr((id(shown), query)).encode())  # one draw per release
        flat = evaluate.uniform_baseline_answers(
            truth, [query], asked, epsilon=epsilon, relation=str(relation), seed=seed
        )
        cells = query.size(asked) * math.prod(map(float, asked.sizes))
        rows.append(("flat", flat[0], SURE * math.sqrt(2 * cells) * relation.histogram_l1 / epsilon))
    return one_answer([*rows, ("published groups", published, np.nan)], truth[0])
