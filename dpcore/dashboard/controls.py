"""The controls of a method's page: the choice of the method, and one control per parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from dpcore.accounting.relation import Relation
from dpcore.dashboard import jobs, links, void_guarantee
from dpcore.dashboard.epsilon import EPSILONS, choose_epsilon
from dpcore.dashboard.shell import escape, show_error
from dpcore.dashboard.widgets import choice, lasting
from dpcore.datasets import Dataset
from dpcore.domain import former_names
from dpcore.domain.schema import Schema
from dpcore.errors import DPCoreError, ParameterError
from dpcore.language import phrase, retold, say
from dpcore.methods import METHODS
from dpcore.methods.parameters import (
    Choice,
    Control,
    Flag,
    Number,
    NumberList,
    PairList,
    Preset,
    WeightList,
    Whole,
)

if TYPE_CHECKING:
    from dpcore.methods.base import (
        PrivateEstimator,  # with scikit-learn, which Home does without
        Synthesizer,
    )

MOST_ROWS = 1_000_000  # most synthetic rows, and rows of a forecast
ROWS = phrase("If empty: the public number of rows, or the noisy estimate of the release.")
SHORT = 8  # names with fewer letters are shown in full
RELATIONS = {str(one): one.short for one in (Relation.ADD_REMOVE, Relation.REPLACE)}
OWN, EACH = "own", phrase("Enter one number for each column")
MOST_OFFERED, TIMES = 1_000, " × "  # pairs of columns


def presets_of(page: str) -> dict[str, tuple[str, Preset]]:
    """Return {name in links: (method's title, preset)} of a page, corrected presets first."""
    kinds = [(name, kind) for name, kind in METHODS.items() if kind.page == page]
    found = [(name, offer) for name, kind in kinds for offer in kind.presets]
    labels = {"corrected": "{label}", "published": former_names.PUBLISHED}
    return {
        label.format(label=offer.label): (name, offer)
        for mode, label in labels.items()
        for name, offer in found
        if offer.mode == mode
    }


def choose_method(page: str) -> tuple[str, Preset]:
    """Draw the choice of a method; return the method's title and the chosen preset.

    The first preset is recommended. An old link may name a mode only, which selects the first
    preset of that mode.
    """
    found, key, wishes = presets_of(page), f"{page}.method", links.drawing().wishes
    if (mode := wishes.get(key)) in ("corrected", "published"):
        wishes[key] = next(option for option, (_, preset) in found.items() if preset.mode == mode)
    first = next(iter(found))

    def name_of(option: str) -> str:
        label = say(found[option][1].label)
        head = label.partition(say(": "))[0]
        head = label if len(head) < SHORT else head
        if found[option][1].mode == "published":
            return say("{method} (as published)", method=head)
        return say("{method} (recommended)", method=head) if option == first else head

    return found[lasting(st.selectbox, say("Method"), key, list(found), format_func=name_of)]


def rows_picker(page: str, method: Synthesizer, data: Dataset) -> int | None:
    """Draw the control for the number of synthetic rows; return it, or None if it is empty.

    None means the public number of rows, or the noisy one that the release estimates.

    A method that labels its rows while it learns needs the number before it learns; there, the
    default is 10,000.
    """
    key, counts = f"{page}.rows:{data.token}", data.schema.max_rows or "rows" not in method.implied_parameters(None)
    style: dict[str, Any] = {"usual": None if counts else 10_000, "help": say(ROWS)}
    style["placeholder"] = say("as many as the release estimates")
    found: int | None = lasting(st.number_input, say("Synthetic rows"), key, 1, MOST_ROWS, None, 1_000, **style)
    return found


def relation_words(relation: str, persons: bool = False) -> str:
    """Return a short phrase, to be translated by `say`, for the difference between neighbors.

    `persons` says that runs protect persons, not single rows.
    """
    return Relation(relation).short_for("person" if persons else "row")


def relation_picker(
    page: str, offered: Sequence[str] = tuple(RELATIONS), meant: str = "", persons: bool = False, usual: str = ""
) -> str:
    """Draw the choice of the neighboring relation, and return its name.

    Parameters
    ----------
    page
        Page whose control is drawn.
    offered
        Names of the relations to choose from.
    meant
        Explanation in place of the relations' own.
    persons
        Whether runs protect persons, not single rows.
    usual
        Relation until the user chooses one; the first if empty.
    """
    key = f"{page}.relation" if len(offered) > 1 else f"{page}.relation.{offered[0]}"
    meanings = [meant or Relation(name).sentence_for("person" if persons else "row") for name in offered]
    names = {name: relation_words(name, persons) for name in offered}
    label = say("What is protected: one person") if persons else say("What is protected: one row")
    style: Any = {"usual": usual, "help": "\n\n".join(map(say, dict.fromkeys(meanings)))}
    found: str = choice(st.radio, label, key, names, **style)
    return found


def target_picker(page: str, warning: str, data: Dataset) -> str | None:
    """Draw the choice of the class column, among columns with categories; return it, or None.

    `warning` is shown if the schema has no such column.
    """
    names = [column.name for column in data.schema if not column.numeric]
    if warning and not names:
        st.warning(say(warning))
    key, usual = f"{page}.target:{data.token}", data.schema.target
    style: Any = {"usual": usual if usual in names else "", "format_func": lambda name: name or say("(none)")}
    return lasting(st.selectbox, say("Class column"), key, ["", *names], **style) or None


def draw_control(page: str, method: PrivateEstimator, control: Control, data: Dataset) -> dict[str, Any]:
    """Draw the control of one parameter, if the method wants it, and set the value on `method`.

    Returns the value as {parameter's name: value}, or an empty dict if no control is drawn. A value
    that the parameter does not allow is shown with its remedy below the control.
    """
    if not control.applies_to(method):
        return {}
    name, schema, note = control.name, data.schema, control.note
    parameter, persons, about = method.parameters()[name], schema.persons is not None, "" if callable(note) else note
    value: Any
    match name:
        case "epsilon":
            usual, steps = control.initial or parameter.default, control.steps or EPSILONS
            value = choose_epsilon(page, usual, steps, about, schema.unit)
        case "relation":
            allowed = method.relations_in(method.mode) if control.initial is None else (control.initial,)
            names = [relation for relation in RELATIONS if relation in allowed]
            value = relation_picker(page, names, about, persons, parameter.default)
        case "target":
            value = target_picker(page, about, data)
        case _:
            value = choose_value(page, method, control, schema, data.token)
    setattr(method, name, value)
    try:
        parameter.check(name, value, method, schema)
    except ParameterError as error:
        st.markdown(f":red[:material/error: {escape(retold(error.remedy))}]")
    else:
        if callable(note) and (words := note(method, schema)):
            st.caption(say(words))
    return {name: value}


def choose_value(page: str, method: PrivateEstimator, control: Control, schema: Schema, token: object) -> Any:
    """Draw the widget for a parameter's type, and return the chosen value.

    `token` names the data set in the keys of controls that belong to one data set.
    """
    parameter = method.parameters()[control.name]
    initial = control.initial(method, schema) if callable(control.initial) else control.initial
    usual = initial if parameter.default is None else parameter.default
    names = control.names(method, schema) if callable(control.names) else control.names
    key = f"{page}.{control.key or control.name}"
    field = ParameterField(control, parameter, names, method, schema, key, f":{token}", usual)
    return choose_option(field) if names and not isinstance(parameter, NumberList) else WIDGETS[type(parameter)](field)


class ParameterField(NamedTuple):
    """One parameter's control, with the method and the schema that it depends on.

    `names` maps named options to their texts. `usual` is the value until the user chooses one.
    `key` is the control's key; `token` ends it if the control belongs to one data set.
    """

    control: Control
    parameter: Any
    names: Mapping[Any, str]
    method: PrivateEstimator
    schema: Schema
    key: str
    token: str
    usual: Any

    def draw(self, widget: Callable[..., Any], *bounds: Any, **style: Any) -> Any:
        """Draw a Streamlit widget with the control's label, help and default; return its value."""
        style = {"help": self.control.help and say(self.control.help), "usual": self.usual, **style}
        return lasting(widget, say(self.control.label), self.key, *bounds, **style)


def choose_option(field: ParameterField) -> Any:
    """Draw a select box of the named options; return the chosen one, or None for ""."""
    parameter, names = field.parameter, field.names
    known = ("", *parameter.options) if isinstance(parameter, Choice) else names
    names = {one: names[one] for one in names if one in known and (one != "" or parameter.default is None)}
    return field.draw(st.selectbox, [*names], format_func=lambda one: say(names[one])) or None


def choose_number(field: ParameterField) -> Any:
    """Draw a slider or number input; return its number, or None if it is left empty."""
    if field.control.steps:
        return field.draw(st.select_slider, field.control.steps, format_func="{:g}".format)
    low, high, *steps = field.control.page_range
    step = steps[0] if steps else None
    if isinstance(field.parameter, Number) and field.parameter.maximum <= 1:
        return field.draw(st.slider, low, high, step=step)
    empty = field.parameter.optional and field.parameter.default is None
    return field.draw(st.number_input, low, high, None if empty else "min", step)


def choose_numbers(field: ParameterField) -> Any:
    """Draw the control of a list of numbers; return a named option, one number, or a tuple.

    A tuple has one number for each column, or another part of the schema. Text that is not a list
    of numbers becomes an empty tuple.
    """
    parameter, key, label = field.parameter, field.key, say(field.control.label)
    many = len(parameter.things(field.method, field.schema))
    if parameter.words:
        names = {**field.names, OWN: phrase("My own numbers")}
        if (word := field.draw(st.selectbox, [*names], format_func=lambda one: say(names[one]))) != OWN:
            return word
    elif parameter.one_for_all and not (many > 1 and lasting(st.toggle, say(EACH), f"{key}.{OWN}")):
        return choose_number(field)
    each = field.usual if isinstance(field.usual, tuple) else [1 if parameter.words else field.usual] * many
    style = {"usual": ", ".join(f"{one:g}" for one in each)}
    style["help"] = escape(retold(parameter.remedy(field.method, field.schema)))
    label = say("{label} ({many} numbers, separated by commas)", label=label, many=many)
    text = lasting(st.text_input, label, f"{key}.each.{many}{field.token}", "", **style)
    try:
        return tuple(float(word) for word in text.replace(";", ",").split(",") if word.strip())
    except ValueError:
        return ()


def choose_pairs(field: ParameterField) -> Any:
    """Draw the choice of pairs of columns, and return them; the first 1,000 pairs are offered.

    Other pairs can be typed if there are more.
    """
    offered = {TIMES.join(pair): pair for pair in islice(combinations(field.schema.names, 2), MOST_OFFERED)}
    style: dict[str, Any] = {"usual": [], "accept_new_options": len(offered) == MOST_OFFERED}
    found = field._replace(key=field.key + field.token).draw(st.multiselect, [*offered], **style)
    chosen = (offered.get(words, tuple(words.split(TIMES))) for words in found)
    return tuple(chosen) or field.parameter.default


WIDGETS: dict[type, Callable[[ParameterField], Any]] = {
    Flag: lambda field: field.draw(st.toggle),
    Whole: choose_number,
    Number: choose_number,
    NumberList: choose_numbers,
    WeightList: choose_numbers,
    PairList: choose_pairs,
}


def show_refusal(*checks: Callable[[], object]) -> str:
    """Run checks until one raises; draw that error and return its cause, or return ""."""
    try:
        for check in checks:
            check()
    except DPCoreError as error:
        show_error(error)
        return error.cause
    return ""


def note_missing(page: str, why: str) -> None:
    """Store why the settings cannot be run ("" if they can), and rerun the page if that changed.

    The rerun updates the Run button, which is outside the settings' fragment.
    """
    key = f"{page}.lacks"
    before, st.session_state[key] = st.session_state.get(key), why
    if before not in (None, why):
        st.rerun()


def run_button(key: str, data: Dataset | None = None, container: jobs.Container = None) -> None:
    """Draw the Run button, which requests a release of `data`, or a run on invented data if None.

    `key` is the name of the page. The button is outside the settings' fragment, so that a press
    reruns the whole page. It is disabled while the settings cannot be run.
    """
    style: Any = {"type": "primary", "icon": ":material/play_arrow:", "width": "stretch"}
    if why := st.session_state.get(f"{key}.lacks"):
        style |= {"disabled": True, "help": escape(retold(why))}
    if data is None or why:
        jobs.run_button(say("Run"), key, "run", container, **style)
    else:
        void_guarantee.run_button(say("Run"), key, "run", data, container, **style)
