"""Sessions that are ready when a test begins: at their page, with data in use, and with a release if one is needed."""

import functools
import io
import zipfile
from dataclasses import replace
from typing import Any

import driving
import pandas as pd
from driving import ROOT, TIMEOUT, change, people, places, released, run, shown
from screen import books, widget
from streamlit.testing.v1 import AppTest

from dpcore import Schema
from dpcore.accounting.store import LedgerStore
from dpcore.dashboard import controls
from dpcore.dashboard.session import ShownRelease
from dpcore.datasets import Dataset
from dpcore.domain.former_names import PUBLISHED

CENTRAL = ("naive_bayes", "networks", "taxonomy", "forests")  # pages of methods that see the rows
FAMILIES = (*CENTRAL, "responses")


def data(frame: pd.DataFrame | None = None, name: str = "people", **schema: Any) -> Dataset:
    """80 rows with a declared schema, 24 of them to test on."""
    rows = people() if frame is None else frame
    wanted = {"source": "declared", "notes": (), "target": "ill" if "ill" in rows else None} | schema
    return Dataset(name, rows[24:], rows[:24], replace(Schema.infer(rows, keep=list(rows)), **wanted), f"sum of {name}")


PEOPLE = data()


def fresh(given: Dataset = PEOPLE, **session: Any) -> AppTest:
    """The page of the test, in a new session with these data in use and more under other keys."""
    at = AppTest.from_file(ROOT / "app.py", default_timeout=TIMEOUT)
    for key, value in {"dpcore.data": given, **session}.items():
        at.session_state[key] = value
    return run(at.switch_page(f"pages/{driving.PAGE}.py"))


def page(given: Dataset = PEOPLE, **session: Any) -> AppTest:
    """The same at epsilon 1, unless people randomize their own answers: they spend more, as their page recommends."""
    usual = {f"{driving.PAGE}.noise": "auto", f"{driving.PAGE}.epsilon": 1.0} if driving.PAGE in CENTRAL else {}
    return fresh(given, **{**usual, **session})


def with_release(
    name: str = "", mode: str = "", variant: str = "", given: Dataset = PEOPLE, **settings: Any
) -> AppTest:
    """The page with a release of these data, and a tab open.

    It was made by a press of Run, once for all tests of a worker; the session's own account is empty, and its controls
    are as they are at first.
    """
    made = pressed(driving.PAGE, given, mode, variant, tuple(settings.items()))
    shelf = {driving.PAGE: ShownRelease(made.release, made.data)}
    opened = places(name) if name else {f"{driving.PAGE}.tab": ""}
    return page(given, **{"dpcore.shown": shelf, **opened})


@functools.cache
def pressed(name: str, given: Dataset, mode: str, variant: str, settings: tuple[tuple[str, Any], ...]) -> ShownRelease:
    """What a press of Run shows on that page."""
    at = page(given, **{"dpcore.books": LedgerStore(None)})  # not in those of the test that asks first
    if variant:
        choose(at, mode, variant)
    found = shown(released(at, **dict(settings)))
    assert found is not None
    return found


def label(mode: str, name: str, **given: Any) -> str:
    """What the page calls a method, or the first that it offers of one with some parameters."""
    offers = offered(driving.PAGE, mode)
    if name in offers:
        return name
    return next(
        one for one, (kind, offer) in offers.items() if kind == name and given.items() <= offer.parameters.items()
    )


def offered(family: str, mode: str) -> dict[str, tuple[str, Any]]:
    """The presets of a page in a mode and their methods' names, by their labels."""
    return {one.label: (name, one) for name, one in controls.presets_of(family).values() if one.mode == mode}


def option(mode: str, label: str) -> str:
    """What the page's list of methods calls a preset."""
    return PUBLISHED.format(label=label) if mode == "published" else label


def choose(at: AppTest, mode: str, name: str, **given: Any) -> AppTest:
    """A method of a mode; only what changes, because every run of the script costs time."""
    return change(at, method=option(mode, label(mode, name, **given)))


def at_once(at: AppTest, **settings: Any) -> AppTest:
    """Move several settings that stand on the screen, in one run."""
    for name, value in settings.items():
        widget(at, f"{driving.PAGE}.{name}").set_value(value)
    return run(at) if settings else at


def asked(at: AppTest) -> dict[str, Any]:
    """The constructor's arguments that the Run button would use."""
    found: dict[str, Any] = at.session_state[f"{driving.PAGE}.chosen"][1]
    return found


def nothing_new(at: AppTest, first: Any, spent: dict[Any, Any]) -> bool:
    """Whether the page shows that release still, nothing was charged, and nothing waits to be run."""
    return shown(at) is first and books(at) == spent and not at.session_state["dpcore.requests"]


def files(raw: bytes) -> dict[str, bytes]:
    """What is in a zip."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def another(found: Any) -> Any:
    """Another value of a widget, None if it has none or is none to move."""
    kind, value = getattr(found, "type", ""), getattr(found, "value", None)
    if kind == "select_slider" and isinstance(value, tuple):
        return (found.options[1], found.options[1])
    if kind in ("selectbox", "radio", "button_group", "select_slider"):
        several = isinstance(value, list)  # then any option is another value
        shown_as = found.format_func(value) if value is not None and not several else None
        others = [option for option in found.options if option != shown_as]
        if not others or kind != "select_slider":
            return next(iter(others), None)
        return float(others[0].rstrip(" %")) / (100 if others[0].endswith("%") else 1)
    if kind == "number_input":
        nearby = (1,) if value is None else (value + 1, value - 1, value / 2)
        return next((one for one in nearby if (found.min or 0) <= one <= (found.max or one)), None)
    if kind in ("checkbox", "toggle"):
        return not value
    if kind == "slider":
        return found.max if value == found.min else found.min
    return {"text_input": "x", "text_area": "x"}.get(kind)


Journey = tuple[str, str, dict[str, Any], dict[str, Any]]
"""A mode, a method, settings that are moved, arguments of the next run: None if one is not given, ... for any value."""


def follow(at: AppTest, journeys: list[Journey]) -> AppTest:
    """Go through journeys in one session, as somebody looks through a page."""
    for mode, name, moved, wanted in journeys:
        found = asked(at_once(choose(at, mode, name), **moved))
        given = {key: ... if wanted[key] is ... and key in found else found.get(key) for key in wanted}
        assert given == wanted, (mode, name, moved)
    return at
