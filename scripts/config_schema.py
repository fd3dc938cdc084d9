"""Generate a JSON Schema of saved configurations (releases and comparisons) from the methods.

`scripts/registry.py` writes it to docs/config.schema.json; editors use it to complete settings.
"""

import json
import math
import re
from typing import Any, get_args

import dpcore as dp
from dpcore.domain.column import Origin
from dpcore.evaluate.evaluator import MEASURES
from dpcore.evaluate.learners import MODELS
from dpcore.experiment.commands.release import FORMAT as RELEASE
from dpcore.experiment.commands.release import MOST_ROWS
from dpcore.experiment.sweeps import FORMAT as COMPARISON
from dpcore.experiment.sweeps import MOST_EPSILON, MOST_EPSILONS, MOST_METHODS, MOST_REPEATS
from dpcore.methods.parameters import Choice, Flag, Number, NumberList, PairList, Parameter, Whole

WIDTH = 110
Fields = dict[str, Any]
TEXT, NOTHING = {"type": "string"}, {"type": "null"}
COUNT = {"type": "integer", "minimum": 1}


def schema_text() -> str:
    """Return the JSON Schema as text for the documentation."""
    return lines(schema()) + "\n"


def lines(value: Any, indent: int = 0) -> str:
    """Return JSON text in which every value that fits in a line is on one line."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(text) + indent <= WIDTH or not isinstance(value, dict | list):
        return text
    start, end = "{}" if isinstance(value, dict) else "[]"
    deeper = indent + 2
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {lines(part, deeper)}" for name, part in value.items()]
    else:
        parts = [lines(part, deeper) for part in value]
    each = ",\n".join(f"{' ' * deeper}{part}" for part in parts)
    return f"{start}\n{each}\n{' ' * indent}{end}"


def schema() -> Fields:
    """Return the JSON Schema as a dict."""
    parts = {RELEASE: "release", COMPARISON: "comparison"}
    methods = {kind.__name__: parameters(name) for name, kind in dp.METHODS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of dpcore",
        "description": "Settings for `dpcore release` and `dpcore compare`, as the dashboard saves them.",
        "type": "object",
        "required": ["format"],
        "properties": {"format": {"enum": list(parts), "description": "Settings of a release or a comparison."}},
        "allOf": [when({"format": name}, reference(part)) for name, part in parts.items()],
        "$defs": {"release": release(), "comparison": comparison(), **methods},
    }


def release() -> Fields:
    """Return the schema of `config.json` in a release's zip file."""
    origins = object_of(dict.fromkeys(get_args(Origin), COUNT), [])
    unit = {"max_contributions": COUNT, "id_column": {"type": ["string", "null"]}}
    fields = {
        "$schema": (TEXT, "The address of this JSON Schema, for editors."),
        "format": (TEXT, "Marks the file as settings of a release."),
        "method": (TEXT, "The method's name, or a title if `class` is given."),
        "class": ({"enum": list(dp.METHODS.classes)}, "The method's class in `dpcore`."),
        "parameters": ({"type": "object", "required": ["epsilon"]}, "The method's parameters."),
        "data": (name_object(), "The data set: a bundled one is found by its name."),
        "rows": (COUNT | {"maximum": MOST_ROWS}, "Number of synthetic rows."),
        "schema_source": ({"enum": ["declared", "inferred"]}, "Inferred from the rows: no guarantee holds."),
        "schema_origins": (origins, "Number of schema lines by their source."),
        "unit": (object_of(unit, ["max_contributions"]), "The privacy unit, if it is not a row."),
        "noise": (TEXT, "The source of noise of the release."),
        "page": ({"type": "object"}, "The page of the dashboard, and its settings."),
        "target": (TEXT, "The target column of a model."),
        "classes": ({"type": "array", "items": TEXT}, "The classes of a model."),
        "sizes": ({"type": "object", "additionalProperties": COUNT}, "The sizes of a model."),
    }
    found = object_of(with_descriptions(fields), ["format", "method", "parameters", "data"])
    return found | {"allOf": [case for name in dp.METHODS for case in cases(name)]}


def cases(name: str) -> list[Fields]:
    """Return the conditions on a release's parameters for one method, by class or by name."""
    kind = dp.METHODS[name].__name__
    then = {"properties": {"parameters": reference(kind)}}
    alone = when({"method": name}, then)
    alone["if"]["not"] = {"required": ["class"]}
    return [when({"class": kind}, then), alone]


def comparison() -> Fields:
    """Return the schema of a saved comparison."""
    below = {"type": ["number", "string", "null"]}
    label = {"column": TEXT, "equals": {"type": ["string", "null"]}, "below": below}
    budgets = {"type": "number", "exclusiveMinimum": 0, "maximum": MOST_EPSILON}
    settings: Fields = {"method": {"enum": list(dp.METHODS)}, "parameters": {"type": "object"}}
    method = object_of(settings, list(settings))
    method["allOf"] = [when({"method": name}, without_epsilon(name)) for name in dp.METHODS]
    methods = {"type": "object", "minProperties": 1, "maxProperties": MOST_METHODS}
    methods["additionalProperties"] = method
    rows = {"anyOf": [COUNT | {"maximum": MOST_REPEATS}, NOTHING]}
    fields = {
        "$schema": (TEXT, "The address of this JSON Schema, for editors."),
        "format": (TEXT, "Marks the file as settings of a comparison."),
        "dpcore": (TEXT, "The version of dpcore that wrote this file."),
        "data": (name_object(), "The data set: a bundled one is found by its name."),
        "schema": ({"type": "object"}, "The schema, as `dpcore schema` writes it."),
        "methods": (methods, "The methods and their parameters, by their titles in the table of results."),
        "epsilons": (array_of(budgets, MOST_EPSILONS), "The epsilons at which each method runs."),
        "repeats": (COUNT | {"maximum": MOST_REPEATS}, "Number of repeats of each method at each epsilon."),
        "measures": (array_of({"enum": list(MEASURES)}), "The utility measures to compute."),
        "models": (array_of({"enum": list(MODELS)}), "The models to train on synthetic data."),
        "label": (
            {"anyOf": [object_of(label, list(label)), NOTHING]},
            "The rows that count as positive; by default by the target.",
        ),
        "rows": (rows, "Number of synthetic rows; by default that of the data set."),
        "skip": ({"type": "boolean"}, "Whether measures that a method does not support are left out."),
        "hash": (TEXT, "Hash of the other fields."),
    }
    optional = ("$schema", "dpcore", "data", "schema", "hash")
    return object_of(with_descriptions(fields), [name for name in fields if name not in optional])


def without_epsilon(name: str) -> Fields:
    """Return the schema of a method's parameters without epsilon, for comparisons."""
    known = reference(dp.METHODS[name].__name__)
    return {"properties": {"parameters": {**known, "properties": {"epsilon": False}}}}


def parameters(name: str) -> Fields:
    """Return the schema of a method's parameters."""
    kind = dp.METHODS[name]
    each = {own: value(parameter, kind.descriptions()[own][1]) for own, parameter in kind.parameters().items()}
    return {"description": f"{name}: {kind.best_for}.", **object_of(each, [])}


def value(parameter: Parameter, about: str) -> Fields:
    """Return the schema of one parameter, with its description and default."""
    kinds = [*values(parameter), *([NOTHING] if parameter.optional else [])]
    found = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    return {**found, "description": about, "default": parameter.default}


def values(parameter: Parameter) -> list[Fields]:
    """Return the schemas of a parameter's kinds of values, except null."""
    match parameter:
        case Flag():
            return [{"type": "boolean"}]
        case Choice(options=options):
            return [{"enum": list(options)}]
        case Whole(minimum=least, maximum=most, words=words):
            return [range_of("integer", least, most), *([{"enum": list(words)}] if words else [])]
        case NumberList(minimum=low, maximum=high, open=marks, words=words, one_for_all=single):
            each = range_of("number", low, high, marks)
            several = {"type": "array", "items": each}
            return [*([{"enum": list(words)}] if words else []), *([each] if single else []), several]
        case Number(minimum=low, maximum=high, open=marks):
            return [range_of("number", low, high, marks)]
        case PairList():
            return [array_of({**array_of(TEXT, 2), "minItems": 2})]
    words = re.findall(r"'([^']*)'", parameter.kind)
    return [{"enum": words}] if words else [{"type": "number"} if parameter.kind == "float" else TEXT]


def range_of(kind: str, low: float, high: float, marks: str = "") -> Fields:
    """Return the schema of a number from `low` to `high`; "(" and ")" in `marks` exclude bounds."""
    ends = {"exclusiveMinimum" if "(" in marks else "minimum": low} if low > -math.inf else {}
    if high < math.inf:
        ends["exclusiveMaximum" if ")" in marks else "maximum"] = high
    return {"type": kind, **ends}


def when(texts: dict[str, str], then: Fields) -> Fields:
    """Return a condition: if an object's texts equal `texts`, the schema `then` applies."""
    known = {name: {"const": text} for name, text in texts.items()}
    return {"if": {"properties": known, "required": list(texts)}, "then": then}


def object_of(fields: Fields, required: list[str]) -> Fields:
    """Return the schema of an object with these fields and no others."""
    return {"type": "object", "required": required, "properties": fields, "additionalProperties": False}


def with_descriptions(fields: dict[str, tuple[Fields, str]]) -> Fields:
    """Return schemas of fields with their descriptions added."""
    return {name: {**field, "description": about} for name, (field, about) in fields.items()}


def name_object() -> Fields:
    """Return the schema of an object with a data set's name."""
    return {"type": "object", "required": ["name"], "properties": {"name": TEXT}}


def array_of(items: Fields, most: float = math.inf) -> Fields:
    """Return the schema of a list with 1 to `most` items."""
    ends = {"minItems": 1} | ({"maxItems": most} if most < math.inf else {})
    return {"type": "array", "items": items, **ends}


def reference(name: str) -> Fields:
    """Return a reference to a definition of the schema."""
    return {"$ref": f"#/$defs/{name}"}
