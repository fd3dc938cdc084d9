"""Parameters, declared once: as fields of a method, from which its constructor, its checks and its docstring follow.

    class DiffPRF(ForestClassifier):
        n_trees: int = whole(default=25, most=1_000, about="How many trees.")

`Declared` makes a keyword-only constructor of all fields of a class and of those above it, as scikit-learn wants it. A
field that is declared again has another default or range there. What hangs on several parameters, or on the schema, is
the method's own to check. What `fit` sets is declared beside them, for the docstring (`learned`). Which parameters a
page asks for, and in which words, a family says once, by their names:

        controls = (Control("n_trees", "Trees", within=(1, 100)),)
"""

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import wraps
from inspect import cleandoc
from math import inf, isfinite
from typing import Any, ClassVar, Literal, dataclass_transform

from dpcore.arguments import is_number, is_plain, is_whole
from dpcore.domain.former_names import renamed_parameters
from dpcore.errors import ParameterError
from dpcore.methods.other_libraries import advise

WIDTH = 110
CORRECTED, PUBLISHED = {"mode": "corrected"}, {"mode": "published"}


@dataclass(frozen=True)
class Control:
    """How a page asks for a parameter, as far as that does not follow from its kind, range and default.

    Functions are given the method as it is chosen so far, and the schema. They are called where it is drawn, and may
    `say` what they tell.
    """

    name: str
    label: str
    names: Mapping[Any, str] | Callable[[Any, Any], Mapping[Any, str]] = field(default_factory=dict)  # "" for None
    _: KW_ONLY
    help: str | None = None
    gives: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by option, if that sets several parameters
    steps: tuple[float, ...] = ()  # numbers to slide along, written in the `form`
    own: tuple[str, Callable[[Any, Any], list[str]]] | None = None  # a switch, and for which columns then a number each
    form: str = "{}"
    slider: tuple[float, ...] = ()  # lowest and highest number, and maybe a step
    within: tuple[float, ...] = ()  # the same of a field to type in
    shown: Any = None  # what is chosen at first in place of None: a value or a function
    told: str | Callable[[Any, Any], str] = ""
    when: Mapping[str, Any] = field(default_factory=dict)  # other parameters' values, or tuples of them, that it needs
    otherwise: tuple[str, str] | None = None  # without them: key and text of what is seen in its place
    needs: str = ""  # a parameter without which it is False
    rule: str = ""  # help of a switch, in corrected mode, that leaves it at None
    fold: tuple[str, str] | None = None  # key and label of a switch, off at first, behind which it is
    key: str = ""  # in links and files, if not its name; added to that after a dot; may hang on values in braces

    def wanted(self, method: object) -> bool:
        """Whether it is asked for, of a method as it is chosen so far."""
        known = {name: wish if isinstance(wish, tuple) else (wish,) for name, wish in self.when.items()}
        return all(getattr(method, name) in values for name, values in known.items())

    def seen(self, method: object) -> bool:
        """Whether there is anything to be seen of it."""
        return self.wanted(method) or self.otherwise is not None


@dataclass(frozen=True, kw_only=True)
class Parameter(ABC):
    """What values a parameter may have; None only if it is `optional`."""

    default: Any
    about: str
    optional: bool

    @abstractmethod
    def refusal(self, name: str, value: Any) -> tuple[str, str] | None:
        """Why a plain value that is not None is refused: what is wrong with the parameter, and a remedy."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """What it is, for the docstring."""

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError unless it may have this value."""
        if value is None:
            if self.optional:
                return
            raise ParameterError(f"The {name!r} parameter is None.", f"Use {self.default!r}, as usual.")
        if not is_plain(value):
            raise ParameterError(
                f"The {name!r} parameter is no text, truth value or number (of 18 digits, if whole).",
                "Pass a plain value, such as float(…) of another kind of number.",
            )
        if (told := self.refusal(name, value)) is not None:
            raise ParameterError(f"The {name!r} parameter {told[0]}.", told[1])


@dataclass(frozen=True, kw_only=True)
class Whole(Parameter):
    """A whole number, or one of some words."""

    least: int
    most: float
    words: tuple[str, ...]

    def refusal(self, name: str, value: Any) -> tuple[str, str] | None:
        if isinstance(value, str) and self.words:
            known = " or ".join(("a number", *self.words))
            return None if value in self.words else ("is not known", f"Use {known}.")
        if not is_whole(value, self.least):
            return f"is not a whole number of {self.least} or more", f"Try {max(self.least, 3)}."
        return ("is too large", f"At most {self.most:,}.") if value > self.most else None

    @property
    def kind(self) -> str:
        return f"int or {{{', '.join(map(repr, self.words))}}}" if self.words else "int"


@dataclass(frozen=True, kw_only=True)
class Number(Parameter):
    """A number between bounds, which themselves may be `open`."""

    least: float
    most: float
    open: str

    def refusal(self, name: str, value: Any) -> tuple[str, str] | None:
        inside = is_number(value) and self.least <= value <= self.most and isfinite(value)
        if inside and not ("(" in self.open and value == self.least) and not (")" in self.open and value == self.most):
            return None
        hint = 0.5 if self.default is None else self.default
        return f"is not {self.range}", f"Try {name}={hint}."

    @property
    def range(self) -> str:
        """The bounds in words."""
        if self.most == inf:
            above = f"above {self.least:g}" if self.open else f"of {self.least:g} or more"
            return f"a finite number {above}"
        if self.open == "()":
            return f"between {self.least:g} and {self.most:g}"
        low, high = "(" if "(" in self.open else "[", ")" if ")" in self.open else "]"
        return f"a number of {low}{self.least:g}, {self.most:g}{high}"

    @property
    def kind(self) -> str:
        return "float"


@dataclass(frozen=True, kw_only=True)
class Choice(Parameter):
    """One of some words."""

    options: tuple[str, ...]

    def refusal(self, name: str, value: Any) -> tuple[str, str] | None:
        known = isinstance(value, str) and value in self.options
        return None if known else ("is not known", f"Choose one of {', '.join(self.options)}.")

    @property
    def kind(self) -> str:
        return f"{{{', '.join(map(repr, self.options))}}}"


@dataclass(frozen=True, kw_only=True)
class Flag(Parameter):
    """True or False."""

    def refusal(self, name: str, value: Any) -> tuple[str, str] | None:
        return None if isinstance(value, bool) else ("is neither True nor False", "Use True or False.")

    @property
    def kind(self) -> str:
        return "bool"


@dataclass(frozen=True, kw_only=True)
class Free(Parameter):
    """What the method checks itself."""

    kind: str = "str"

    def refusal(self, name: str, value: Any) -> tuple[str, str] | None:
        return None


def declare(parameter: Parameter) -> Any:
    """A field with this parameter."""
    return field(default=parameter.default, metadata={"parameter": parameter})


def whole(
    *, default: Any, about: str, least: int = 1, most: float = inf, words: Iterable[str] = (), optional: bool = False
) -> Any:
    """A whole number from `least` to `most`, or one of some words."""
    options = tuple(words)
    return declare(Whole(default=default, about=about, least=least, most=most, words=options, optional=optional))


def number(
    *, default: Any, about: str, least: float = 0.0, most: float = inf, open: str = "", optional: bool = False
) -> Any:
    """A number from `least` to `most`; `open` has "(" and ")" for bounds that are none of them."""
    return declare(Number(default=default, about=about, least=least, most=most, open=open, optional=optional))


def choice(*, default: Any, options: Iterable[str], about: str, optional: bool = False) -> Any:
    """One of some words."""
    return declare(Choice(default=default, options=tuple(options), about=about, optional=optional))


def flag(*, default: Any, about: str, optional: bool = False) -> Any:
    """True or False."""
    return declare(Flag(default=default, about=about, optional=optional))


def text(*, default: Any, about: str, kind: str = "str", optional: bool = False) -> Any:
    """A text, or anything else, that the method checks itself."""
    return declare(Free(default=default, about=about, kind=kind, optional=optional))


def learned(kind: str, about: str = "", *, init: Literal[False] = False) -> Any:
    """No parameter: what `fit` sets, of some kind, and what it is."""
    return field(init=init, metadata={"learned": (kind, about)})


def is_learned(name: str) -> bool:
    """Whether an attribute is one that `fit` sets, by its name."""
    return name.endswith("_") and not name.endswith("__")


@dataclass_transform(
    kw_only_default=True, eq_default=False, field_specifiers=(whole, number, choice, flag, text, learned)
)
@dataclass(kw_only=True, eq=False, repr=False)
class Declared:
    """Base of classes whose fields are their parameters, checked and described in one place."""

    controls: ClassVar[tuple[Control, ...]] = ()

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        dataclass(cls, kw_only=True, eq=False, repr=False)
        cls._check_names_of(cls.__init__)
        for each in fields(cls):
            if ("parameter" if each.init else "learned") not in each.metadata:
                told = f"{cls.__name__}.{each.name} is neither a parameter nor learned."
                raise TypeError(f"{told} Write `= whole(...)`, `= learned(...)`, or ClassVar.")
        parameters = {
            f"{name} : {each.kind}, {'optional' if each.default is None else f'default={each.default!r}'}": each.about
            for name, each in cls.parameters().items()
        }
        learns = [(each.name, each.metadata["learned"]) for each in fields(cls) if not each.init]
        attributes = {f"{name} : {kind}": about for name, (kind, about) in learns}
        sections = [*section("Parameters", parameters), *section("Attributes", attributes)]
        summary, title, examples = cleandoc(cls.__doc__ or "").partition("\nExamples\n")
        cls.__doc__ = "\n".join([summary.rstrip(), *sections, title + examples]).rstrip()

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
            remedy = advise(wrong[0], {}, known).strip() or f"Its parameters: {', '.join(known)}."
            raise ParameterError(f"{cls.__name__} has no parameter {wrong[0]!r}.", remedy)
        return given

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """Return the parameters by name, in the order in which they were declared."""
        return {each.name: each.metadata["parameter"] for each in fields(cls) if each.init}

    @classmethod
    def asks(cls) -> dict[str, Control]:
        """Return the controls of its parameters, in the order of a page.

        The last one of each name counts, a class's own before those of the classes above.
        """
        above = [control for kind in reversed(cls.__mro__) for control in vars(kind).get("controls", ())]
        return {control.name: control for control in above if control.name in cls.parameters()}


def section(title: str, items: Mapping[str, str]) -> list[str]:
    """The lines of a docstring's section: names and kinds, and what they are."""
    lines = ["", title, "-" * len(title)]
    for item, about in items.items():
        lines += [item, *textwrap.wrap(about, WIDTH, initial_indent="    ", subsequent_indent="    ")]
    return lines
