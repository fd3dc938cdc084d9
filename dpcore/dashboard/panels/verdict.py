"""What a release kept and lost, and whom it serves worst, in sentences."""

from dpcore.dashboard.shell import escaped
from dpcore.evaluate.verdict import CLOSE, Verdict
from dpcore.language import phrase, say

MOST_NAMED = 3  # pairs


def kept(found: Verdict) -> str:
    """How many columns and pairs are close to the real ones."""
    of = {"close": found.close_columns, "columns": found.columns, "points": f"{CLOSE * 100:.0f}"}
    if not found.pairs:
        return say("**Kept:** {close:,} of {columns:,} columns are within {points} points of the real rows.", **of)
    return say(
        "**Kept:** {close:,} of {columns:,} columns and {close_pairs:,} of {pairs:,} pairs are within {points} "
        "points of the real rows.",
        close_pairs=found.close_pairs,
        pairs=found.pairs,
        **of,
    )


def lost_relations(found: Verdict) -> str:
    """Which columns depend on each other in the real data, and hardly in the synthetic data."""
    if not found.ties:
        return say("In the real data no two columns depend on each other strongly.")
    if not found.lost:
        return say(
            "Where columns depend on each other in the real data, at least half of that is left in the synthetic data."
        )
    names = ", ".join(f"{escaped(tie.first)} × {escaped(tie.second)}" for tie in found.lost[:MOST_NAMED])
    if len(found.lost) > MOST_NAMED:
        names = say("{names} and {more:,} more", names=names, more=len(found.lost) - MOST_NAMED)
    told = phrase(
        "**Lost:** {names}. In the real data these columns depend on each other, in the synthetic data hardly."
    )
    return say(told, names=names)


def served_worst(found: Verdict) -> str:
    """Whose rows are furthest off, beside the largest group of the same column."""
    worst, largest = found.worst, found.largest
    if worst is None:
        return ""
    of = {"column": escaped(worst.column), "value": escaped(worst.value), "share": worst.share}
    if worst.distance == 1:
        told = say("Rows with {column} = {value} ({share:.1%} of all) are missing.", **of)
    else:
        told = say(
            "Rows with {column} = {value} ({share:.1%} of all): their shares in other columns are off by {points} "
            "percentage points on average.",
            points=f"{worst.distance * 100:.0f}",
            **of,
        )
    if largest is None or largest.value == worst.value:
        return told
    others = say(
        "Those with {value}: by {points}.", value=escaped(largest.value), points=f"{largest.distance * 100:.0f}"
    )
    return f"{told} {others}"
