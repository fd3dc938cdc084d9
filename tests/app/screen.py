"""What stands on the screen and in the session, as the tests of the dashboard look at it."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pandas as pd
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Element

from dpcore.charts.base import NARROW
from dpcore.datasets import Dataset
from dpcore.language import ENGLISH

REMEDY = "**What to do:**"


def elements(at: AppTest) -> Iterator[Any]:
    """All blocks and elements of the screen."""

    def below(node: Any) -> Iterator[Any]:
        for child in node.children.values():
            yield child
            if isinstance(child, Block):
                yield from below(child)

    yield from below(at._tree)


def widget(at: AppTest, key: str) -> Any:
    """The widget whose key is this, up to a colon."""
    (found,) = [w for w in elements(at) if (w.key or "").partition(":")[0] == key]
    return found


def language(at: AppTest) -> str:
    """The language that the screen is in."""
    found = re.search(r"documentElement.lang = '(\w+)'", "".join(getattr(e.proto, "body", "") for e in at.get("html")))
    return found[1] if found else ENGLISH


def tabs(at: AppTest) -> list[str]:
    return [found.label for found in at.tabs]


def errors(at: AppTest) -> list[str]:
    return [str(error.value) for error in at.error]


def mendable(at: AppTest) -> list[str]:
    """The errors that tell a cause and a remedy, without the backslashes that make Markdown literal."""
    return [error.replace("\\", "") for error in errors(at) if REMEDY in error]


def said(at: AppTest) -> str:
    """Texts, captions, alerts and metrics, without the backslashes that make Markdown literal."""
    kinds = ("title", "header", "markdown", "caption", "error", "warning", "info", "success", "metric")
    parts = [f"{getattr(e, 'label', '')} {e.value}" for kind in kinds for e in at.get(kind)]
    return "\n".join(parts).replace("\\", "")


def ticks(at: AppTest) -> dict[str, str]:
    """The columns that an upload leaves out, and why."""
    labels = [found.label.replace("\\", "") for found in at.checkbox if found.key.startswith("left out:")]
    return {name: reason.removesuffix(")") for name, _, reason in (label.partition(" (") for label in labels)}


def words(at: AppTest, *, everywhere: bool = False) -> str:
    """All that the server sent, with or without what stands in tables, charts and lists of choices."""
    places_for_values = ("dataframe", "table", "vega_lite_chart", "selectbox")
    return "\n".join(
        str(found.proto)
        for found in elements(at)
        if getattr(found, "proto", None) is not None
        and (everywhere or not (isinstance(found, Element) and found.type in places_for_values))
    )


def charts(at: AppTest) -> list[tuple[dict[str, Any], list[pd.DataFrame]]]:
    """Specification and data of every chart on the screen."""
    found = []
    for element in at.get("vega_lite_chart"):
        tables = [dataset.data.data for dataset in element.proto.datasets]
        tables += [element.proto.data.data] if element.proto.data.data else []
        found.append(
            (wide(json.loads(element.proto.spec)), [convert_arrow_bytes_to_pandas_df(table) for table in tables])
        )
    return found


def wide(found: Any) -> Any:
    """A specification as it is where there is room: what follows the width is what it is then."""
    if isinstance(found, list):
        return [wide(value) for value in found]
    if not isinstance(found, dict):
        return found
    chosen = str(found.get("expr", "")).partition(f"width >= {NARROW} ? ")[2]
    return json.JSONDecoder().raw_decode(chosen)[0] if chosen else {key: wide(value) for key, value in found.items()}


def titles(at: AppTest) -> list[str]:
    """Of all charts but the icons of an epsilon."""
    found = [" ".join(spec["title"]["text"]) for spec, _ in charts(at)]
    return [title for title in found if not title.endswith(" in 100")]


def metrics(at: AppTest) -> list[tuple[str, str]]:
    return [(metric.label, metric.value) for metric in at.metric]


def dataset(at: AppTest) -> Dataset:
    return at.session_state["dpcore.data"]


def books(at: AppTest) -> dict[tuple[str, str], tuple[int, float, float]]:
    """Questions, epsilon claimed and epsilon proved of every account of the session."""
    accounts = at.session_state.get("dpcore.accounts", {})
    return {key[:2]: (len(book.entries), book.epsilon_claimed, book.epsilon_bound) for key, book in accounts.items()}


def key_of(at: AppTest, data: Dataset | None = None) -> str:
    """What the session's books call some data, by default those in use."""
    return at.session_state["dpcore.books"].key(dataset(at) if data is None else data)


def sums(at: AppTest) -> list[str]:
    """What would let somebody test guesses of the data in use, with a secret and without."""
    return [dataset(at).key(b""), key_of(at)]
