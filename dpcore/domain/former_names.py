"""Names of version 0.2 and before with their current names, for old files, links and scripts.

Only current names are written. Former names (`former_names.toml`) are read here and nowhere else.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpcore.errors import ParameterError
from dpcore.text import read_toml

FORMER = read_toml(Path(__file__).with_suffix(".toml"))
PUBLIC: dict[str, str] = FORMER["public"]
LABELS: dict[str, str] = FORMER["labels"]
PARAMETERS: dict[str, str] = FORMER["parameters"]
VALUES: dict[str, dict[str, str]] = FORMER["values"]
PUBLISHED = "{label} (as published)"  # a preset in a page's list of methods


def renamed_parameters(given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return a method's parameters with former names and former values replaced by current ones.

    Parameters
    ----------
    given : mapping
        The parameters of a file, link or script, by name.
    known : mapping
        The method's current parameters. These names, and values among their options, are kept.

    Raises
    ------
    ParameterError
        If a parameter is given by both its names.
    """
    former = {name: now for name, now in PARAMETERS.items() if name not in known and now in known}
    try:
        named = _renamed(given, former)
    except TypeError:
        raise ParameterError("A parameter has both its former and its current name.", "Drop the former name.") from None
    for name, value in named.items():
        own = getattr(known.get(name), "options", ())
        if isinstance(value, str) and value not in own:
            named[name] = VALUES.get(name, {}).get(value, value)
    return named


def renamed_fields(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file's fields by current names; TypeError if a field has both of its names."""
    return _renamed(raw, FORMER["fields"])


def _renamed(given: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return a mapping with keys renamed by `names` (old: new); TypeError if two become one."""
    found = {names.get(name, name): value for name, value in given.items()}
    if len(found) < len(given):
        raise TypeError("a name is given in its former and in its current form")
    return found


def renamed_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return saved settings of a page's controls under current names, with current values.

    `settings` has values by the controls' keys; former keys are, for example, "asked:5" and
    "variant.paper".
    """
    found: dict[str, Any] = {}
    for key, value in settings.items():
        name, *signs = re.split(r"([.:])", key)
        name = FORMER["settings"].get(name, PARAMETERS.get(name, name))
        tail = "".join("published" if part == "paper" else part for part in signs if name not in FORMER["of_methods"])
        current = f"{name}{tail}:data" if key.startswith("own_shares.") else f"{name}{tail}"
        if key == "transform":  # text "a from N(2, 10), b from N(0, 5)"
            normal = re.findall(r"\(([\d, ]{1,20})\)", str(value))
            found |= {f"{part}.each.2:data": text for part, text in zip(("factors", "offsets"), normal, strict=False)}
        elif key not in FORMER["gone"]:
            names = VALUES.get(name, LABELS if name in ("method", "variant") else {})
            found[current] = names.get(value, value) if isinstance(value, str) else value
        if name == "case" and isinstance(value, str):
            found[current] = value.replace("/paper/", "/published/")
    if "method" not in found and ("mode" in found or any(name.startswith("variant.") for name in found)):
        mode = str(found.pop("mode", "corrected"))  # formerly two controls, now one list
        label = {part: found.pop(f"variant.{part}", None) for part in ("corrected", "published")}.get(mode)
        of_mode = PUBLISHED if mode == "published" else "{label}"
        found["method"] = of_mode.format(label=label) if isinstance(label, str) else mode
    return found
