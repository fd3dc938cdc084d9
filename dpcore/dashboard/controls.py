"""The controls of a method's page: which method, and one for every parameter that it declares to be asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from dpcore import charts
from dpcore.dashboard import jobs, links, unproved
from dpcore.dashboard.shell import escaped, refused
from dpcore.dashboard.widgets import caption, choice, lasting, number_choice
from dpcore.datasets import Dataset
from dpcore.domain.schema import Schema
from dpcore.errors import DPCoreError, ParameterError
from dpcore.language import phrase, retold, say, spoken
from dpcore.methods import METHODS
from dpcore.methods.parameters import Choice, ColumnList, Control, Flag, Number, NumberList, PairList, WeightList, Whole
from dpcore.methods.presets import Preset

if TYPE_CHECKING:
    from dpcore.methods.base import PrivateEstimator  # with scikit-learn, which Home does without

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
RELEASE = phrase(
    "About you: whether you are in the data, or what they say of you. Worst case over all observers and all "
    "people; for one release, without delta. Holds with a declared schema and without a seed; as printed, only where "
    "its proof holds."
)
# Up to an epsilon, what it is called. Ponomareva and others (2023) call up to 1 strong and up to 10 reasonable; here
# the worst case speaks, in which 3 makes somebody who was 50:50 unsure 95% sure.
USUAL = {0.1: phrase("◀ strict"), 1.0: phrase("usual"), 3.0: phrase("generous"), math.inf: phrase("weak ▶")}
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
SEEN = phrase("the release")
OWN, EACH = "own", phrase("A number of its own for each column")
MOST_OFFERED, TIMES = 1_000, " × "  # sets of columns


def odds_sentence(epsilon: float, seen: str = SEEN, delta: float = 0.0) -> str:
    """What log-odds of epsilon mean for one person, in the worst case, for somebody who has seen something.

    With a delta, for all but a chance of that (`Currency.gained`).
    """
    sure = charts.odds(epsilon)
    if sure >= 0.99995:
        told = phrase(
            "Somebody who is 50:50 unsure about you could become **practically certain** from seeing {seen}. This is "
            "no protection that one could put a number on."
        )
    elif delta:
        told = phrase(
            "Somebody who is 50:50 unsure about you could become at most **{sure}% sure** from seeing {seen}, but for "
            "a chance of {delta}."
        )
    else:
        told = phrase(
            "Somebody who is 50:50 unsure about you could become at most **{sure}% sure** from seeing {seen}."
        )
    return say(told, sure=f"{100 * sure:.{1 if sure < 0.999 else 3}f}", seen=say(seen), delta=f"{delta:g}")


@lru_cache(maxsize=64)
def icons(epsilon: float, _language: str) -> dict[str, Any]:
    """The odds of an epsilon as icons, drawn once in the language that is spoken."""
    return charts.specification(charts.odds_icons(charts.odds(epsilon)))


def epsilon_picker(
    key: str,
    default: float = 1.0,
    options: Sequence[float] = EPSILONS,
    about: str = RELEASE,
    seen: str = SEEN,
    rows: int = 1,
    persons: bool = False,
) -> float:
    """Epsilon on a logarithmic scale, with what it means for a person of so many rows. Touches no data.

    `persons`: runs protect persons with all rows, and not single rows.
    """
    left, right = st.columns([5, 2], gap="large", vertical_alignment="center")
    if persons:
        note = say(
            "How much one person, with all rows, can change the probability of any outcome: at most by the factor e to "
            "the epsilon. Below: up to 0.1 for a person, up to 1, up to 3, and more."
        )
    else:
        note = say(
            "How much one row can change the probability of any outcome: at most by the factor e to the epsilon. "
            "Several rows of one person can change it more. Below: up to 0.1 for a person, up to 1, up to 3, and more."
        )
    look = {"value": default, "help": note}
    label = say("Privacy budget epsilon")
    epsilon: float = number_choice(left.select_slider, label, f"{key}.epsilon", options, **look)
    with left:
        if seen == SEEN:  # people who randomize their own answers spend more
            ranges(options, rows)
        st.markdown(odds_sentence(rows * epsilon, seen))
        caption(about)
    right.vega_lite_chart(icons(rows * epsilon, spoken()), width="content", key=f"{key}.icons")
    return epsilon


def ranges(options: Sequence[float], rows: int) -> None:
    """What usual ranges of epsilon are called, below the slider; they are meant for a person, who has so many rows."""
    ends = [0.0, *(end / rows for end in USUAL)]
    parts = [sum(low < step <= high for step in options) for low, high in pairwise(ends)]
    seen = [(words, steps) for words, steps in zip(USUAL.values(), parts, strict=True) if steps]
    for place, (words, _) in zip(st.columns([steps for _, steps in seen], gap="xsmall"), seen, strict=True):
        place.caption(say(words))


def offered(page: str, mode: str) -> dict[str, tuple[str, Preset]]:
    """What a page offers in a mode: the method and the offer, by its label."""
    kinds = {name: kind for name, kind in METHODS.items() if kind.page == page}
    return {offer.label: (name, offer) for name, kind in kinds.items() for offer in kind.presets if offer.mode == mode}


def method_picker(page: str, printed: str, schema: Schema) -> tuple[str, dict[str, Any]]:
    """The method's name, and what its mode and variant give it."""
    declared = schema.source == "declared"
    proved = phrase("Corrected: guarantee proved") if declared else phrase("Corrected: the method is proved")
    modes = {"corrected": proved, "published": printed}
    mode = choice(st.radio, say("Method"), f"{page}.mode", modes)
    variants = offered(page, mode)
    key = f"{page}.variant.{mode}"
    usual, several = next(iter(variants)), mode == "corrected" and len(variants) > 1
    chosen, other = st.container(), links.current(key) in [*variants][1:]
    with st.expander(say("Others, for comparison"), expanded=other, key=f"fold.{key}") if several else chosen:
        label = lasting(st.radio, say("Variant"), key, list(variants), format_func=say)
    name, offer = variants[label]
    if several:
        told = phrase("**{variant}** (recommended)") if label == usual else phrase("**{variant}** (for comparison)")
        chosen.markdown(say(told, variant=say(label)))
    if mode == "published":
        good, bad = ":material/verified: {}", ":red[:material/warning: {}]"
        st.markdown((good if offer.holds else bad).format(say(offer.remark)))
    if not METHODS[name].paper:
        caption("This project's own method; no paper printed it.")
    return name, {"mode": mode, **offer.parameters}


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
    found: str = choice(st.radio, label, key, names, usual=usual, captions=told)
    return found


def target_picker(page: str, told: str, data: Dataset) -> str | None:
    """The class column: one with categories. If there is none, what is `told` then."""
    names = [column.name for column in data.schema if not column.numeric]
    if told and not names:
        st.warning(say(told))
    key, usual = f"{page}.target:{data.token}", data.schema.target
    usual = usual if usual in names else next(reversed(names), None)
    return lasting(st.selectbox, say("Class column"), key, names, usual=usual) if names else None


def ask(page: str, method: PrivateEstimator, control: Control, data: Dataset) -> dict[str, Any]:
    """Draw the control of a parameter, if it is asked for; the method, as it is chosen so far, gets its value."""
    if not control.wanted(method):
        return {}
    name, schema, note = control.name, data.schema, control.note
    parameter, persons, about = method.parameters()[name], schema.persons is not None, "" if callable(note) else note
    value: Any
    match name:
        case "epsilon":
            unit, usual = schema.unit, control.initial or parameter.default
            rows = 1 if unit is None or unit.id_column is not None else unit.max_contributions
            steps = control.steps or EPSILONS
            value = epsilon_picker(page, usual, steps, about or RELEASE, method.seen, rows, persons)
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
        st.markdown(f":red[:material/error: {escaped(retold(error.remedy))}]")
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
    """A number: one of some steps, a share, or any in the page's range; empty where that is None."""
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
    look["help"] = escaped(retold(parameter.remedy(field.method, field.schema)))
    label = say("{label} ({many} numbers, separated by commas)", label=label, many=many)
    text = lasting(st.text_input, label, f"{key}.each.{many}{field.token}", "", **look)
    try:
        return tuple(float(word) for word in text.replace(";", ",").split(",") if word.strip())
    except ValueError:
        return ()


def columns(field: Field) -> Any:
    """Some columns, or sets of them; of very many sets the first are offered, and others can be typed."""
    size, names = field.parameter.size, field.schema.names
    sets = {TIMES.join(one): one for one in islice(combinations(names, size), MOST_OFFERED)}
    look: dict[str, Any] = {"usual": [], "accept_new_options": len(sets) == MOST_OFFERED}
    found = field._replace(key=field.key + field.token).draw(st.multiselect, [*sets], **look)
    chosen = (sets.get(words, tuple(words.split(TIMES))) if size > 1 else words for words in found)
    return tuple(chosen) or field.parameter.default


WIDGETS: dict[type, Callable[[Field], Any]] = {
    Flag: lambda field: field.draw(st.toggle),
    Whole: number,
    Number: number,
    NumberList: numbers,
    WeightList: numbers,
    ColumnList: columns,
    PairList: columns,
}


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
