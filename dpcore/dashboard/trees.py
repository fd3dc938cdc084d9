"""What the page of taxonomy trees asks and shows of its own: settings, the tree of counts, range queries."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.charts.base import REAL_DATA
from dpcore.counttree import SURE, ReleasedTree
from dpcore.dashboard import panels
from dpcore.dashboard.frame import escaped
from dpcore.dashboard.state import Shown, remember
from dpcore.errors import ParameterError
from dpcore.hierarchy import Hierarchy
from dpcore.queries import RangeQuery, exact_answers
from dpcore.schema import Schema

__all__ = ["ask", "picker", "tree_of"]

SHARES = {
    "leaves first": "Leaves first (never more than 1.1 times the noise)",
    "equal": "Equal",
    "geometric": "More for finer levels",
    "own": "My own",
}
MOST_COLUMNS = 4


def picker(key: str, name: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What a generalizing method lets one choose, as constructor arguments."""
    if name == "DiffGen":
        rounds = st.slider("Specializations", 1, 20, 10, key=f"{key}.rounds", persist_state="session")
        return {"rounds": int(rounds)}
    found: dict[str, Any] = {}
    found["iterations"] = int(
        st.slider("Divisions (iterations)", 1, 20, 10, key=f"{key}.iterations", persist_state="session")
    )
    found["with_class"] = st.toggle(
        "The class guides the choice",
        value=True,
        key=f"{key}.with_class",
        persist_state="session",
        help="Half of epsilon chooses columns that tell the classes apart. Off: the columns take turns, for free.",
    )
    if chosen.get("measure") != "leaves" and chosen["mode"] == "corrected":
        rule = st.selectbox(
            "Shares of the levels",
            list(SHARES),
            format_func=SHARES.__getitem__,
            key=f"{key}.shares",
            persist_state="session",
        )
        found["level_shares"] = rule if rule != "own" else own_shares(key, found["iterations"], found["with_class"])
    found["fanout"] = int(
        st.number_input("Parts per interval of numbers", 2, 10, 2, key=f"{key}.fanout", persist_state="session")
    )
    return found


def own_shares(key: str, iterations: int, with_class: bool) -> tuple[float, ...]:
    """Weights that somebody typed; what is wrong with them is said when the method checks them."""
    levels = 1 + iterations + with_class
    text = st.text_input(
        f"{levels} weights, from the root to the leaves",
        value=", ".join(["1"] * levels),
        key=f"{key}.own_shares.{levels}",
        persist_state="session",
        help="0: this level is not measured.",
    )
    try:
        return tuple(float(word) for word in str(text).replace(";", ",").split(",") if word.strip())
    except ValueError:
        raise ParameterError("The weights are not all numbers.", "Write numbers, separated by commas.") from None


def tree_of(shown: Shown) -> ReleasedTree:
    """The released tree; read from the release once."""
    release = shown.release
    return remember(shown, "tree", lambda: ReleasedTree.from_dict(release.schema, release.structure["tree"]))


def ask(page: str, shown: Shown) -> None:
    """One range query, and what each way of counting would answer."""
    tree, schema = tree_of(shown), shown.release.schema
    st.markdown(
        "How many people …? Choose up to four columns, and in each a group or an interval. A group that the release "
        "did not divide that finely is answered as if everybody in it were spread evenly."
    )
    divided = list(tree.leaves.family)
    names = st.multiselect(
        "Columns",
        schema.names,
        default=divided[:2],
        max_selections=MOST_COLUMNS,
        key=f"{page}.ask:{id(shown)}",
    )
    if not names:
        st.info("Choose a column.")
        return
    sets = {}
    for place, name in zip(st.columns(max(len(names), 2)), names, strict=False):
        with place:
            sets[name] = group_picker(f"{page}.ask:{id(shown)}.{name}", schema, name)
    query = RangeQuery.of(sets)
    frame = remember(shown, f"ask {query!r}", lambda: answers(shown, tree, query))
    size, truth = query.size(schema), float(frame["true"].iloc[0])
    cells = "all" if size > 0.9995 else f"{100 * size:.3g} %"
    st.markdown(
        f"This range covers **{cells}** of the domain. In the real rows **{truth:,.0f}** people fall into it "
        f"({REAL_DATA})."
    )
    panels.chart(charts.mark_real(charts.range_answers(frame)), data=frame)
    st.caption(
        "Lines are 95 % intervals of the noise. They do not know how unevenly people are spread inside a group. "
        "“Flat” is what a histogram of every single cell of the domain would have answered at the same epsilon: a "
        "what-if with noise of its own, not part of the release."
    )


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


def answers(shown: Shown, tree: ReleasedTree, query: RangeQuery) -> pd.DataFrame:
    """The answers with their intervals; the true one is read off the real rows."""
    release = shown.release
    schema, epsilon = release.schema, float(release.parameters["epsilon"])
    truth = exact_answers(schema.encode(shown.data.train), schema, [query])
    noisy, noisy_margin = tree.noisy_answers([query])
    rows = [
        ("noisy: the fewest nodes", noisy[0], noisy_margin[0]),
        ("consistent", tree.answers([query])[0], tree.margins([query])[0]),
    ]
    leaves = np.array(release.structure["leaf_counts"], dtype=float)
    published = tree.answers([query], leaves)[0]
    if epsilon > 0:
        seed = zlib.crc32(repr((release.synthetic.shape, query)).encode())  # one draw per release and query
        flat = evaluate.flat_answers(
            truth, [query], schema, epsilon=epsilon, relation=str(release.ledger.relation), seed=seed
        )
        cells = query.size(schema) * math.prod(map(float, schema.sizes))
        rows.append(("flat", flat[0], SURE * math.sqrt(2 * cells) * release.ledger.relation.histogram_l1 / epsilon))
    found = pd.DataFrame(
        [{"release": name, "estimate": value, "low": value - m, "high": value + m} for name, value, m in rows]
    )
    found.loc[len(found)] = ["published", published, np.nan, np.nan]
    return found.assign(true=truth[0])
