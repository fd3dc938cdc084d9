"""Parameters, declared once: as fields of a method, from which its constructor, its checks and its docstring follow.

    class DiffPRF(ForestClassifier):
        n_trees: int = whole(default=25, most=1_000)

`ParameterClass` makes a keyword-only constructor of all fields of a class and of those above it, as
scikit-learn wants it. A field that is declared again has another default or range there. A
parameter's kind has its check, also against the columns of a schema; what hangs on several
parameters is the method's own to check. What `fit` sets is declared beside them (`fitted_field`). What
its own are, a class says in its docstring, in the sections that scikit-learn's classes have; of an
attribute also its kind. `ParameterClass` writes those of the classes above there, too, and each
parameter's kind and default. Which parameters a page asks for, and in which words, a family says
once, by their names, in `pages.toml` of its folder; by which widget, the dashboard knows of each
kind:

        controls = controls_of(PAGES["DTPD"])

A `Preset`, in the same file, is a method with values for some of them that the dashboard offers
under one label; and a few functions say in a sentence what a method with its parameters would not
guarantee.
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
# of a docstring: how a section begins, and each name with its kind and what stands below it
SECTION = re.compile(r"\n\n(?:Parameters|Attributes)\n-+\n")
ITEMS = re.compile(r"^(\w+)(?: : (.*))?((?:\n .*)+)", re.MULTILINE)
LOST = phrase("There is no column {column}. Choose among the columns of the schema.")


@dataclass(frozen=True)
class Control:
    """How a page asks for a parameter, as far as that does not follow from its kind, range and default.

    Functions are given the method as it is chosen so far, and the schema, where the control is
    drawn.
    """

    name: str
    label: str
    # "" for None
    names: Mapping[Any, str] | Callable[[Any, Any], Mapping[Any, str]] = field(default_factory=dict)
    _: KW_ONLY
    help: str | None = None
    note: str | Callable[[Any, Any], str] = ""  # below it
    steps: Sequence[float] = ()  # numbers to slide along, in place of a range
    # the lowest and the highest number that a page offers, and maybe a step
    within: Sequence[float] = ()
    initial: Any = None  # what is chosen at first in place of None: a value or a function
    # what others have to be: a value, one of several, a test; "" for None
    when: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""  # in links and files, if not its name

    def wanted(self, method: object) -> bool:
        """Whether it is asked for, of a method as it is chosen so far."""
        chosen = ((getattr(method, name), wish) for name, wish in self.when.items())
        return all(
            wish(value)
            if callable(wish)
            else ("" if value is None else value) in (wish if isinstance(wish, list | tuple) else (wish,))
            for value, wish in chosen
        )


def controls_of(table: Mapping[str, Any], **more: Mapping[str, Any]) -> tuple[Control, ...]:
    """Controls as a family's file has them, by parameter, with what functions say of some besides.

    A table of both modes has what is for each.
    """

    def by_mode(value: Any) -> Any:
        modes = isinstance(value, dict) and {*value} <= {"corrected", "published"}
        return (lambda method, _: value.get(method.mode)) if modes else value

    rows = {name: {key: by_mode(value) for key, value in row.items()} for name, row in table.items()}
    return tuple(Control(name, **{**row, **more.get(name, {})}) for name, row in rows.items())


@dataclass(frozen=True, kw_only=True)
class Parameter(ABC):
    """What values a parameter may have; None only if it is `optional`."""

    default: Any
    optional: bool = False
    words: Collection[str] = ()  # that it may be besides

    @abstractmethod
    def refusal(self, name: str, value: Any, method: Any, schema: Any) -> tuple[str, str] | None:
        """Why a plain value that is not None is refused: what is wrong with the parameter, and a remedy.

        Without a schema, what hangs on the method and its columns is not looked at.
        """

    @property
    @abstractmethod
    def kind(self) -> str:
        """What it is, for the docstring."""

    def check(self, name: str, value: Any, method: Any = None, schema: Any = None) -> None:
        """Raise ParameterError unless it may have this value, of a method that will run on a schema."""
        if value is None:
            found = None if self.optional else ("is None", f"Use {self.default!r}, as usual.")
        elif isinstance(value, str) and self.words:
            known = value in self.words
            found = None if known else ("is not known", f"Use {' or '.join(self.words)}, or a number.")
        elif not is_plain(value):
            remedy = "Pass a plain value, such as float(…) of another kind of number."
            found = "is not a text, truth value or number (of 18 digits, if whole)", remedy
        else:
            found = self.refusal(name, value, method, schema)
        if found is not None:
            raise ParameterError(f"The {name!r} parameter {found[0]}.", found[1])


@dataclass(frozen=True, kw_only=True)
class Whole(Parameter):
    """A whole number from `least` to `most`, or one of some words."""

    least: int = 1
    most: float = inf

    def refusal(self, name: str, value: Any, *_: Any) -> tuple[str, str] | None:
        if not is_whole(value, self.least):
            return f"must be a whole number of {self.least} or more; got {value!r}", f"Try {max(self.least, 3)}."
        return ("is too large", f"At most {self.most:,}.") if value > self.most else None

    @property
    def kind(self) -> str:
        return f"int or {in_braces(self.words)}" if self.words else "int"


@dataclass(frozen=True, kw_only=True)
class Number(Parameter):
    """A number from `least` to `most`; `open` has "(" and ")" for bounds that are none of them."""

    least: float = 0.0
    most: float = inf
    open: str = ""

    def holds(self, value: Any) -> bool:
        """Whether it is a number in the range."""
        if not (is_number(value) and self.least <= value <= self.most and isfinite(value)):
            return False
        return not ("(" in self.open and value == self.least) and not (")" in self.open and value == self.most)

    def refusal(self, name: str, value: Any, *_: Any) -> tuple[str, str] | None:
        hint = 0.5 if self.default is None else self.default
        return None if self.holds(value) else (f"must be in {self.range}; got {value!r}", f"Try {name}={hint}.")

    @property
    def range(self) -> str:
        """The bounds as an interval."""
        low, high = "(" if "(" in self.open else "[", ")" if ")" in self.open or self.most == inf else "]"
        return f"{low}{self.least:g}, {self.most:g}{high}"

    @property
    def kind(self) -> str:
        return "float"


@dataclass(frozen=True, kw_only=True)
class NumberList(Number):
    """A number in a range for each of some things, such as columns; maybe one for all of them, or a word."""

    things: Callable[[Any, Any], Sequence[object]]  # by the method and the schema
    request: str  # a sentence that asks for {n} numbers, for {things}
    one_for_all: bool = False
    # whether so many numbers may stand together
    fit: Callable[[Sequence[float]], bool] = lambda _: True

    def refusal(self, name: str, value: Any, method: Any, schema: Any) -> tuple[str, str] | None:
        found = [value] if self.one_for_all and is_number(value) else value
        right = isinstance(found, list | tuple) and all(map(self.holds, found))
        if schema is None:
            return None if right else ("does not fit", f"Use {self.default!r}, as usual.")
        lengths = (len(self.things(method, schema)), 1 if self.one_for_all else -1)
        right = right and len(found) in lengths and self.fit(found)
        return None if right else ("does not fit", self.remedy(method, schema))

    def remedy(self, method: Any, schema: Any) -> str:
        """What is wanted, of a method that will run on a schema."""
        things = [*map(str, self.things(method, schema))]
        return self.request.format(n=len(things), things=", ".join(things))

    @property
    def kind(self) -> str:
        single = [in_braces(self.words)] if self.words else ["float"] if self.one_for_all else []
        return " or ".join([*single, "sequence of float"])


@dataclass(frozen=True, kw_only=True)
class WeightList(NumberList):
    """Numbers of 0 or more that share something out; the last one is positive."""

    fit: Callable[[Sequence[float]], bool] = lambda weights: weights[-1] > 0 and sum(weights) < inf


@dataclass(frozen=True, kw_only=True)
class PairList(Parameter):
    """Some pairs of the schema's columns, by their names."""

    kind = "sequence of pairs of str"

    def refusal(self, name: str, value: Any, method: Any, schema: Any) -> tuple[str, str] | None:
        if not isinstance(value, list | tuple) or not value or not all(map(self.holds, value)):
            return f"is not a {self.kind}", phrase("Name pairs of two different columns.")
        lost = [column for pair in value for column in pair if schema is not None and column not in schema.names]
        return ("names no column of the schema", LOST.format(column=lost[0])) if lost else None

    def holds(self, names: Any) -> bool:
        """Whether these are two different names."""
        texts = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
        return texts and len(names) == len({*names}) == 2


@dataclass(frozen=True, kw_only=True)
class Choice(Parameter):
    """One of some words."""

    options: Collection[str]

    def refusal(self, name: str, value: Any, *_: Any) -> tuple[str, str] | None:
        known = isinstance(value, str) and value in self.options
        return None if known else ("is not known", f"Choose one of {', '.join(self.options)}.")

    @property
    def kind(self) -> str:
        return in_braces(self.options)


@dataclass(frozen=True, kw_only=True)
class Flag(Parameter):
    """True or False."""

    kind = "bool"

    def refusal(self, name: str, value: Any, *_: Any) -> tuple[str, str] | None:
        return None if isinstance(value, bool) else ("is neither True nor False", "Use True or False.")


@dataclass(frozen=True, kw_only=True)
class Free(Parameter):
    """A text, or anything else, that the method checks itself."""

    kind: str = "str"

    def refusal(self, name: str, value: Any, *_: Any) -> tuple[str, str] | None:
        return None


def in_braces(words: Iterable[str]) -> str:
    """Words as a docstring lists them."""
    return f"{{{', '.join(map(repr, words))}}}"


def declaring(kind: Callable[..., Parameter]) -> Callable[..., Any]:
    """What declares a field as a parameter of this kind, by what the kind has fields for.

    A parameter whose default is None is optional.
    """

    def declare(**given: Any) -> Any:
        lists: dict[str, Any] = {name: tuple(given[name]) for name in ("options", "words") if name in given}
        known = {"optional": given["default"] is None} | given | lists
        return field(default=given["default"], metadata={"parameter": kind(**known)})

    return declare


whole, number, choice = declaring(Whole), declaring(Number), declaring(Choice)
flag, text, numbers = declaring(Flag), declaring(Free), declaring(NumberList)
weights, pairs = declaring(WeightList), declaring(PairList)


def fitted_field(*, init: Literal[False] = False) -> Any:
    """No parameter: what `fit` sets."""
    return field(init=init)


def is_learned(name: str) -> bool:
    """Whether an attribute is one that `fit` sets, by its name."""
    return name.endswith("_") and not name.endswith("__")


@dataclass_transform(
    kw_only_default=True,
    eq_default=False,
    field_specifiers=(whole, number, choice, flag, numbers, weights, pairs, text, fitted_field),
)
@dataclass(kw_only=True, eq=False, repr=False)
class ParameterClass:
    """Base of classes whose fields are their parameters, checked and described in one place."""

    controls: ClassVar[tuple[Control, ...]] = ()
    # what its docstring says of parameters and attributes: the kind, if it is there, and the text
    _own: ClassVar[Mapping[str, tuple[str, str]]] = {}

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        dataclass(cls, kw_only=True, eq=False, repr=False)
        summary, title, examples = cleandoc(cls.__doc__ or "").partition("\nExamples\n")
        cls._own = {name: (kind, " ".join(about.split())) for name, kind, about in ITEMS.findall(summary)}
        cls._check_names_of(cls.__init__)
        for each in fields(cls):
            if each.init and "parameter" not in each.metadata:
                words = f"{cls.__name__}.{each.name} is neither a parameter nor learned."
                raise TypeError(f"{words} Write `= whole(...)`, `= learned()`, or ClassVar.")
        said, kinds = cls.descriptions(), dict[str, str]()
        for name, parameter in cls.parameters().items():
            usual = "optional" if parameter.default is None else f"default={parameter.default!r}"
            kinds[name] = f"{parameter.kind}, {usual}"
        learns = {each.name: said[each.name][0] for each in fields(cls) if not each.init}
        sections = [*section("Parameters", kinds, said), *section("Attributes", learns, said)]
        cls.__doc__ = "\n".join([SECTION.split(summary)[0].rstrip(), *sections, title + examples]).rstrip()

    @classmethod
    def _check_names_of(cls, make: Callable[..., None]) -> None:
        """Let the constructor that dataclasses made refuse names that it does not know, and read former ones."""

        @wraps(make)
        def make_checked(self: Any, /, *words: Any, **given: Any) -> None:
            if words:
                remedy = f"Write {cls.__name__}(epsilon=1.0).fit(frame, schema=schema)."
                raise ParameterError(f"{cls.__name__} takes its parameters by name.", remedy)
            make(self, **cls._known_parameters(given))

        setattr(cls, "__init__", make_checked)  # noqa: B010 - mypy refuses the assignment

    @classmethod
    def _known_parameters(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters by their current names; ParameterError for unknown ones."""
        known = cls.parameters()
        given = renamed_parameters(given, known)
        if wrong := [name for name in given if name not in known]:
            remedy = advise(wrong[0], "", known).strip() or f"Its parameters: {', '.join(known)}."
            raise ParameterError(f"{cls.__name__} has no parameter {wrong[0]!r}.", remedy)
        return given

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """Return the parameters by name, in the order in which they were declared."""
        return {each.name: each.metadata["parameter"] for each in fields(cls) if each.init}

    @classmethod
    def descriptions(cls) -> Mapping[str, tuple[str, str]]:
        """Return what docstrings say of parameters and attributes by name, the kind (if it is there) and the text.

        Of each the last one counts, a class's own before those of the classes above.
        """
        above = [item for kind in reversed(cls.__mro__) for item in vars(kind).get("_own", {}).items()]
        return defaultdict(lambda: ("", ""), above)

    @classmethod
    def asks(cls) -> dict[str, Control]:
        """Return the controls of its parameters, in the order of a page.

        The last one of each name counts, a class's own before those of the classes above.
        """
        above = [control for kind in reversed(cls.__mro__) for control in vars(kind).get("controls", ())]
        return {control.name: control for control in above if control.name in cls.parameters()}


def section(title: str, kinds: Mapping[str, str], said: Mapping[str, tuple[str, str]]) -> list[str]:
    """The lines of a docstring's section: names and kinds, and what is said of them."""
    lines = ["", title, "-" * len(title)]
    for name, kind in kinds.items():
        about = textwrap.wrap(said[name][1], WIDTH, initial_indent="    ", subsequent_indent="    ")
        lines += [f"{name} : {kind}", *about]
    return lines


INFERRED = phrase("The schema was inferred from the private rows: the guarantee is void.")
WRONG = phrase("The paper's proof is wrong. The ledger will show what can be proved.")
NO_NOISE = phrase("No noise at all. For comparison on this screen only.")


@dataclass(frozen=True)
class Preset:
    """A method with parameters that differ from its own."""

    label: str  # among the variants of its page and mode
    mode: str = "corrected"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    remark: str = WRONG  # published mode: what is to be known of the source's proof
    holds: bool = False  # whether that is good news
    within: str = ""  # the one relation that it holds under; empty: all


def both(corrected: str, paper: str, **published: Any) -> tuple[Preset, Preset]:
    """A method in both modes, with its own parameters; `published` has what else is to be known of its source's."""
    return Preset(corrected), Preset(paper, "published", **published)


def presets_of(table: Mapping[str, Any], kind: str) -> tuple[Preset, ...]:
    """What a family's file offers of a class."""
    return tuple(Preset(**row) for row in table["presets"][kind])


def void_reason(method: Any, schema: Schema) -> str:
    """Why a run would have no guarantee, or not the printed one, in a sentence; empty if it would have it."""
    if schema.source == "inferred":
        return phrase("none: the schema was read off the rows.")
    if method.random_state is not None:
        return phrase("none: anyone who knows the seed can subtract the noise.")
    if method.mode == "published" and not any(offer.holds and is_offer(method, offer) for offer in method.presets):
        return phrase("not as published: the ledger will show what can be proven.")
    return ""


def noise_of(method: Any) -> str:
    """Of which grade a run's noise would be, as `grade` says it of a release. References have no corrected version."""
    sampled = exactly_sampled(method.noise, method.random_state)
    return grade("corrected" not in method.modes, sampled, method.mode)


def grade(noiseless: bool, sampled: bool, mode: str) -> str:
    """Whether noise is exactly sampled, whatever is proved besides."""
    if noiseless:
        return phrase("none at all. Never to be published.")
    if not sampled:
        return phrase("not exactly sampled, and for teaching only. Draw exactly sampled noise before you publish.")
    if mode == "published":
        return phrase("exactly sampled noise, but for what the source draws by itself.")
    return phrase("exactly sampled noise.")


def is_offer(method: Any, offer: Preset) -> bool:
    """Whether a method's mode, relation and parameters are those of an offer."""
    fits = offer.mode == method.mode and offer.within in ("", method.relation)
    return fits and all(getattr(method, name) == value for name, value in offer.parameters.items())


def teaching_note(method: Any, _: Schema) -> str:
    """What a source of noise is not good for."""
    if method.noise in ("laplace", "geometric"):
        return TEACHING
    if method.noise == "auto" and method.random_state is not None:
        return phrase("Exactly sampled noise takes no seed: NumPy's continuous noise will be used, for teaching.")
    return ""
