"""What a page's controls say, as plain values: into a link or a file, and back.

A page draws its settings inside `draw_settings`. There every control is known by its key without the page's
name, such as "epsilon". Values that come from a link or a file are input like any other: only
controls that the page draws take one, and what a control could not give itself is dropped before it
is drawn (`widgets.lasting`), and named. A link holds parameters only: a control that belongs to one
data set is named without the data's token.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from dpcore.dashboard import session
from dpcore.datasets import Dataset
from dpcore.domain.documents import json_value
from dpcore.domain.former_names import renamed_settings
from dpcore.errors import DataError
from dpcore.language import phrase, plural, say

OWN = "own"  # in an address: its session had data of somebody's own
CLASS = "class"  # and its screen is for a class
OF_DATA = ":data"  # in a name, for the token of the data in use
MOST_SETTINGS = 100
Settings = Mapping[str, Any]


def ask(page: str, settings: Settings) -> None:
    """Set a page's controls the next time they are drawn."""
    waiting(page).update(renamed_settings(settings))


def waiting(page: str) -> dict[str, Any]:
    """Values for controls that were not drawn yet."""
    return session.keep_once(f"dpcore.presets:{page}", dict[str, Any])


@dataclass(eq=False)
class Drawing:
    """What a page's settings, or a part of them, said and were asked to say since they were last begun, by key."""

    labels: dict[str, str] = field(default_factory=dict)
    wishes: dict[str, Any] = field(default_factory=dict)  # not granted yet
    left_out: list[str] = field(default_factory=list)  # labels of controls that could not say what was wished


def drawing() -> Drawing:
    """The settings that are drawn now: `widgets.lasting` puts down its control there, and grants wishes."""
    return session.keep_once("dpcore.drawing", Drawing)


@contextmanager
def draw_settings(page: str, data: Dataset, part: str = "") -> Iterator[None]:
    """Draw a page's settings, or a part of them, inside this."""
    settings = waiting(page)
    settings |= settings_of_link()
    now = session.keep(
        "dpcore.drawing", Drawing(wishes={key_of(page, name, data): settings[name] for name in settings})
    )
    above = st.container()  # whoever opens a link does not see the end of long settings
    yield
    settings.clear()
    if part:  # another one may have a control for what is left
        settings |= {name_of(page, key, data): wish for key, wish in now.wishes.items()}
    elif left := len(now.wishes):
        text = plural("{n:,} setting that it does not have", "{n:,} settings that it does not have", left)
        now.left_out.append(text)
    now.wishes.clear()
    if now.left_out:
        text = phrase("Settings from that link or file that do not fit this page were left out: {names}.")
        above.warning(say(text, names=", ".join(now.left_out)), icon=":material/link_off:")
    keys = sorted(key for key in now.labels if key.startswith(f"{page}."))
    values = {name_of(page, key, data): st.session_state.get(key) for key in keys}
    parts = session.keep_once(f"dpcore.settings:{page}", dict[str, Settings])
    parts[part] = {name: value for name, value in values.items() if plain(value)}


def current(key: str, usual: Any = None) -> Any:
    """What a control is asked to say, before it is drawn; or what it says."""
    return drawing().wishes.get(key, st.session_state.get(key, usual))


def key_of(page: str, name: str, data: Dataset) -> str:
    """A control's key."""
    return f"{page}.{name.removesuffix(OF_DATA)}:{data.token}" if name.endswith(OF_DATA) else f"{page}.{name}"


def name_of(page: str, key: str, data: Dataset) -> str:
    """What a control is called in links and files."""
    name = key.removeprefix(f"{page}.")
    return name.removesuffix(f":{data.token}") + OF_DATA if name.endswith(f":{data.token}") else name


def plain(value: Any) -> bool:
    """Whether a value can stand in a link; a list can if it is of texts."""
    texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return texts or value is None or isinstance(value, str | bool | int | float)


def settings_of(page: str) -> dict[str, Any]:
    """What the controls of a page said when they were last drawn."""
    parts = st.session_state.get(f"dpcore.settings:{page}", {})
    return {name: value for part in parts.values() for name, value in part.items()}


def link(page: str, settings: Settings, target: str | None) -> str:
    """The address of a page with these settings. The class column is left out where it is the schema's own."""
    shown = {k: v for k, v in settings.items() if v is not None and (k, v) != (f"target{OF_DATA}", target)}
    address = str(st.context.url or "").partition("?")[0].rstrip("/")
    base = address if address.endswith(f"/{page}") else f"{address}/{page}"
    return f"{base}?{urlencode({name: as_text(value) for name, value in shown.items()})}"


def as_text(value: Any) -> str:
    """A value in a link: text as it is, unless it would be read as something else."""
    return value if isinstance(value, str) and from_text(value) == value else json.dumps(value, ensure_ascii=False)


def from_text(text: str) -> Any:
    """A value from a link."""
    with suppress(DataError):
        if plain(value := json_value(text, DataError, "This value of a link is not JSON", "")):
            return value
    return text


def settings_of_link() -> Settings:
    """What the address says, which is then forgotten, so that it is not asked for twice."""
    names = [name for name in st.query_params if name not in (OWN, CLASS)]
    found = {name: from_text(st.query_params[name]) for name in names[:MOST_SETTINGS]}
    for name in names:
        del st.query_params[name]
    return renamed_settings(found)


def settings_of_file(raw: bytes) -> tuple[str, Settings, str]:
    """The page, its settings, and the name of the data, from a release's zip or its `config.json`."""
    from dpcore.export.archive import settings_of_release  # the first page does without what makes releases

    remedy = "Choose the zip of a release of rows or of a classifier, or the config.json in it."
    cause = "This file holds no settings of a page"
    try:
        config = settings_of_release(raw, cause, remedy)
        (page, settings), data = (config["page"][part] for part in ("name", "settings")), config["data"]["name"]
        known = isinstance(page, str) and isinstance(data, str) and len(settings) <= MOST_SETTINGS
        if not known or not all(map(plain, settings.values())):
            raise TypeError
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(f"{cause}.", remedy) from error
    return page, renamed_settings(settings), data
