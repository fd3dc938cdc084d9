"""The controls of a method's page: which method, and one for every parameter that it declares to be asked for."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from dpcore.dashboard import jobs, links, unproved
from dpcore.dashboard.epsilon import EPSILONS, RELEASE, epsilon_picker
from dpcore.dashboard.shell import escaped, refused
from dpcore.dashboard.widgets import following, lasting, markdown
from dpcore.datasets import Dataset
from dpcore.domain import former_names
from dpcore.domain.schema import Schema
from dpcore.errors import DPCoreError
from dpcore.language import phrase, retold, say
from dpcore.methods import METHODS
from dpcore.methods.parameters import Choice, Control, Flag
from dpcore.methods.presets import Preset

if TYPE_CHECKING:
    from dpcore.methods.base import PrivateEstimator  # with scikit-learn, which Home does without

SHORT = 8  # letters of a name that says nothing alone
RELATIONS = {"add_remove": phrase("Add or remove one row"), "replace": phrase("Change one row's values")}
MEANT = {
    "add_remove": phrase("The number of rows stays private."),
    "replace": phrase("The number of rows is public; counts need twice the noise."),
}
OF_PERSONS = {"add_remove": phrase("Add or remove one person"), "replace": phrase("Change one person's rows")}
MEANT_FOR_PERSONS = {
    "add_remove": phrase("How many persons there are stays private."),
    "replace": phrase("The number of persons is public; everybody counts the same; counts need twice the noise."),
}


def offered(page: str, mode: str) -> dict[str, tuple[str, Preset]]:
    """What a page offers in a mode: the method and the offer, by its label."""
    kinds = {name: kind for name, kind in METHODS.items() if kind.page == page}
    return {offer.label: (name, offer) for name, kind in kinds.items() for offer in kind.presets if offer.mode == mode}


def presets_of(page: str) -> dict[str, tuple[str, Preset]]:
    """All presets of a page, by what links call them: corrected ones come first."""
    found = offered(page, "corrected")
    published = offered(page, "published").items()
    return found | {former_names.PUBLISHED.format(label=label): preset for label, preset in published}


def method_select(page: str) -> tuple[str, Preset]:
    """The method's name and the preset that is chosen of it; the first one is recommended.

    A link of before may say a mode alone, for the first of it.
    """
    found, key, asked = presets_of(page), f"{page}.method", links.pending()
    if (mode := asked.get(key)) in ("corrected", "published"):
        asked[key] = next(option for option, (_, preset) in found.items() if preset.mode == mode)
    first = next(iter(found))

    def name_of(option: str) -> str:
        label = say(found[option][1].label)
        head = label.partition(say(": "))[0]
        head = label if len(head) < SHORT else head
        if found[option][1].mode == "published":
            return say("{method} (as published)", method=head)
        return say("{method} (recommended)", method=head) if option == first else head

    return found[lasting(st.selectbox, say("Method"), key, list(found), format_func=name_of)]


def rows_picker(page: str, data: Dataset) -> int:
    """How many synthetic rows. The suggestion is public: the schema's bound, or a round number."""
    usual, key = min(data.schema.max_rows or 10_000, 100_000), f"{page}.rows:{data.token}"
    return int(lasting(st.number_input, say("Synthetic rows"), key, 1, 1_000_000, usual, 1_000))


def relation_words(relation: str, persons: bool = False) -> str:
    """What differs between neighbors, in a few words to `say`; where runs protect `persons`, or else rows."""
    return (OF_PERSONS if persons else RELATIONS)[relation]


def relation_picker(
    page: str, offered: Sequence[str] = tuple(RELATIONS), meant: str = "", persons: bool = False, usual: str = ""
) -> str:
    """Which tables count as neighbors, and what that means; the `usual` ones, or the first, until somebody chooses."""
    key = f"{page}.relation" if len(offered) > 1 else f"{page}.relation.{offered[0]}"
    told = [say(meant or (MEANT_FOR_PERSONS if persons else MEANT)[name]) for name in offered]
    names = {name: relation_words(name, persons) for name in offered}
    label = say("What is protected: one person") if persons else say("What is protected: one row")
    found: str = following(st.radio, label, key, names, usual, captions=told)
    return found


def target_picker(page: str, told: str, data: Dataset) -> str | None:
    """The class column: one with categories. If there is none, what is `told` then."""
    names = [column.name for column in data.schema if not column.numeric]
    if not names:
        if told:
            st.warning(say(told))
        return None
    index = names.index(data.schema.target) if data.schema.target in names else len(names) - 1
    found: str = lasting(st.selectbox, say("Class column"), f"{page}.target:{data.token}", names, index)
    return found


def ask(
    page: str, method: PrivateEstimator, control: Control, data: Dataset, places: Sequence[Any] = ()
) -> dict[str, Any]:
    """Draw the control of a parameter, if it is asked for; the method, as it is chosen so far, gets what it gives.

    An epsilon is drawn in two `places`.
    """
    told = control.told(method, data.schema) if callable(control.told) else control.told
    if not control.wanted(method):
        if control.otherwise:
            key, text = control.otherwise
            lasting(st.selectbox, say(control.label), f"{page}.{key}", [text], format_func=say, disabled=True)
        return {}
    given: dict[str, Any]
    match control.name:
        case "epsilon":
            usual = control.shown or method.parameters()["epsilon"].default
            unit = data.schema.unit
            rows = 1 if unit is None or unit.id_column is not None else unit.max_contributions
            about = told or RELEASE
            persons = data.schema.persons is not None
            steps = control.steps or EPSILONS
            given = {
                "epsilon": epsilon_picker(
                    page,
                    usual,
                    steps,
                    about,
                    method.seen,
                    rows,
                    places,
                    persons=persons,
                    claimed=method.mode == "published",
                )
            }
        case "relation":
            allowed = method.relations_in(method.mode) if control.shown is None else (control.shown,)
            names = [name for name in RELATIONS if name in allowed]
            usual = method.parameters()["relation"].default
            given = {"relation": relation_picker(page, names, told, data.schema.persons is not None, usual)}
        case "target":
            given = {"target": target_picker(page, told, data)}
        case _:
            given = value_of(page, method, control, data.schema, data.token)
    for name, value in given.items():
        setattr(method, name, value)
    if given and callable(control.told) and (told := control.told(method, data.schema)):
        (st.markdown if told.startswith(":red[") else st.caption)(say(told))
    return given


def value_of(page: str, method: PrivateEstimator, control: Control, schema: Schema, token: object) -> dict[str, Any]:
    """What somebody chooses for a parameter: its kind says by which widget. The token is of the data."""
    name, parameter = control.name, method.parameters()[control.name]
    usual = parameter.default
    if usual is None:
        if control.rule and method.mode == "corrected":
            ruled = f"{page}.{name}_ruled"
            by_rule = say("{label}: by rule", label=say(control.label))
            if lasting(st.toggle, by_rule, ruled, True, help=say(control.rule)):
                return {name: None}
        usual = control.shown(method, schema) if callable(control.shown) else control.shown
    if control.fold:
        fold = f"{page}.{control.fold[0]}"
        if not (
            st.session_state[fold] if fold in links.drawn() else lasting(st.toggle, say(control.fold[1]), fold, False)
        ):
            return {}
    place = f"{name}{control.key}" if control.key.startswith(".") else control.key or name
    columns = len(schema) - ((getattr(method, "target", None) or schema.target) is not None)
    values = defaultdict(lambda: None, vars(method), title=method.title, usual=usual, columns=columns)
    label, key = say(control.label), f"{page}.{place.format_map(values)}"
    about = control.help and say(control.help)
    if control.names:
        names = control.names(method, schema) if callable(control.names) else control.names
        allowed = ("", *parameter.options) if isinstance(parameter, Choice) else names
        names = {option: names[option] for option in names if option in allowed}
        if parameter.default is not None:
            names.pop("", None)
        found: Any = following(st.selectbox, label, key, names, usual, help=about) or None
        return {**control.gives[found]} if control.gives else {name: found if found != "own" else weights(page, method)}
    if (
        control.own
        and (asked := several(control, method, schema))
        and lasting(st.toggle, say(control.own[0]), f"{key}.own")
    ):
        usual_ones, many = [usual] * len(asked), say("{n} numbers above 0, up to 1", n=len(asked))
        about = say("In this order: {columns}.", columns=", ".join(asked))
        each = f"{key}.each.{len(asked)}:{token}"
        found = typed(
            say("{many}, separated by commas", many=many), each, usual_ones, lambda p: 0 < p <= 1, many, about
        )
        return {name: found}
    if control.steps:
        return {name: lasting(st.select_slider, label, key, control.steps, usual, control.form.format, help=about)}
    if isinstance(parameter, Flag):
        lacks = control.needs != "" and getattr(method, control.needs) is None
        return {name: lasting(st.toggle, label, key, usual, disabled=lacks, help=about) and not lacks}
    low, high, *step = control.slider or control.within
    draw = st.slider if control.slider else st.number_input
    return {name: lasting(draw, label, key, low, high, usual, *step, help=about)}


def refusal(method: PrivateEstimator, schema: Schema) -> str:
    """Why a method would refuse to run on a schema, which is shown with what to do; empty if it would not."""
    try:
        method.check(schema)
    except DPCoreError as error:
        refused(error)
        return error.cause
    return ""


def lacking(page: str, why: str) -> None:
    """Note what settings lack to be run, if anything; the button outside them is drawn anew if that changed."""
    key = f"{page}.lacks"
    before, st.session_state[key] = st.session_state.get(key), why
    if before not in (None, why):
        st.rerun()


def several(control: Control, method: Any, schema: Schema) -> list[str]:
    """The columns that may have a number each, if there are several."""
    names = control.own[1](method, schema) if control.own else []
    return names if len(names) > 1 else []


def weights(page: str, method: Any) -> tuple[float, ...]:
    """Weights that somebody typed. What is wrong with them is said at once; there are none then, and no run."""
    levels = 1 + method.iterations + method.with_class
    label = say("{n} weights, from the root to the leaves", n=levels)
    note = say("0: not measured. Coarse divisions come first, the class among them; a public root needs no share.")
    key = f"{page}.own_shares.{levels}"
    wanted = say("{n} numbers of 0 or more, the last one positive", n=levels)
    return typed(label, key, [1] * levels, lambda weight: weight >= 0, wanted, note, lambda found: found[-1] > 0)


def typed(
    label: str,
    key: str,
    usual: Sequence[float],
    fits: Callable[[float], bool],
    wanted: str,
    note: str,
    together: Callable[[Sequence[float]], bool] = lambda _: True,
) -> tuple[float, ...]:
    """As many numbers as are usual, typed. What is wrong with them is said at once; there are none then."""
    text = lasting(st.text_input, label, key, ", ".join(f"{one:g}" for one in usual), help=escaped(note))
    try:
        found = tuple(float(word) for word in str(text).replace(";", ",").split(",") if word.strip())
    except ValueError:
        found = ()
    if len(found) == len(usual) and all(map(fits, found)) and sum(found) < math.inf and together(found):
        return found
    markdown(":red[:material/error: These do not fit. Write {wanted}, separated by commas.]", wanted=wanted)
    return ()


def run_button(key: str, data: Dataset | None = None, place: jobs.Place = None) -> None:
    """The button that makes a release of data, or runs on invented ones; it stands in its place.

    It is outside the settings' fragment, so that a press reruns the whole page; it rests while these lack something.
    """
    look: Any = {"type": "primary", "icon": ":material/play_arrow:", "width": "stretch"}
    if why := st.session_state.get(f"{key}.lacks"):
        look |= {"disabled": True, "help": escaped(retold(why))}
    if data is None or why:
        jobs.button(say("Run"), key, "run", place, **look)
    else:
        unproved.button(say("Run"), key, "run", data, place, **look)
