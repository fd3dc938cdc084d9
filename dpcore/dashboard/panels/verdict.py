"""What a release kept and lost, and who pays, in words."""

from dpcore.charts.base import REAL_DATA
from dpcore.dashboard.shell import escaped
from dpcore.evaluate.verdict import CLOSE, Verdict
from dpcore.language import phrase, say

MOST_NAMED = 3  # pairs
UNEVEN = 1.5  # times as far off as the largest group: who pays more


def judged(found: Verdict) -> str:
    """A verdict in sentences: what was kept, what was lost, and who pays."""
    of = {"close": found.close_columns, "columns": found.columns, "points": f"{CLOSE * 100:.0f}"}
    if found.pairs:
        kept = say(
            "**Kept:** {close:,} of {columns:,} columns and {close_pairs:,} of {pairs:,} pairs are within {points} "
            "points of the real rows.",
            close_pairs=found.close_pairs,
            pairs=found.pairs,
            **of,
        )
    else:
        kept = say("**Kept:** {close:,} of {columns:,} columns are within {points} points of the real rows.", **of)
    told = [kept]
    if found.lost:
        names = ", ".join(f"{escaped(tie.first)} × {escaped(tie.second)}" for tie in found.lost[:MOST_NAMED])
        if len(found.lost) > MOST_NAMED:
            names = say("{names} and {more:,} more", names=names, more=len(found.lost) - MOST_NAMED)
        lost = phrase("**Lost:** {names}: in the real rows one tells of the other, here less than half as much.")
        told.append(say(lost, names=names))
    worst, largest = found.worst, found.largest
    if worst is not None and largest is not None and worst.distance > UNEVEN * largest.distance:
        of = {"column": escaped(worst.column), "value": escaped(worst.value), "share": worst.share}
        of |= {"largest": escaped(largest.value), "less": f"{largest.distance * 100:.0f}"}
        if worst.distance == 1:
            pays = say(
                "**Who pays:** rows with {column} = {value} ({share:.1%} of all) are missing, those with {largest} by "
                "{less}.",
                **of,
            )
        else:
            pays = say(
                "**Who pays:** rows with {column} = {value} ({share:.1%} of all) are off by {points} points in mean, "
                "those with {largest} by {less}.",
                points=f"{worst.distance * 100:.0f}",
                **of,
            )
        told.append(pays)
    return f"{' '.join(told)} ({say(REAL_DATA)})"
