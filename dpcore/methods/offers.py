"""Ways to run a method that the dashboard offers, as they are called there."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

SHOWN = "The ledger will show what can be proved."
WRONG = f"The paper's proof is wrong. {SHOWN}"
ON_SCREEN = "For comparison on this screen only."
NO_NOISE = f"No noise at all. {ON_SCREEN}"


@dataclass(frozen=True)
class Offer:
    """A method with parameters that differ from its own."""

    label: str  # among the variants of its page and mode
    mode: str = "corrected"
    given: Mapping[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    remark: str = WRONG  # paper mode: what is to be known of the source's proof
    holds: bool = False  # whether that is good news
    formerly: str = ""  # its label in links and files of earlier versions


def both(corrected: str, paper: str, remark: str = WRONG, *, holds: bool = False) -> tuple[Offer, Offer]:
    """A method in both modes, with its own parameters."""
    return Offer(corrected), Offer(paper, "paper", remark=remark, holds=holds)
