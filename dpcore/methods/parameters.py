"""Parameters, declared once as fields of a method: its constructor, checks and docstring follow.

    class DiffPRF(ForestClassifier):
        n_trees: int = whole(default=25, maximum=1_000)

`ParameterClass` makes a keyword-only constructor of all fields of a class and its base classes, as
scikit-learn requires. A field that a subclass declares again has the new default and range there.
Each kind of parameter (`Parameter`) checks its values, also against the columns of a schema. Rules
on several parameters are checked by the method. Attributes that `fit` sets are declared beside the
parameters (`fitted_field`).

The docstring of a class describes its own parameters and attributes, in the sections that
scikit-learn's classes have. `ParameterClass` adds those of the base classes, and each parameter's
kind and default.

A page of the dashboard shows controls for parameters. Labels and ranges of the controls stand in
`pages.toml` of the method's folder, by parameter name; the dashboard chooses the widget by the kind
of the parameter:

        controls = controls_of(PAGES["DTPD"])

A `Preset`, in the same file, is a variant of a method that the dashboard offers under one label,
with values for some parameters. The last functions describe in a sentence what a run of a method
would not guarantee.
"""

import re
import textwrap
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import wraps
from inspect import cleandoc
from math import inf, isfinite
from typing import Any, ClassVar, Literal, dataclass_transform

from dpcore.arguments import is_number, is_plain, is_whole
from dpcore.domain.former_names import renamed_parameters
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.noise import TEACHING, exactly_sampled
from dpcore.methods.registry import advise

WIDTH = 110
# the start of a section of a docstring; a name in it, with its kind and description
SECTION = re.compile(r"\n\n(?:Parameters|Attributes)\n-+\n")
ITEMS = re.compile(r"^(\w+)(?: : (.*))?((?:\n .*)+)", re.MULTILINE)
LOST = phrase("There is no column {column}. Choose among the columns of the schema.")


@dataclass(frozen=True)
class Control:
    """How a page asks for one parameter, where its kind, range and default do not decide that.

    Functions in the fields receive the method with the values chosen so far, and the schema.
    """

    name: str
    label: str
    # the text of each value; "" stands for None
    names: Mapping[Any, str] | Callable[[Any, Any], Mapping[Any, str]] = field(default_factory=dict)
    _: KW_ONLY
    help: str | None = None
    note: str | Callable[[Any, Any], str] = ""  # text below the control
    steps: Sequence[float] = ()  # values of a slider, in place of a range
    # the lowest and the highest number that the page offers, and optionally a step
    page_range: Sequence[float] = ()
    initial: Any = None  # first value in place of None: a value or a function
    # conditions on other parameters: a value, a list of values or a test; "" stands for None
    when: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""  # name in links and files, if not `name`

    def applies_to(self, method: object) -> bool:
        """Return whether the page shows this control for a method with the values chosen so far."""
        for name, wish in self.when.items():
            value = getattr(method, name)
            wishes = wish if isinstance(wish, list | tuple) else [wish]
            if not (wish(value) if callable(wish) else ("" if value is None else value) in wishes):
                return False
        return True


def controls_of(table: Mapping[str, Any], **more: Mapping[str, Any]) -> tuple[Control, ...]:
    """Return the controls that a table of `pages.toml` describes, one per parameter.

    `more` adds fields that are functions, by parameter name. If a field of the table is a table
    with keys "corrected" and "published", the control uses the value of the method's mode.
    """

    def by_mode(value: Any) -> Any:
        """Return a function that picks the value of the method's mode; without modes, `value`."""
        modes = isinstance(value, dict) and {*value} <= {"corrected", "published"}
        return (lambda method, _: value.get(method.mode)) if modes else value

    rows = {name: {key: by_mode(value) for key, value in row.items()} for name, row in table.items()}
    return tuple(Control(name, **{**row, **more.get(name, {})}) for name, row in rows.items())


@dataclass(frozen=True, kw_only=True)
class Parameter(ABC):
    """Kind of a parameter, with its default. None is allowed only if it is `optional`."""

    default: Any
    optional: bool = False
    words: Collection[str] = ()  # texts that are allowed besides

    @abstractmethod
    def refusal(self, name: str, value: Any, method: Any, schema: Any) -> tuple[str, str] | None:
        """Return what is wrong with a value, and a remedy; None if the value is allowed.

        The value is a plain Python value, not None. With `schema=None`, rules that depend on the
        method and its columns are not checked.
        """

    @property
    @abstractmethod
    def kind(self) -> str:
        """Type of the values, as a docstring states it."""

    def check(self, name: str, value: Any, method: Any = None, schema: Any = None) -> None:
        """Raise ParameterError unless the value is allowed, for a method and a schema if given."""
        if value is None:
            found = None if self.optional else ("must not be None", f"Use the default, {self.default!r}.")
        elif isinstance(value, str) and self.words:
            remedy = f"Use {' or '.join(self.words)}, or a number."
            found = None if value in self.words else (f"cannot be {value!r}", remedy)
        elif not is_plain(value):
            remedy = "Convert the value, for instance by float(…)."
            found = "must be a text, a truth value or a number (whole: of 18 digits at most)", remedy
        else:
            found = self.refusal(name, value, method, schema)
        if found is not None:
            raise ParameterError(f"The {name!r} parameter {found[0]}.", found[1])


@dataclass(frozen=True, kw_only=True)
class Whole(Parameter):
    """A whole number from `minimum` to `maximum`, or one of some words."""

    minimum: int = 1
    maximum: float = inf

    def refusal(self, name: str, value: Any, *_: Any) -> tuple[str, str] | None:
        """Return why a value is no allowed whole number, and a remedy; None if it is one."""
        if not is_whole(value, self.minimum):
            return f"must be a whole number of {self.minimum} or more; got {value!r}", f"Try {max(self.minimum, 3)}."
        too_large = f"must be at most {self.maximum:,}; got {value!r}", "Use a smaller number."
        return too_large if value > self.maximum else None

    @property
    def kind(self) -> str:
        """Type of the values, as a docstring states it."""
        return f"int or {in_braces(self.words)}" if self.words else "int"


@dataclass(frozen=True, kw_only=True)
class Number(Parameter):
    """A number from `minimum` to `maximum`; `open` has "(" or ")" if that bound is excluded."""

    minimum: float = 0.0
    maximum: float = inf
    open: str = ""

    def holds(self, value: Any) -> bool:
        """Return whether `value` is a finite number in the range."""
        if not (is_number(value) and self.minimum <= value <= self.maximum and isfinite(value)):
            return False
        return not ("(" in self.open and value == self.minimum) and not (")" in self.open and value == self.maximum)

    def refusal(self, name: str, value: Any, *_: Any) -> tuple[str, str] | None:
        """Return why a value is no number in the range, and a remedy; None if it is one."""
        hint = 0.5 if self.default is None else self.default
        return None if self.holds(value) else (f"must be in {self.range}; got {value!r}", f"Try {name}={hint}.")

    @property
    def range(self) -> str:
        """The allowed range as an interval, such as "(0, 1]"."""
        low, high = "(" if "(" in self.open else "[", ")" if ")" in self.open or self.maximum == inf else "]"
        return f"{low}{self.minimum:g}, {self.maximum:g}{high}"

    @property
    def kind(self) -> str:
        """Type of the values, as a docstring states it."""
        return "float"


@dataclass(frozen=True, kw_only=True)
class NumberList(Number):
    """A list of numbers in a range, one for each of `things`, such as columns.

    If `one_for_all` is set, a single number may stand for all. One of `words` may replace the list.
    """

    things: Callable[[Any, Any], Sequence[object]]  # names, by the method and the schema
    request: str  # sentence that asks for {n} numbers, for {things}
    one_for_all: bool = False
    # whether the numbers fit each other
    fit: Callable[[Sequence[float]], bool] = lambda _: True

    def refusal(self, name: str, value: Any, method: Any, schema: Any) -> tuple[str, str] | None:
        """Return why a value is no fitting list of numbers, and a remedy; None if it is one."""
        found = [value] if self.one_for_all and is_number(value) else value
        right = isinstance(found, list | tuple) and all(map(self.holds, found))
        remedy = f"Use the default, {self.default!r}."
        if schema is not None:
            lengths = (len(self.things(method, schema)), 1 if self.one_for_all else -1)
            right = right and len(found) in lengths and self.fit(found)
            remedy = self.remedy(method, schema)
        return None if right else ("is not a valid list of numbers", remedy)

    def remedy(self, method: Any, schema: Any) -> str:
        """Return a sentence on which numbers to pass, for a method and a schema."""
        things = [*map(str, self.things(method, schema))]
        return self.request.format(n=len(things), things=", ".join(things))

    @property
    def kind(self) -> str:
        """Type of the values, as a docstring states it."""
        single = [in_braces(self.words)] if self.words else ["float"] if self.one_for_all else []
        return " or ".join([*single, "sequence of float"])


@dataclass(frozen=True, kw_only=True)
class WeightList(NumberList):
    """Weights that divide a budget: numbers of 0 or more, the last one positive."""

    fit: Callable[[Sequence[float]], bool] = lambda weights: weights[-1] > 0 and sum(weights) < inf


@dataclass(frozen=True, kw_only=True)
class PairList(Parameter):
    """A list of pairs of the schema's columns, by name."""

    kind = "sequence of pairs of str"

    def refusal(self, name: str, value: Any, method: Any, schema: Any) -> tuple[str, str] | None:
        """Return why a value is no list of pairs of columns, and a remedy; None if it is one."""
        if not isinstance(value, list | tuple) or not value or not all(map(self.holds, value)):
            return f"is not a {self.kind}", phrase("Name pairs of two different columns.")
        lost = [name for pair in value for name in pair if schema is not None and name not in schema.names]
        return ("names an unknown column", LOST.format(column=lost[0])) if lost else None

    def holds(self, names: Any) -> bool:
        """Return whether `names` is a pair of two different texts."""
        texts = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
        return texts and len(names) == len({*names}) == 2


@dataclass(frozen=True, kw_only=True)
class Choice(Parameter):
    """One of the texts in `options`."""

    options: Collection[str]

    def refusal(self, name: str, value: Any, *_: Any) -> tuple[str, str] | None:
        """Return why a value is none of the options, and a remedy; None if it is one."""
        known = isinstance(value, str) and value in self.options
        return None if known else (f"cannot be {value!r}", f"Choose one of {', '.join(self.options)}.")

    @property
    def kind(self) -> str:
        """Type of the values, as a docstring states it: the options in braces."""
        return in_braces(self.options)


@dataclass(frozen=True, kw_only=True)
class Flag(Parameter):
    """True or False."""

    kind = "bool"

    def refusal(self, name: str, value: Any, *_: Any) -> tuple[str, str] | None:
        """Return why a value is no truth value, and a remedy; None if it is one."""
        return None if isinstance(value, bool) else ("is neither True nor False", "Use True or False.")


@dataclass(frozen=True, kw_only=True)
class UncheckedValue(Parameter):
    """A value, usually a text, that the method itself checks."""

    kind: str = "str"

    def refusal(self, name: str, value: Any, *_: Any) -> tuple[str, str] | None:
        """Return None, because the method checks the value itself."""
        return None


def in_braces(words: Iterable[str]) -> str:
    """Return words quoted in braces, as a docstring lists options: {'a', 'b'}."""
    return f"{{{', '.join(map(repr, words))}}}"


def field_declarer(kind: Callable[..., Parameter]) -> Callable[..., Any]:
    """Return a function that declares a dataclass field as a parameter of one kind.

    `kind` is a class of parameters, such as `Whole`. The function takes the arguments of that class
    by name. A parameter whose default is None is optional.
    """

    def declare(**given: Any) -> Any:
        """Return a dataclass field that is a parameter of this kind, with the kind's arguments."""
        lists: dict[str, Any] = {name: tuple(given[name]) for name in ("options", "words") if name in given}
        known = {"optional": given["default"] is None} | given | lists
        return field(default=given["default"], metadata={"parameter": kind(**known)})

    return declare


whole, number, choice = field_declarer(Whole), field_declarer(Number), field_declarer(Choice)
flag, text, pairs = field_declarer(Flag), field_declarer(UncheckedValue), field_declarer(PairList)
numbers, weights = field_declarer(NumberList), field_declarer(WeightList)


def fitted_field(*, init: Literal[False] = False) -> Any:
    """Declare a dataclass field that `fit` sets, and that is no parameter."""
    return field(init=init)


def is_learned(name: str) -> bool:
    """Return whether `fit` sets the attribute of this name: it ends in one underscore."""
    return name.endswith("_") and not name.endswith("__")


@dataclass_transform(
    kw_only_default=True,
    eq_default=False,
    field_specifiers=(whole, number, choice, flag, numbers, weights, pairs, text, fitted_field),
)
@dataclass(kw_only=True, eq=False, repr=False)
class ParameterClass:
    """Base of classes whose fields are parameters, checked and documented in one place."""

    controls: ClassVar[tuple[Control, ...]] = ()
    # parameters and attributes in its docstring: kind (if stated) and description, by name
    _own: ClassVar[Mapping[str, tuple[str, str]]] = {}

    def __init_subclass__(cls, **how: Any) -> None:
        """Make the subclass a dataclass, and complete its docstring from its fields."""
        super().__init_subclass__(**how)
        dataclass(cls, kw_only=True, eq=False, repr=False)
        summary, title, examples = cleandoc(cls.__doc__ or "").partition("\nExamples\n")
        cls._own = {name: (kind, " ".join(about.split())) for name, kind, about in ITEMS.findall(summary)}
        cls._check_names_of(cls.__init__)
        for each in fields(cls):
            if each.init and "parameter" not in each.metadata:
                words = f"{cls.__name__}.{each.name} is neither a parameter nor a fitted attribute."
                raise TypeError(f"{words} Write `= whole(...)`, `= fitted_field()`, or ClassVar.")
        said, kinds = cls.descriptions(), dict[str, str]()
        for name, parameter in cls.parameters().items():
            usual = "optional" if parameter.default is None else f"default={parameter.default!r}"
            kinds[name] = f"{parameter.kind}, {usual}"
        learns = {each.name: said[each.name][0] for each in fields(cls) if not each.init}
        sections = [*docstring_section("Parameters", kinds, said), *docstring_section("Attributes", learns, said)]
        cls.__doc__ = "\n".join([SECTION.split(summary)[0].rstrip(), *sections, title + examples]).rstrip()

    @classmethod
    def _check_names_of(cls, make: Callable[..., None]) -> None:
        """Wrap the dataclass constructor `make`, so that it checks the names of parameters.

        Unknown names raise ParameterError; former names of parameters are accepted.
        """

        @wraps(make)
        def make_checked(self: Any, /, *words: Any, **given: Any) -> None:
            """Construct the object from named parameters; ParameterError for others."""
            if words:
                remedy = f"Write {cls.__name__}(epsilon=1.0).fit(frame, schema=schema)."
                raise ParameterError(f"{cls.__name__} takes its parameters by name.", remedy)
            make(self, **cls._known_parameters(given))

        setattr(cls, "__init__", make_checked)  # noqa: B010 - mypy refuses the assignment

    @classmethod
    def _known_parameters(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return `given` parameters by their current names; ParameterError if a name is unknown."""
        known = cls.parameters()
        given = renamed_parameters(given, known)
        if wrong := [name for name in given if name not in known]:
            remedy = advise(wrong[0], "", known).strip() or f"Its parameters: {', '.join(known)}."
            raise ParameterError(f"{cls.__name__} has no parameter {wrong[0]!r}.", remedy)
        return given

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """Return the parameters by name, in the order of their declaration."""
        return {each.name: each.metadata["parameter"] for each in fields(cls) if each.init}

    @classmethod
    def descriptions(cls) -> Mapping[str, tuple[str, str]]:
        """Return the docstring's descriptions of parameters and attributes, by name.

        Each is a pair: the kind (empty if the docstring does not state it) and the text. A class's
        own description replaces that of its base classes.
        """
        above = [item for kind in reversed(cls.__mro__) for item in vars(kind).get("_own", {}).items()]
        return defaultdict(lambda: ("", ""), above)

    @classmethod
    def control_map(cls) -> dict[str, Control]:
        """Return the controls of the class's parameters by name, in the order of a page.

        A class's own control replaces that of its base classes.
        """
        above = [control for kind in reversed(cls.__mro__) for control in vars(kind).get("controls", ())]
        return {control.name: control for control in above if control.name in cls.parameters()}


def docstring_section(title: str, kinds: Mapping[str, str], texts: Mapping[str, tuple[str, str]]) -> list[str]:
    """Return the lines of a docstring's section: names, kinds and descriptions.

    `kinds` maps each name to its type in words. `texts` maps it to a pair, whose second part is the
    description.
    """
    lines = ["", title, "-" * len(title)]
    for name, kind in kinds.items():
        about = textwrap.wrap(texts[name][1], WIDTH, initial_indent="    ", subsequent_indent="    ")
        lines += [f"{name} : {kind}", *about]
    return lines


INFERRED = phrase("The schema was inferred from the private rows: the guarantee is void.")
WRONG = phrase("The paper's proof is wrong. The ledger will show what can be proved.")
NO_NOISE = phrase("No noise at all. For comparison on this screen only.")


@dataclass(frozen=True)
class Preset:
    """Variant of a method that a page offers: values for some parameters, under one label."""

    label: str  # distinguishes the variants of one page and mode
    mode: str = "corrected"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    remark: str = WRONG  # published mode: verdict on the source's proof
    proof_holds: bool = False  # published mode: whether the source's proof is right
    relation: str = ""  # the one relation under which the proof holds; empty: all


def presets_for_both_modes(corrected: str, paper: str, **published: Any) -> tuple[Preset, Preset]:
    """Return a preset for corrected and one for published mode, with the default parameters.

    `corrected` and `paper` are their labels. `published` sets other fields of the published preset.
    """
    return Preset(corrected), Preset(paper, "published", **published)


def presets_of(table: Mapping[str, Any], kind: str) -> tuple[Preset, ...]:
    """Return the presets of the class named `kind`; `table` is the content of a `pages.toml`."""
    return tuple(Preset(**row) for row in table["presets"][kind])


def void_reason(method: Any, schema: Schema) -> str:
    """Return why a run would lack the claimed guarantee, in a sentence; empty if it would not.

    Reasons are a schema inferred from the rows, a seed, and a published proof that is wrong.
    """
    if schema.source == "inferred":
        return phrase("no guarantee: the schema was inferred from the private rows.")
    if method.random_state is not None:
        return phrase("no guarantee: anyone who knows the seed can subtract the noise.")
    if method.mode == "published" and not any(p.proof_holds and matches_preset(method, p) for p in method.presets):
        return phrase("no proof of the published epsilon: the ledger will show what can be proven.")
    return ""


def describe_noise(method: Any) -> str:
    """Describe the quality of the noise that a run of `method` would draw, as for a release.

    A method without a corrected mode is a non-private baseline, and draws no noise.
    """
    sampled = exactly_sampled(method.noise, method.random_state)
    return describe_noise_quality("corrected" not in method.modes, sampled, method.mode)


def describe_noise_quality(noiseless: bool, sampled: bool, mode: str) -> str:
    """Describe in a sentence whether noise is absent, not exactly sampled, or exactly sampled.

    `noiseless` says whether no noise is drawn, and `sampled` whether it is exactly sampled. The
    sentence is about the noise only, whatever is proved about the method.
    """
    if noiseless:
        return phrase("no noise at all. This release must never be published.")
    if not sampled:
        return phrase("noise for teaching only. Use exactly sampled noise before you publish.")
    if mode == "published":
        return phrase("exactly sampled noise, except where the published algorithm draws its own.")
    return phrase("exactly sampled noise.")


def matches_preset(method: Any, preset: Preset) -> bool:
    """Return whether a method has the mode, the relation and the parameters of a preset."""
    fits = preset.mode == method.mode and preset.relation in ("", method.relation)
    return fits and all(getattr(method, name) == value for name, value in preset.parameters.items())


def teaching_note(method: Any, _: Schema) -> str:
    """Return a warning if the method's noise or seed is for teaching only; empty otherwise."""
    if method.noise in ("laplace", "geometric"):
        return TEACHING
    if method.noise == "auto" and method.random_state is not None:
        return phrase("Exactly sampled noise takes no seed. This run will use NumPy's noise, for teaching only.")
    return ""
