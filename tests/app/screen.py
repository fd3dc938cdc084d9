"""What stands on the screen and in the session, as the tests of the dashboard look at it."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pandas as pd
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Element

from dpcore.charts.base import REAL_DATA, ROOM
from dpcore.datasets import Dataset
from dpcore.language import ENGLISH

REFUSED = ":material/error:"  # the icon of what can be mended


def elements(at: AppTest) -> Iterator[Any]:
    """All blocks and elements of the screen."""

    def below(node: Any) -> Iterator[Any]:
        for child in node.children.values():
            yield child
            if isinstance(child, Block):
                yield from below(child)

    yield from below(at._tree)


def widget(at: AppTest, key: str) -> Any:
    """The widget whose key is this up to a colon, or else up to a dot."""
    keyed = [w for w in elements(at) if w.key]
    same = [w for w in keyed if w.key.partition(":")[0] == key]
    (found,) = same or [w for w in keyed if w.key.startswith(f"{key}.")]
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
    """The errors that tell a cause and, after an empty line, a remedy; without the backslashes of literal Markdown."""
    refused = [str(error.value) for error in at.error if error.icon == REFUSED]
    return [error.replace("\\", "") for error in refused if "\n\n" in error]


def said(at: AppTest) -> str:
    """Texts, captions, alerts and metrics, without the backslashes that make Markdown literal."""
    kinds = ("title", "header", "markdown", "caption", "error", "warning", "info", "success", "metric")
    parts = [f"{getattr(e, 'label', '')} {e.value}" for kind in kinds for e in at.get(kind)]
    return "\n".join(parts).replace("\\", "")


def lines_of(at: AppTest) -> dict[str, dict[str, Any]]:
    """The lines of the table on the data page as they stand before edits, by column name."""
    (found,) = at.data_editor
    return {line["name"]: line for line in found.value.to_dict("records")}


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
    chosen = re.split(rf"{re.escape(ROOM)} >= \d+ \? ", str(found.get("expr", "")), maxsplit=1)[1:]
    with suppress(json.JSONDecodeError, IndexError):  # an expression of another kind stays as it is
        return json.JSONDecoder().raw_decode(chosen[0])[0]
    return {key: wide(value) for key, value in found.items()}


def pictures(at: AppTest) -> list[dict[str, Any]]:
    """The specifications of all charts but the icons of an epsilon."""
    found = [spec for spec, _ in charts(at)]
    return [spec for spec in found if "['filled', 'open']" not in str(spec.get("encoding"))]


def marked(at: AppTest) -> list[bool]:
    """Which of these charts say that they read real rows."""
    return [REAL_DATA in " ".join([*spec["title"]["text"]]) for spec in pictures(at)]


def metrics(at: AppTest) -> list[str]:
    """The values of all figures in frames; of a release first what is claimed, what is proved, and its size."""
    return [metric.value for metric in at.metric]


def numbers(at: AppTest) -> list[float]:
    """The same without their signs and units."""
    return [float(found[0].replace(",", "")) for value in metrics(at) if (found := re.match(r"-?[\d,.]+", value))]


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
