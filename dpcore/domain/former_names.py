"""Names of version 0.2 and before, and what they are now: one table for files, links and scripts written then.

The current names are written; the former ones are read, here and nowhere else.
"""

import re
from collections.abc import Mapping
from typing import Any

from dpcore.errors import ParameterError

PUBLIC = {  # of the package, as exported scripts import them
    "AdaptiveTables": "AdaptiveMarginals",
    "IndependentMargins": "IndependentMarginals",
    "PlainForest": "NonPrivateForest",
    "PlainNaiveBayes": "NonPrivateNaiveBayes",
    "Unit": "PrivacyUnit",
    "durable_ledger": "persistent_ledger",
    "encode": "encode_folder",
    "release_of": "make_release",
}
LABELS = {  # of methods and their presets
    "Adaptive tables": "Adaptive marginals",
    "Independent margins": "Independent marginals",
    "Plain forest": "Non-private forest",
    "Plain naive Bayes": "Non-private naive Bayes",
    "Adaptive tables: pairs that the model is most wrong about": "Adaptive marginals: pairs that the model is most "
    "wrong about",
    "Independent margins: every column by itself": "Independent marginals: every column by itself",
    "C2: the paper's algorithm at its true price": "C2: the paper's algorithm, every label charged",
    "Algorithm 1: random rows, labels by the exact model (no privacy)": "Algorithm 1: random rows, noiseless labels "
    "(no privacy)",
    "All levels counted, paid once (reconstructed)": "Our reconstruction: all levels counted, charged once",
}
PARAMETERS = {"children": "categorical_splits", "steps": "split_selection", "asked": "n_questions"}
VALUES = {  # by the current name of a parameter
    **dict.fromkeys(("mode", "affinity", "kappa"), {"paper": "published"}),  # noqa: RUF024 - nobody changes it
    "noise": {"opendp": "auto"},  # of the same distributions
    "categorical_splits": {"few": "grouped", "one": "one_vs_rest"},
    "split_selection": {"one": "joint", "two": "two_stage"},
}
PUBLISHED = "{label} (as published)"  # what a page's list of methods calls a preset of published mode
OF_METHODS = (  # controls of pages behind whose names stood a method, its mode, or how many there are
    "affinity", "categorical_splits", "criterion", "cuts", "k1", "max_depth", "max_features", "n_questions", "n_trees",
    "partition", "reconstruction", "score", "vote",
)  # fmt: skip
SETTINGS = {"depth": "max_depth", "shares": "level_shares", "own_shares": "level_shares.each"}
GONE = ("bootstrap", "max_depth_ruled", "n_trees_ruled", "split")  # said nothing that others do not say
FIELDS = {  # of privacy units, columns and finished runs
    "rows": "max_contributions",
    "column": "id_column",
    "form": "number_format",
    "epsilon_of_noise": "epsilon_nominal",
}


def renamed_parameters(given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """A method's parameters by their current names, with current values.

    What the method itself knows, a name in `known` or one of its options, stays as it is.

    Raises
    ------
    ParameterError
        If a parameter is given by both of its names.
    """
    former = {name: now for name, now in PARAMETERS.items() if name not in known and now in known}
    try:
        named = _renamed(given, former)
    except TypeError:
        raise ParameterError("A parameter is given by its former and its current name.", "Drop the former.") from None
    own = {name: getattr(parameter, "options", ()) for name, parameter in known.items()}
    former_values = {
        name: {old: now for old, now in values.items() if old not in own.get(name, ())}
        for name, values in VALUES.items()
    }
    return {name: _renamed_value(former_values.get(name, {}), value) for name, value in named.items()}


def renamed_fields(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a part of a file by their current names; TypeError if one has both of its names."""
    return _renamed(raw, FIELDS)


def _renamed(given: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    found = {names.get(name, name): value for name, value in given.items()}
    if len(found) < len(given):
        raise TypeError("a name is given in its former and in its current form")
    return found


def renamed_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the controls of a page said ("asked:5", "variant.paper"), as current links and files have it."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        name, *signs = re.split(r"([.:])", key)
        name = SETTINGS.get(name, PARAMETERS.get(name, name))
        tail = "".join("published" if part == "paper" else part for part in signs if name not in OF_METHODS)
        current = f"{name}{tail}:data" if key.startswith("own_shares.") else f"{name}{tail}"
        if key == "transform":  # two normal distributions: "a from N(2, 10), b from N(0, 5)"
            normal = re.findall(r"\(([\d, ]{1,20})\)", str(value))
            found |= {f"{part}.each.2:data": text for part, text in zip(("factors", "offsets"), normal, strict=False)}
        elif key not in GONE:
            found[current] = _renamed_value(VALUES.get(name, LABELS if name in ("method", "variant") else {}), value)
        if name == "case" and isinstance(value, str):
            found[current] = value.replace("/paper/", "/published/")
    if "method" not in found and ("mode" in found or any(name.startswith("variant.") for name in found)):
        mode = str(found.pop("mode", "corrected"))  # two controls of a page, which are one list of methods now
        label = {part: found.pop(f"variant.{part}", None) for part in ("corrected", "published")}.get(mode)
        of_mode = PUBLISHED if mode == "published" else "{label}"
        found["method"] = of_mode.format(label=label) if isinstance(label, str) else mode
    return found


def _renamed_value(names: Mapping[str, str], value: Any) -> Any:
    return names.get(value, value) if isinstance(value, str) else value
