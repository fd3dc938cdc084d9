"""What a release kept and lost, and whom it serves worst, as tiles."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import islice

from dpcore.dashboard.shell import escape
from dpcore.evaluate.distances import CLOSE, Center, Fidelity, Group
from dpcore.language import phrase, say

MOST_NAMED, LEAST = 3, 0.005  # pairs; distance below which no group is served worst
CENTER = phrase(
    "The median of {column} is {released_median} in the release, and {share_below:.0%} of the real rows lie below it. "
    "Its mean is {released_mean} in the release and {real_mean} in the real rows."
)
Tile = tuple[str, str, str]  # label, value, and what it means


def verdict_tiles(found: Fidelity) -> list[Tile]:
    """What was kept, what was lost, and who is served worst."""
    held = f"{found.ties - len(found.lost_ties):,}/{found.ties:,}" if found.ties else say("no pair to keep")
    tiles = [
        close_columns(found.close_columns, found.columns),
        (say("⚠ Relations kept"), held, lost_relations(found)),
    ]
    if found.worst is not None and found.largest is not None and found.worst.distance >= LEAST:
        group = f"{escape(found.worst.column)} = {escape(str(found.worst.value))}"
        tiles.append((say("⚠ Served worst"), group, served_worst(found.worst, found.largest)))
    return tiles


def close_columns(close: int, columns: int) -> Tile:
    """How many columns are close to the real ones."""
    text = say("Within {points:.0f} points of the shares in the real rows, and no median far off.", points=100 * CLOSE)
    return say("⚠ Columns close"), f"{close:,}/{columns:,}", text


def names_of(found: Sequence[Center]) -> str:
    """The names of the first of some columns."""
    return ", ".join(escape(one.column) for one in found[:MOST_NAMED]) + " …" * (len(found) > MOST_NAMED)


def describe_centers(found: Iterable[Center]) -> str:
    """Where the numbers of some columns lie in a release and in the real rows, a sentence each."""
    parts = (asdict(one) | {"column": escape(one.column)} for one in islice(found, MOST_NAMED))
    return " ".join(say(CENTER, **part) for part in parts)


def lost_relations(found: Fidelity) -> str:
    """Which columns depend on each other in the real data, and hardly in the synthetic data."""
    text = say("Of columns that depend on each other in the real rows: at least half is left.")
    if not found.lost_ties:
        return text
    first = found.lost_ties[:MOST_NAMED]
    names = ", ".join(f"{escape(tie.first)} × {escape(tie.second)}" for tie in first)
    more = " …" * (len(found.lost_ties) > MOST_NAMED)
    return f"{text} {say('**Lost:** {names}.', names=names + more)}"


def served_worst(worst: Group, largest: Group) -> str:
    """How far off the rows of the worst group are, and of the largest one of its column."""
    text = phrase(
        "Rows with this value ({share:.1%} of all): their shares in other columns are off by "
        "{points:.0f} points on average. The largest group, {largest}: by {others:.0f}."
    )
    if worst.distance == 1:
        text = phrase("Rows with this value ({share:.1%} of all) are missing.")
    of = {"largest": escape(largest.value), "others": 100 * largest.distance}
    return say(text, share=worst.share, points=100 * worst.distance, **of)
