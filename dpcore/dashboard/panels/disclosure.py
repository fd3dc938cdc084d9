"""What somebody who holds a release could still learn of one person: the limit by epsilon, and an attack beside it.

The limit is a promise and follows from epsilon alone. The attack is tried on real rows: it is for the eyes only.
"""

import math
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.arguments import Progress
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import jobs
from dpcore.dashboard.session import Shown
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption, figures, markdown
from dpcore.datasets import Dataset
from dpcore.evaluate import disclosure
from dpcore.export import protection
from dpcore.export.model_file import Model
from dpcore.export.release import Release
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.text import odds

FITS, TARGETS = 20, 400
LEARNS, LOOKS = phrase("learns from the release ({model})"), phrase("looks for rows that agree in all other columns")
NO_DISTANCE = phrase("""
Many programs measure how far synthetic rows are from the nearest real ones, and call far private. That looks safe, and
is not:

- **It promises nothing.** Add 1 to every number of a real table: no row is a copy any more, and all can be read.
- **It passes what memorizes in other ways.** A count of one person, a rare combination or a model can give someone
  away, and no row of the release is near theirs.
- **It accuses the harmless.** Where many people are alike, rows that were made without one of them are near that one,
  too.
- **It is not private itself.** It is computed from the real rows without noise. Anyone who sees it for a few releases
  can tell where real rows are.

A limit that holds for every attack is a guarantee; a score that one attack fails is not.
""")


def learned(page: str, shown: Shown) -> None:
    """The limit, the attack, and why there is no score of distances."""
    release = shown.release
    st.markdown(limit(release))
    markdown(
        "**One attack.** Someone {knows}. How often is the guess right? The method runs {fits} times with these "
        "settings; real rows chosen at random take part in every other run. Only the difference comes from that.",
        knows=known(release),
        fits=FITS,
    )
    if not shown.data.held:
        st.info(say("Real rows of this release are in a folder; this attack needs them in memory, and is not tried."))
        why_no_score()
        return
    sensitive, attack = asked(page, release)
    name, key = f"{page}.learned", f"learned {sensitive!r} {attack}"
    jobs.button(say("Try the attack"), name, "go", icon=":material/person_search:")
    data = shown.data

    def work(progress: Progress) -> None:
        shown.memory[key] = tried(release, data, sensitive, attack, progress)

    jobs.run(phrase("Trying the attack"), name, work)
    if (found := shown.memory.get(key)) is not None:
        result(found.iloc[0], escaped(sensitive))
    why_no_score()


def why_no_score() -> None:
    """What distances to real rows do not tell."""
    with st.expander(say("Why there is no score of distances to real rows")):
        markdown(NO_DISTANCE)


def limit(release: Release) -> str:
    """What no attack can gain, in sentences; why there is no limit, where there is none."""
    epsilon, unit = release.ledger.epsilon_bound, release.schema.unit
    if math.isinf(epsilon):
        return say("**There is no limit.** {why}", why=escaped(release.guarantee_void))
    if release.ledger.relation == "add_remove":
        text = phrase(
            "**The limit: {points} percentage points.** Anyone who sees the release, whatever else they know, "
            "guesses right about a {whose} at most that much more often than if this {whose} had not taken part. It "
            "follows from epsilon {epsilon} alone, and holds for every attack."
        )
    else:
        text = phrase(
            "**The limit: {points} percentage points.** Anyone who sees the release, whatever else they know, "
            "guesses right about a {whose} at most that much more often than if this {whose} had had other values. "
            "It follows from epsilon {epsilon} alone, and holds for every attack."
        )
    whose, price = say(protection.protects(unit)), escaped(protection.headline(unit, epsilon, release.ledger.delta))
    text = say(text, points=points(epsilon), whose=whose, epsilon=price)
    if not release.ledger.delta:
        half = phrase(" That is twice what someone gains who was 50:50 unsure: from 50 to {sure} in 100.")
        text += say(half, sure=f"{100 * odds(epsilon):.4g}")
    if unit is not None and unit.id_column is None:
        more = phrase(" For a person with {rows:,} rows the limit is {points} points.")
        text += say(
            more, rows=unit.max_contributions, points=points(protection.of_one(unit, epsilon, release.ledger.delta))
        )
    return f"{text} {release.attackable}".strip()


def points(epsilon: float) -> str:
    """The most that an attack can gain, in percentage points, never rounded down."""
    return f"{math.ceil(1000 * math.tanh(epsilon / 2) - 1e-9) / 10:g}"


def known(release: Release) -> str:
    """What the attacker knows and does."""
    if isinstance(release.artifact, Model):
        target = escaped(release.artifact.target)
        return say("knows all of a row but **{target}**, and takes what the released model predicts", target=target)
    return say("knows all columns of a row but one, holds the release, and guesses that one")


def asked(page: str, release: Release) -> tuple[str, str]:
    """What is guessed, and how."""
    if isinstance(release.artifact, Model):
        return release.artifact.target, disclosure.OWN_ANSWER
    names, likely = list(release.schema.names), release.parameters.get("target") or release.schema.target
    left, right = st.columns(2)
    first = names.index(likely) if likely in names else len(names) - 1
    note = say("Numbers are guessed as the bin that they are in.")
    sensitive: str = left.selectbox(say("What is guessed"), names, index=first, key=f"{page}.sensitive", help=note)
    how = {name: say(LEARNS, model=say(name)) for name in disclosure.ATTACKS} | {disclosure.MATCH: say(LOOKS)}
    attack: str = right.selectbox(
        say("How: the attacker"), list(how), index=1, format_func=how.__getitem__, key=f"{page}.attack"
    )
    return sensitive, attack


def tried(release: Release, data: Dataset, sensitive: str, attack: str, progress: Progress) -> pd.DataFrame:
    """`in_out_advantage` of the method that made the release; these runs are for the screen, and never released."""
    method: Any = METHODS[release.method](**release.parameters)
    how: dict[str, Any] = (
        {} if isinstance(release.artifact, Model) else {"attack": attack, "rows": len(release.synthetic)}
    )
    return disclosure.tried(method, data, release.schema, sensitive, TARGETS, fits=FITS, progress=progress, **how)


def result(found: Any, sensitive: str) -> None:
    """What the attack gained, beside its limit."""
    proved = found["epsilon_bound"]
    text = {
        say("Right if the row took part"): f"{found['correct_in']:.1%}",
        say("Right if it did not"): f"{found['correct_out']:.1%}",
        say("Difference, in points"): signed(found["advantage"]),
        say("Limit, in points"): points(proved) if math.isfinite(proved) else say("none"),
    }
    figures(text)
    markdown(
        "About **{column}** of {rows:,} rows. The difference is between {low} and {high} points ({sure:.0%} "
        "confidence, from {fits} random runs). A small difference proves nothing: another attack, or another row, "
        "may gain more. Only the limit holds for all of them.",
        column=sensitive,
        rows=found["targets"],
        low=signed(found["low"]),
        high=signed(found["high"]),
        sure=found["confidence"],
        fits=found["fits"],
    )
    caption(
        "For your eyes only: computed from real rows without protection. {mark}. Never publish these rates. The "
        "releases of these runs are thrown away and never shown, so nothing was charged for them.",
        mark=say(REAL_DATA),
    )


def signed(share: float) -> str:
    """A difference of shares, in percentage points."""
    return f"{100 * share:+.1f}".replace("-", "−")
