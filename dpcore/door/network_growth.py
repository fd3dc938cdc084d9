"""A network of 0/1 columns that grows behind the door, one exponential mechanism per new column."""

from collections.abc import Sequence
from typing import Unpack

from dpcore.accounting.currency import Amount
from dpcore.domain.schema import Schema
from dpcore.door.door import Door
from dpcore.door.exact_family_scores import FamilySearch
from dpcore.door.prices import Claimed
from dpcore.errors import ParameterError

Family = tuple[str, ...]


class Growth:
    """The families that a growing network may take next, and the choice among them.

    Which families there are is public: every column that is not placed, with every set of `max_parents` placed columns
    that it may take, or all of them while they are fewer. Made by `PrivateTable.growth`.
    """

    def __init__(self, door: Door, schema: Schema, search: FamilySearch, columns: Sequence[str]) -> None:
        self._door, self._schema, self._search = door, schema, search
        self.open = list(columns)

    def place(self, name: str) -> None:
        """Let the network have a column without a question, by a public rule or an earlier answer."""
        if name not in self.open:
            raise ParameterError(f"The column {name!r} is not open.", "Place one of the network's columns, once.")
        self.open.remove(name)
        self._search.place(self._schema.index(name))

    def choose(self, *, epsilon: Amount, **claimed: Unpack[Claimed]) -> Family:
        """One exponential mechanism over all families: the child and its parents. The child is then placed.

        `epsilon` is an amount in the account's currency, as for `PrivateTable`.
        """
        if not self.open:
            raise ParameterError("Every column of this network is placed.", "There is nothing left to choose.")
        entry, factor = self._door.choice(self._search.score, self._search.shapes, epsilon, self._door.claim(**claimed))
        family: Family = self._door.answer("choose", [entry], lambda: self._draw(factor))
        self.place(family[0])
        return family

    def _draw(self, factor: float) -> Family:
        blocks = [(child, block) for child, blocks in self._search.blocks.items() for block in blocks]
        chosen, place = self._door.noise.select_among([block for _, block in blocks], factor)
        child, block = blocks[chosen]
        names = self._schema.names
        return (names[child], *(names[parent] for parent in block.parents[place]))
