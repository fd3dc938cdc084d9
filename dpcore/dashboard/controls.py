"""The controls of a method's page: which method, and one for every parameter that it declares to be asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from dpcore.accounting.relation import Relation
from dpcore.dashboard import jobs, links, unproved
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

MOST_ROWS = 1_000_000  # that a page makes, and that a forecast counts with
ROWS = phrase("Empty: the public number of rows, or, where that is private, the noisy one that the release holds.")
SHORT = 8  # letters of a name that says nothing alone
RELATIONS = {str(one): one.short for one in (Relation.ADD_REMOVE, Relation.REPLACE)}
OWN, EACH = "own", phrase("A number of its own for each column")
MOST_OFFERED, TIMES = 1_000, " × "  # pairs of columns


def presets_of(page: str) -> dict[str, tuple[str, Preset]]:
    """All presets of a page and their methods' names, by what links call them: corrected ones come first."""
    kinds = [(name, kind) for name, kind in METHODS.items() if kind.page == page]
    found = [(name, offer) for name, kind in kinds for offer in kind.presets]
    labels = {"corrected": "{label}", "published": former_names.PUBLISHED}
    return {
        label.format(label=offer.label): (name, offer)
        for mode, label in labels.items()
        for name, offer in found
        if offer.mode == mode
    }


def method_select(page: str) -> tuple[str, Preset]:
    """The method's name and the preset that is chosen of it; the first one is recommended.

    A link of before may say a mode alone, for the first of it.
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
    """How many synthetic rows; None, if nobody says, for as many as the release itself does.

    Methods that label rows one by one release no count: they label a round number until then.
    """
    key, counts = f"{page}.rows:{data.token}", data.schema.max_rows or "rows" not in method.implied_parameters(None)
    look: dict[str, Any] = {"usual": None if counts else 10_000, "help": say(ROWS)}
    look["placeholder"] = say("as many as the release says")
    found: int | None = lasting(st.number_input, say("Synthetic rows"), key, 1, MOST_ROWS, None, 1_000, **look)
    return found


def relation_words(relation: str, persons: bool = False) -> str:
    """What differs between neighbors, in a few words to `say`; where runs protect `persons`, or else rows."""
    return Relation(relation).short_for("person" if persons else "row")


def relation_picker(
    page: str, offered: Sequence[str] = tuple(RELATIONS), meant: str = "", persons: bool = False, usual: str = ""
) -> str:
    """Which tables count as neighbors, and what that means; the `usual` ones, or the first, until somebody chooses."""
    key = f"{page}.relation" if len(offered) > 1 else f"{page}.relation.{offered[0]}"
    meanings = [meant or Relation(name).sentence_for("person" if persons else "row") for name in offered]
    names = {name: relation_words(name, persons) for name in offered}
    label = say("What is protected: one person") if persons else say("What is protected: one row")
    look: Any = {"usual": usual, "help": "\n\n".join(map(say, dict.fromkeys(meanings)))}
    found: str = choice(st.radio, label, key, names, **look)
    return found


def target_picker(page: str, told: str, data: Dataset) -> str | None:
    """The class column: one with categories, and none unless it is chosen. If there is none, what is `told` then."""
    names = [column.name for column in data.schema if not column.numeric]
    if told and not names:
        st.warning(say(told))
    key, usual = f"{page}.target:{data.token}", data.schema.target
    look: Any = {"usual": usual if usual in names else "", "format_func": lambda name: name or say("(none)")}
    return lasting(st.selectbox, say("Class column"), key, ["", *names], **look) or None


def ask(page: str, method: PrivateEstimator, control: Control, data: Dataset) -> dict[str, Any]:
    """Draw the control of a parameter, if it is asked for; the method, as it is chosen so far, gets its value."""
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
            value = value_of(page, method, control, schema, data.token)
    setattr(method, name, value)
    try:
        parameter.check(name, value, method, schema)
    except ParameterError as error:
        st.markdown(f":red[:material/error: {escape(retold(error.remedy))}]")
    else:
        if callable(note) and (words := note(method, schema)):
            st.caption(say(words))
    return {name: value}


def value_of(page: str, method: PrivateEstimator, control: Control, schema: Schema, token: object) -> Any:
    """What is chosen for a parameter, by the widget of its kind. The token is of the data."""
    parameter = method.parameters()[control.name]
    initial = control.initial(method, schema) if callable(control.initial) else control.initial
    usual = initial if parameter.default is None else parameter.default
    names = control.names(method, schema) if callable(control.names) else control.names
    key = f"{page}.{control.key or control.name}"
    field = Field(control, parameter, names, method, schema, key, f":{token}", usual)
    return option(field) if names and not isinstance(parameter, NumberList) else WIDGETS[type(parameter)](field)


class Field(NamedTuple):
    """A parameter that is asked for, of a method as it is chosen so far."""

    control: Control
    parameter: Any
    names: Mapping[Any, str]
    method: PrivateEstimator
    schema: Schema
    key: str
    token: str
    usual: Any

    def draw(self, widget: Callable[..., Any], *bounds: Any, **look: Any) -> Any:
        """A widget with the control's words that says what is usual until someone chooses."""
        look = {"help": self.control.help and say(self.control.help), "usual": self.usual, **look}
        return lasting(widget, say(self.control.label), self.key, *bounds, **look)


def option(field: Field) -> Any:
    """One of the named options; "" is None."""
    parameter, names = field.parameter, field.names
    known = ("", *parameter.options) if isinstance(parameter, Choice) else names
    names = {one: names[one] for one in names if one in known and (one != "" or parameter.default is None)}
    return field.draw(st.selectbox, [*names], format_func=lambda one: say(names[one])) or None


def number(field: Field) -> Any:
    """A number: one of some steps, a share, or any in the range; empty where that is None."""
    if field.control.steps:
        return field.draw(st.select_slider, field.control.steps, format_func="{:g}".format)
    low, high, *steps = field.control.within
    step = steps[0] if steps else None
    if isinstance(field.parameter, Number) and field.parameter.most <= 1:
        return field.draw(st.slider, low, high, step=step)
    empty = field.parameter.optional and field.parameter.default is None
    return field.draw(st.number_input, low, high, None if empty else "min", step)


def numbers(field: Field) -> Any:
    """A word, or one number for all, or as many numbers as there are things, typed."""
    parameter, key, label = field.parameter, field.key, say(field.control.label)
    many = len(parameter.things(field.method, field.schema))
    if parameter.words:
        names = {**field.names, OWN: phrase("My own")}
        if (word := field.draw(st.selectbox, [*names], format_func=lambda one: say(names[one]))) != OWN:
            return word
    elif parameter.one_for_all and not (many > 1 and lasting(st.toggle, say(EACH), f"{key}.{OWN}")):
        return number(field)
    each = field.usual if isinstance(field.usual, tuple) else [1 if parameter.words else field.usual] * many
    look = {"usual": ", ".join(f"{one:g}" for one in each)}
    look["help"] = escape(retold(parameter.remedy(field.method, field.schema)))
    label = say("{label} ({many} numbers, separated by commas)", label=label, many=many)
    text = lasting(st.text_input, label, f"{key}.each.{many}{field.token}", "", **look)
    try:
        return tuple(float(word) for word in text.replace(";", ",").split(",") if word.strip())
    except ValueError:
        return ()


def pairs(field: Field) -> Any:
    """Some pairs of columns; of very many the first are offered, and others can be typed."""
    offered = {TIMES.join(pair): pair for pair in islice(combinations(field.schema.names, 2), MOST_OFFERED)}
    look: dict[str, Any] = {"usual": [], "accept_new_options": len(offered) == MOST_OFFERED}
    found = field._replace(key=field.key + field.token).draw(st.multiselect, [*offered], **look)
    chosen = (offered.get(words, tuple(words.split(TIMES))) for words in found)
    return tuple(chosen) or field.parameter.default


WIDGETS: dict[type, Callable[[Field], Any]] = {
    Flag: lambda field: field.draw(st.toggle),
    Whole: number,
    Number: number,
    NumberList: numbers,
    WeightList: numbers,
    PairList: pairs,
}


def refusal(*checks: Callable[[], object]) -> str:
    """Why a run would be refused by one of some checks, which is shown with what to do; empty if it would not."""
    try:
        for check in checks:
            check()
    except DPCoreError as error:
        show_error(error)
        return error.cause
    return ""


def note_missing(page: str, why: str) -> None:
    """Note what settings lack to be run, if anything; the button outside them is drawn anew if that changed."""
    key = f"{page}.lacks"
    before, st.session_state[key] = st.session_state.get(key), why
    if before not in (None, why):
        st.rerun()


def run_button(key: str, data: Dataset | None = None, container: jobs.Container = None) -> None:
    """The button that makes a release of data, or runs on invented ones; it stands in its place.

    It is outside the settings' fragment, so that a press reruns the whole page; it rests while
    these lack something.
    """
    look: Any = {"type": "primary", "icon": ":material/play_arrow:", "width": "stretch"}
    if why := st.session_state.get(f"{key}.lacks"):
        look |= {"disabled": True, "help": escape(retold(why))}
    if data is None or why:
        jobs.button(say("Run"), key, "run", container, **look)
    else:
        unproved.button(say("Run"), key, "run", data, container, **look)
