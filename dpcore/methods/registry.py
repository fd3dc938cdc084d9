"""Classes by name, each imported when it is first asked for."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

Kind = TypeVar("Kind")


def load(place: str) -> Any:
    """What stands at "module:Name", or the module at "module", below `dpcore`; imported if it was not."""
    module, _, name = place.partition(":")
    found = import_module(f"dpcore.{module}")
    return getattr(found, name) if name else found


class Registry(Mapping[str, Kind]):
    """Classes by their printed names, read-only, in the order of the lines.

    Names, their number and `in` import nothing; a class, and what lists classes (`values`, `items`), imports it.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(places)  # "module:Class", below `dpcore`, by printed name
        # by the classes' own names
        self.classes = {place.partition(":")[2]: place for place in self._places.values()}

    def name_of(self, kind: object, otherwise: str) -> str:
        """The printed name of a class, by the class's own name; another one if there is no such class."""
        return next((name for name, place in self._places.items() if place.partition(":")[2] == kind), otherwise)

    def __getitem__(self, name: str) -> Kind:
        if name not in self._places:
            from dpcore.methods.other_libraries import advise

            raise KeyError(f"There is no method {name!r}.{advise(str(name), {}, self)}")
        found: Kind = load(self._places[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __repr__(self) -> str:
        return f"Registry({self._places})"
