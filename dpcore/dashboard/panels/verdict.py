"""Tiles that tell what a release kept and lost, and which group it serves worst."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import islice

from dpcore.dashboard.shell import escape
from dpcore.evaluate.distances import CLOSE, Center, Fidelity, Group
from dpcore.language import phrase, say

MOST_NAMED, LEAST = 3, 0.005  # names in a list; least distance of the worst group
CENTER = phrase(
    "The median of {column} is {released_median} in the release, and {share_below:.0%} of the real rows lie below it. "
    "Its mean is {released_mean} in the release and {real_mean} in the real rows."
)
Tile = tuple[str, str, str]  # label, value, and what it means


def verdict_tiles(found: Fidelity) -> list[Tile]:
    """Return tiles for close columns, kept relations, and the group that is served worst.

    A relation is the dependence of two columns. A group is the rows with one value of a column; it
    is served worst if its other columns are furthest from the real ones.
    """
    kept = f"{found.ties - len(found.lost_ties):,}/{found.ties:,}" if found.ties else say("no related columns")
    tiles = [
        close_columns_tile(found.close_columns, found.columns),
        (say("⚠ Column relations kept"), kept, describe_lost_relations(found)),
    ]
    if found.worst is not None and found.largest is not None and found.worst.distance >= LEAST:
        group = f"{escape(found.worst.column)} = {escape(str(found.worst.value))}"
        tiles.append((say("⚠ Worst-served group"), group, describe_served_worst(found.worst, found.largest)))
    return tiles


def close_columns_tile(close: int, columns: int) -> Tile:
    """Return a tile for the number of columns that are close to the real ones.

    `close` of all `columns` are close.
    """
    text = say("Columns off by at most {points:.0f} percentage points, and no median far off.", points=100 * CLOSE)
    return say("⚠ Columns close to real"), f"{close:,}/{columns:,}", text


def column_names(found: Sequence[Center]) -> str:
    """Return the names of the first three columns as text, with "…" if there are more."""
    return ", ".join(escape(one.column) for one in found[:MOST_NAMED]) + " …" * (len(found) > MOST_NAMED)


def describe_centers(found: Iterable[Center]) -> str:
    """Return sentences on the means and medians of columns, released and real."""
    parts = (asdict(one) | {"column": escape(one.column)} for one in islice(found, MOST_NAMED))
    return " ".join(say(CENTER, **part) for part in parts)


def describe_lost_relations(found: Fidelity) -> str:
    """Return sentences on kept relations, and the first pairs of columns that lost theirs."""
    text = say("Pairs of columns that keep at least half of their relation in the real rows.")
    if not found.lost_ties:
        return text
    first = found.lost_ties[:MOST_NAMED]
    names = ", ".join(f"{escape(tie.first)} × {escape(tie.second)}" for tie in first)
    more = " …" * (len(found.lost_ties) > MOST_NAMED)
    return f"{text} {say('**Relations lost:** {names}.', names=names + more)}"


def describe_served_worst(worst: Group, largest: Group) -> str:
    """Return sentences: how far off the worst group's rows are, and those of the largest group.

    A group is the rows with one value of a column. Off are the shares of values in its other
    columns.
    """
    text = phrase(
        "Rows with this value ({share:.1%} of all): their shares in other columns are off by "
        "{points:.0f} points on average. The largest group, {largest}: by {others:.0f}."
    )
    if worst.distance == 1:
        text = phrase("Rows with this value ({share:.1%} of all) are missing from the release.")
    of = {"largest": escape(largest.value), "others": 100 * largest.distance}
    return say(text, share=worst.share, points=100 * worst.distance, **of)
