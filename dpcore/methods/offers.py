"""Ways to run a method that the dashboard offers, as they are called there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SHOWN = "The ledger will show what can be proved."
NO_NOISE = "No noise at all. For comparison on this screen only."


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A method with parameters that differ from its own.

    Attributes
    ----------
    label : str
        What it is called among the variants of its page and mode.
    mode : {"corrected", "paper"}
    given : mapping
        The parameters.
    remark : str
        Paper mode: what is to be known of the source's proof.
    holds : bool
        Whether that is good news.
    """

    label: str
    mode: str = "corrected"
    given: Mapping[str, Any] = field(default_factory=dict)
    remark: str = f"The paper's proof is wrong. {SHOWN}"
    holds: bool = False
