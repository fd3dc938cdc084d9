"""The settings of a page as plain values, to and from a link or a file.

A page draws its settings inside `draw_settings`. There, every control is named by its key without
the page's name, such as "epsilon". Values from a link or a file are not trusted. Only controls
that the page draws receive one. A value that a control could not have is dropped before the
control is drawn (`widgets.lasting`), and reported. A link holds parameters only, and never the
token of a data set, even for a control that belongs to one.
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

OWN = "own"  # in an address: the session had the user's own data
CLASS = "class"  # in an address: the screen has class size
OF_DATA = ":data"  # in a name, in place of the token of the data
MOST_SETTINGS = 100
Settings = Mapping[str, Any]


def preset_controls(page: str, settings: Settings) -> None:
    """Set a page's controls the next time they are drawn."""
    pending_settings(page).update(renamed_settings(settings))


def pending_settings(page: str) -> dict[str, Any]:
    """Return the requested values of controls that are not drawn yet, by name.

    A link, a file or a lesson requested them.
    """
    return session.keep_once(f"dpcore.presets:{page}", dict[str, Any])


@dataclass(eq=False)
class SettingsDrawing:
    """The state of the settings that are being drawn, by the keys of their controls."""

    labels: dict[str, str] = field(default_factory=dict)
    wishes: dict[str, Any] = field(default_factory=dict)  # requested values, not applied yet
    left_out: list[str] = field(default_factory=list)  # labels of rejected values


def drawing() -> SettingsDrawing:
    """Return the state of the settings that are being drawn now."""
    return session.keep_once("dpcore.drawing", SettingsDrawing)


@contextmanager
def draw_settings(page: str, data: Dataset, part: str = "") -> Iterator[None]:
    """Draw a page's settings, or a `part` of them, in this block, with values from a link or file.

    `data` is the data set that the settings are for. A warning names the values that no control of
    the page could have.
    """
    settings = pending_settings(page)
    settings |= settings_of_link()
    now = session.keep(
        "dpcore.drawing", SettingsDrawing(wishes={control_key(page, name, data): settings[name] for name in settings})
    )
    above = st.container()  # where users of a link see it
    yield
    settings.clear()
    if part:  # another part may have controls for the rest
        settings |= {control_name(page, key, data): wish for key, wish in now.wishes.items()}
    elif left := len(now.wishes):
        text = plural("{n:,} setting that the page lacks", "{n:,} settings that the page lacks", left)
        now.left_out.append(text)
    now.wishes.clear()
    if now.left_out:
        text = phrase("Settings of the link or file that do not fit this page were dropped: {names}.")
        above.warning(say(text, names=", ".join(now.left_out)), icon=":material/link_off:")
    keys = sorted(key for key in now.labels if key.startswith(f"{page}."))
    values = {control_name(page, key, data): st.session_state.get(key) for key in keys}
    parts = session.keep_once(f"dpcore.settings:{page}", dict[str, Settings])
    parts[part] = {name: value for name, value in values.items() if is_plain(value)}


def control_key(page: str, name: str, data: Dataset) -> str:
    """Return the key of a control from its name in links.

    For a control that belongs to one data set, the key ends in the token of `data`.
    """
    return f"{page}.{name.removesuffix(OF_DATA)}:{data.token}" if name.endswith(OF_DATA) else f"{page}.{name}"


def control_name(page: str, key: str, data: Dataset) -> str:
    """Return a control's name in links and files from its key.

    The name has ":data" in place of the token of `data`.
    """
    name, end = key.removeprefix(f"{page}."), f":{data.token}"
    return name.removesuffix(end) + OF_DATA if name.endswith(end) else name


def is_plain(value: Any) -> bool:
    """Return whether a value can be in a link: text, number, boolean, None, or a list of texts."""
    texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return texts or value is None or isinstance(value, str | bool | int | float)


def settings_of(page: str) -> dict[str, Any]:
    """Return the values of a page's controls by name, as they were last drawn."""
    parts = st.session_state.get(f"dpcore.settings:{page}", {})
    return {name: value for part in parts.values() for name, value in part.items()}


def make_link(page: str, settings: Settings, target: str | None) -> str:
    """Return the address of a page with these settings.

    The class column is left out if it is `target`, the one of the schema.
    """
    shown = {k: v for k, v in settings.items() if v is not None and (k, v) != (f"target{OF_DATA}", target)}
    address = str(st.context.url or "").partition("?")[0].rstrip("/")
    base = address if address.endswith(f"/{page}") else f"{address}/{page}"
    return f"{base}?{urlencode({name: link_text(value) for name, value in shown.items()})}"


def link_text(value: Any) -> str:
    """Return the text of a setting's value in a link.

    It is JSON, or the text itself if that cannot be read as JSON.
    """
    return value if isinstance(value, str) and link_value(value) == value else json.dumps(value, ensure_ascii=False)


def link_value(text: str) -> Any:
    """Return the value of a setting from its text in a link."""
    with suppress(DataError):
        if is_plain(value := json_value(text, DataError, "This value of a link is not JSON", "")):
            return value
    return text


def settings_of_link() -> Settings:
    """Return the settings in the address, and remove them from the address."""
    names = [name for name in st.query_params if name not in (OWN, CLASS)]
    found = {name: link_value(st.query_params[name]) for name in names[:MOST_SETTINGS]}
    for name in names:
        del st.query_params[name]
    return renamed_settings(found)


def settings_of_file(raw: bytes) -> tuple[str, Settings, str]:
    """Return the page, settings and data name in a release's zip or `config.json`."""
    from dpcore.export.archive import settings_of_release  # imported late: Start needs no releases

    remedy = "Choose the zip of a release, or the config.json in it."
    cause = "The file has no settings of a dashboard page"
    try:
        config = settings_of_release(raw, cause, remedy)
        (page, settings), data = (config["page"][part] for part in ("name", "settings")), config["data"]["name"]
        known = isinstance(page, str) and isinstance(data, str) and len(settings) <= MOST_SETTINGS
        if not known or not all(map(is_plain, settings.values())):
            raise TypeError
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(f"{cause}.", remedy) from error
    return page, renamed_settings(settings), data
