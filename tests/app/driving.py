"""What the tests of the dashboard do with its pages, and how they look at them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Element

from dpcore.dashboard.session import Shown
from dpcore.datasets import Dataset

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
PAGE = "naive_bayes"  # or what a test's module calls so
TIMEOUT = 60
REMEDY = "**What to do:**"


# What a person does


def started(page: str = "home") -> AppTest:
    """The app at a page, in an empty session."""
    at = AppTest.from_file(ROOT / "app.py", default_timeout=TIMEOUT)
    return run(at if page == "home" else at.switch_page(f"pages/{page}.py"))


def run(at: AppTest) -> AppTest:
    """One more run of the script, without a traceback."""
    at.run()
    assert not at.exception, [(e.message, list(e.stack_trace)) for e in at.exception]
    return at


def opened(at: AppTest, page: str) -> AppTest:
    """The same session at another page."""
    return run(at.switch_page(f"pages/{page}.py"))


def tab(at: AppTest, name: str) -> AppTest:
    """The same page with another tab open."""
    assert name in tabs(at)
    at.session_state[f"{PAGE}.tab"] = name
    return run(at)


def press(at: AppTest, key: str) -> AppTest:
    widget(at, key).click()
    return run(at)


def change(at: AppTest, **settings: Any) -> AppTest:
    """Move settings of the page, one after the other, by their keys without its name; `__` stands for a dot."""
    for name, value in settings.items():
        widget(at, f"{PAGE}.{name.replace('__', '.')}").set_value(value)
        run(at)
    return at


def released(at: AppTest | None = None, **settings: Any) -> AppTest:
    """The page with a release made with some settings."""
    at = change(started(PAGE) if at is None else at, **settings)
    before = shown(at)
    press(at, f"{PAGE}.run")
    assert shown(at) is not None, errors(at)
    assert shown(at) is not before, errors(at)
    return at


def upload(at: AppTest, name: str, raw: bytes) -> AppTest:
    """The data page with a file uploaded."""
    if at.segmented_control("data.source").value != "upload":
        at.segmented_control("data.source").set_value("upload")
        run(at)
    at.file_uploader("data.file").set_value((name, raw, "application/octet-stream"))
    return run(at)


def edit(at: AppTest, edits: dict[int, dict[str, Any]]) -> AppTest:
    """Change cells of the schema table, by row number and column name."""
    (table,) = at.data_editor
    at.session_state[table.key] = {"edited_rows": edits, "added_rows": [], "deleted_rows": []}
    return run(at)


def using(name: str, raw: bytes, *, target: str | None = "ill", declared: bool = True) -> AppTest:
    """The data page with an uploaded file in use."""
    at = upload(started("data"), name, raw)
    assert not mendable(at)
    if target is not None:
        widget(at, "data.target").set_value(target)
    if declared:
        widget(at, "data.declared").check()
    press(at, "data.use")
    assert dataset(at).name == name, errors(at)
    return at


def key_of(at: AppTest, data: Dataset | None = None) -> str:
    """What the session's books call some data, by default those in use."""
    return at.session_state["dpcore.books"].key(dataset(at) if data is None else data)


def sums(at: AppTest) -> list[str]:
    """What would let somebody test guesses of the data in use, with a secret and without."""
    return [dataset(at).key(b""), key_of(at)]


# Files


def people(rows: int = 80, seed: int = 3) -> pd.DataFrame:
    """A small table in which everything depends on the class `ill`; "Zq" marks cells that nobody should see."""
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.4
    ill[:2] = True, False
    return pd.DataFrame(
        {
            "age": np.where(ill, rng.integers(50, 90, rows), rng.integers(1, 60, rows)),
            "town": np.where(ill, "Zqa", rng.choice(["Zqa", "Zqb", "Zqc"], rows)),
            "ill": np.where(ill, "yes", "no"),
        }
    )


def csv(frame: pd.DataFrame, **how: Any) -> bytes:
    return frame.to_csv(index=False, **how).encode()


# What stands on the screen and in the session


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


def tabs(at: AppTest) -> list[str]:
    return [found.label for found in at.tabs]


def errors(at: AppTest) -> list[str]:
    return [str(error.value) for error in at.error]


def mendable(at: AppTest) -> list[str]:
    """The errors that tell a cause and a remedy, without the backslashes that make Markdown literal."""
    return [error.replace("\\", "") for error in errors(at) if REMEDY in error]


def said(at: AppTest) -> str:
    """Texts, captions, alerts and metrics, without the backslashes that make Markdown literal."""
    kinds = ("title", "subheader", "markdown", "caption", "error", "warning", "info", "success", "metric")
    parts = [f"{getattr(e, 'label', '')} {e.value}" for kind in kinds for e in at.get(kind)]
    return "\n".join(parts).replace("\\", "")


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
        found.append((json.loads(element.proto.spec), [convert_arrow_bytes_to_pandas_df(table) for table in tables]))
    return found


def titles(at: AppTest) -> list[str]:
    """Of all charts but the icons of an epsilon."""
    found = [" ".join(spec["title"]["text"]) for spec, _ in charts(at)]
    return [title for title in found if not title.endswith(" in 100")]


def metrics(at: AppTest) -> list[tuple[str, str]]:
    return [(metric.label, metric.value) for metric in at.metric]


def shown(at: AppTest) -> Shown | None:
    """The release that the page shows, with what was computed for its panels."""
    return at.session_state.get("dpcore.shown", {}).get(PAGE)


def dataset(at: AppTest) -> Dataset:
    return at.session_state["dpcore.data"]


def books(at: AppTest) -> dict[tuple[str, str], tuple[int, float, float]]:
    """Questions, epsilon claimed and epsilon proved of every account of the session."""
    accounts = at.session_state.get("dpcore.accounts", {})
    return {key: (len(book.entries), book.epsilon_claimed, book.epsilon_bound) for key, book in accounts.items()}
