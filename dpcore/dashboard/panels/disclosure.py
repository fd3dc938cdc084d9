"""What anyone could learn of one person from a release: the limit by epsilon, and one attack.

The limit follows from epsilon alone, as a promise. The attack uses real rows, and its result must
not be published.
"""

import math
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.arguments import Progress
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import jobs
from dpcore.dashboard.session import ShownRelease
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption, figures, markdown
from dpcore.evaluate import disclosure
from dpcore.export import protection
from dpcore.export.artifacts import Model
from dpcore.export.release import Release
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.text import odds

FITS, TARGETS = 20, 400


def draw_attack(page: str, shown: ShownRelease) -> None:
    """Draw the limit of what anyone can learn of one person, and the result of one attack."""
    release, artifact, schema = shown.release, shown.release.artifact, shown.release.schema
    st.markdown(describe_limit(release))
    markdown(
        "**One attack.** Someone knows all columns of a row but one, and guesses that one from the "
        "release. The method runs {fits} times; random real rows take part in every other run.",
        fits=FITS,
    )
    if not shown.data.in_memory:
        st.info(say("Real rows of this release are in a folder; this attack needs them in memory."))
        return
    target, how = release.parameters.get("target") or schema.target, dict[str, Any]()
    names: list[Any] = [target]
    if not isinstance(artifact, Model):
        names = sorted(schema.names, key=lambda name: name != target)
        how = {"attack": disclosure.ATTACKS[1], "rows": len(release.synthetic)}
    sensitive: str = st.selectbox(say("Column the attacker guesses"), names, key=f"{page}.sensitive")
    name, key = f"{page}.learned", f"learned {sensitive!r}"
    jobs.run_button(say("Try the attack"), name, "go", icon=":material/person_search:")
    data, memory = shown.data, shown.memory

    def work(progress: Progress) -> None:
        method: Any = METHODS[release.method](**release.parameters)
        request = (method, data, schema, sensitive, TARGETS)
        memory[key] = disclosure.try_in_out(*request, fits=FITS, progress=progress, **how)

    jobs.run(phrase("Trying the attack"), name, work)
    if key in memory:
        draw_result(memory[key].iloc[0])


def describe_limit(release: Release) -> str:
    """Return sentences: how much any attack on a person can gain, or why there is no limit."""
    epsilon, unit = release.ledger.epsilon_bound, release.schema.unit
    if math.isinf(epsilon):
        return say("**There is no limit to any attack.** {why}", why=escape(release.guarantee_void))
    without = phrase("if this row or person had had other values")
    if release.ledger.relation == "add_remove":
        without = phrase("if this row or person had not taken part")
    text = say(
        "**The limit: {points} percentage points.** The release helps anyone who sees it to guess "
        "right about a {whose} at most that much more often than {alternative}. The "
        "limit follows from epsilon {epsilon} alone, and holds for every attack.",
        points=limit_points(epsilon),
        whose=say(protection.protects(unit)),
        alternative=say(without),
        epsilon=escape(protection.headline(unit, epsilon, release.ledger.delta)),
    )
    if not release.ledger.delta:
        half = phrase(" This is about twice the gain of someone who was 50:50 unsure: from 50 to {sure} in 100.")
        text += say(half, sure=f"{100 * odds(epsilon):.4g}")
    if unit is not None and unit.id_column is None:
        more = limit_points(protection.of_one(unit, epsilon, release.ledger.delta))
        words = phrase(" For a person with {rows:,} rows the limit is {points} percentage points.")
        text += say(words, rows=unit.max_contributions, points=more)
    return f"{text} {release.attackable}".strip()


def limit_points(epsilon: float) -> str:
    """Return the most that an attack can gain at this epsilon, in percentage points, rounded up."""
    return f"{math.ceil(1000 * math.tanh(epsilon / 2) - 1e-9) / 10:g}"


def draw_result(found: pd.Series) -> None:
    """Draw how often the attack guessed right, and its gain beside the limit.

    `found` is the line of `disclosure.try_in_out` for this attack.
    """
    bound = found["epsilon_bound"]
    texts = {
        say("Guessed right if the row took part"): f"{found['correct_in']:.1%}",
        say("Guessed right if the row did not take part"): f"{found['correct_out']:.1%}",
        say("Difference by participation, in percentage points"): f"{100 * found['advantage']:+.1f}",
        say("Limit of difference, in percentage points"): limit_points(bound) if math.isfinite(bound) else say("none"),
    }
    figures(texts)
    markdown(
        "The difference is between {low:+.1f} and {high:+.1f} percentage points ({sure:.0%} confidence). "
        "Another attack, or another row, may gain more: only the limit holds for all.",
        low=100 * found["low"],
        high=100 * found["high"],
        sure=found["confidence"],
    )
    caption(
        "{mark}. Computed from real rows without protection. The releases of these runs are thrown "
        "away and never shown, so nothing was charged for them.",
        mark=say(REAL_DATA),
    )
