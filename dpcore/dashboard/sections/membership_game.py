"""The membership game: is X in the table? A coin decides, a release is shown, and players guess. No real data.

The release is a count with whole-number noise: of all releases with that epsilon none gives its world away more often,
so that whoever plays well is right in e^epsilon / (1 + e^epsilon) of all rounds.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from scipy.stats import binom

from dpcore import charts
from dpcore.dashboard import links, panels, session
from dpcore.dashboard.sections.histogram_pair import interval
from dpcore.dashboard.widgets import choice, number_choice
from dpcore.datasets import Dataset

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0)
PEOPLE = {"A": "yes", "B": "no", "C": "yes", "D": "no", "E": "yes"}
COUNT = sum(ill == "yes" for ill in PEOPLE.values())
ASKED, AUTO, SHARE = 9, 100, 1e-2
RELEASES = {
    "corrected": "Corrected: one answer, and it is paid for",
    "paper": f"As some papers print it: {ASKED} answers, paid for as one",
}
PLAYERS, BEST = "players", "best strategy"
STATE = "dpcore.guessing"


@dataclass(frozen=True)
class Rules:
    """What is claimed, and whether it is true."""

    epsilon: float
    mode: str = "corrected"

    @property
    def asked(self) -> int:
        """How often the table is asked."""
        return 1 if self.mode == "corrected" else ASKED

    @property
    def number(self) -> str:
        """What players look at."""
        return "Noisy number of ill people" if self.asked == 1 else f"Answers above {COUNT}, of {ASKED}"


@dataclass(frozen=True)
class Round:
    """One round: the rules, what the coin said, and what was released."""

    rules: Rules
    inside: bool
    answers: tuple[int, ...]

    @property
    def number(self) -> int:
        """What players look at: the answer, or how many of several lie above the count without X."""
        return self.answers[0] if len(self.answers) == 1 else sum(answer > COUNT for answer in self.answers)

    @property
    def best(self) -> bool:
        """What the best strategy says: that world which makes the answers likelier."""
        return self.number > (COUNT if len(self.answers) == 1 else ASKED // 2)


@dataclass
class Game:
    """What was played: the round on the table, the guess if there was one, and rounds and hits by rules and player."""

    round: Round | None = None
    guess: bool | None = None
    scores: dict[tuple[Rules, str], tuple[int, int]] = field(default_factory=dict)

    def begin(self, rules: Rules) -> None:
        """Deal; this and what follows are callbacks of buttons."""
        self.round, self.guess = deal(rules, lots()), None

    def vote(self, inside: bool) -> None:
        """Guess, once per round."""
        if self.round is not None and self.guess is None:
            self.guess = inside
            self.count(self.round.rules, PLAYERS, int(inside == self.round.inside))

    def let_play(self, rules: Rules) -> None:
        """The best strategy plays."""
        self.count(rules, BEST, autoplay(rules, AUTO, lots()), AUTO)

    def count(self, rules: Rules, who: str, right: int, rounds: int = 1) -> None:
        """Write down rounds and how many of them were guessed right."""
        before = self.scores.get((rules, who), (0, 0))
        self.scores[rules, who] = (before[0] + right, before[1] + rounds)


def lots() -> np.random.Generator:
    """Fresh randomness."""
    return np.random.default_rng()


def deal(rules: Rules, rng: np.random.Generator) -> Round:
    """A new round: a coin, and answers with whole-number noise of scale 1 / epsilon each."""
    inside = bool(rng.random() < 0.5)
    noise = np.subtract(*rng.geometric(-math.expm1(-rules.epsilon), (2, rules.asked)))
    return Round(rules, inside, tuple(int(value) + COUNT + inside for value in noise))


def autoplay(rules: Rules, rounds: int, rng: np.random.Generator) -> int:
    """How many of so many rounds the best strategy guesses right."""
    return sum(one.best == one.inside for one in (deal(rules, rng) for _ in range(rounds)))


def best_share(rules: Rules) -> float:
    """How often the best strategy is right."""
    sure = charts.odds(rules.epsilon)
    return sure if rules.asked == 1 else float(binom.sf(ASKED // 2, ASKED, sure))


def chances(rules: Rules) -> pd.DataFrame:
    """How probable every number is without X and with: columns number, without, with."""
    sure = charts.odds(rules.epsilon)
    if rules.asked > 1:
        number = np.arange(ASKED + 1)
        worlds = [binom.pmf(number, ASKED, share) for share in (1 - sure, sure)]
    else:
        reach = min(math.ceil(-math.log(SHARE) / rules.epsilon), 25)
        number = np.arange(COUNT - reach, COUNT + 2 + reach)
        worlds = [(2 * sure - 1) * np.exp(-rules.epsilon * abs(number - COUNT - inside)) for inside in (0, 1)]
    return pd.DataFrame({"number": number, "without": worlds[0], "with": worlds[1]})


@st.fragment
def game(page: str, data: Dataset) -> None:
    """Rules, a round, and the scores."""
    st.markdown(
        "**Is X in the table?** A hidden coin puts X in, or leaves X out. Then the number of ill people is "
        "released with noise, and you guess. Everything is invented: nothing is charged."
    )
    left, right = st.columns([3, 2], gap="large")
    with left, links.of(page, data, "game"):
        label = "Epsilon that is claimed"
        epsilon = number_choice(st.select_slider, label, f"{page}.game.epsilon", EPSILONS, value=1.0)
        mode = choice(st.radio, "What is released", f"{page}.game.mode", RELEASES)
    rules = Rules(epsilon, mode)
    with right:
        ill = ["yes", *PEOPLE.values()]
        people = pd.DataFrame({"person": ["X", *PEOPLE], "ill": ill, "in the table": ["?", *["yes"] * len(PEOPLE)]})
        st.dataframe(people, hide_index=True, height="content")
        st.caption(f"{COUNT} ill people without X, {COUNT + 1} with X. Everybody knows this table but for the coin.")
    playing = session.kept(STATE, Game)
    with left:  # beside the table, so that the number, the guess and the result are on one screen
        play(page, rules, playing)
    shown, at = (playing.round.rules, float(playing.round.number)) if playing.round else (rules, None)
    panels.chart(charts.round_worlds(chances(shown), at=at, number=shown.number))
    st.divider()
    scores(page, rules, playing)


def play(page: str, rules: Rules, playing: Game) -> None:
    """The round on the table, but for its picture."""
    opened = playing.round is not None and playing.guess is None
    title, rest, voting = "Next round" if playing.round else "Start a round", "primary", "secondary"
    if opened:
        rest, voting = voting, rest
    look: Any = {"type": rest, "icon": ":material/casino:", "width": "stretch"}
    first, second, third = st.columns(3, gap="small")
    first.button(title, key=f"{page}.game.deal", on_click=playing.begin, args=(rules,), **look)
    look = {"type": voting, "disabled": not opened, "on_click": playing.vote, "width": "stretch"}
    second.button("X is in", key=f"{page}.game.in", args=(True,), **look)
    third.button("X is out", key=f"{page}.game.out", args=(False,), **look)
    if playing.round is not None:
        result(playing.round, playing.guess)
        if playing.round.rules != rules:
            st.caption("The settings were changed since: the next round has them.")


def result(one: Round, guess: bool | None) -> None:
    """What was released, and after the guess the truth."""
    with st.container(border=True, gap="xsmall"):
        if len(one.answers) == 1:
            st.markdown(f"### Released: {one.number} ill people")
        else:
            said = ", ".join(str(answer) for answer in one.answers)
            st.markdown(f"### Released: {said}")
            st.markdown(f"{one.number} of {ASKED} answers are above {COUNT}.")
        if guess is None:
            st.markdown("### In or out?")
            return
        right = guess == one.inside
        icon = ":green[:material/check_circle: Right]" if right else ":red[:material/cancel: Wrong]"
        st.markdown(f"## {icon}: X is {'in' if one.inside else 'out'}")
        if guess != one.best:
            st.caption(f"The other guess would have been the likelier one: {'in' if one.best else 'out'}.")


def scores(page: str, rules: Rules, playing: Game) -> None:
    """How often guesses were right, beside what epsilon allows."""
    limit, best = charts.odds(rules.epsilon), best_share(rules)
    st.subheader("Scores")
    held = f"If epsilon {rules.epsilon:g} is true, nobody is right in more than **{100 * limit:.1f} %** of all rounds "
    held += "in the long run"
    if rules.asked == 1:
        st.markdown(f"{held}, however clever. The best strategy reaches exactly that.")
    else:
        st.markdown(
            f"{held}. It is not: {ASKED} answers cost {ASKED} × {rules.epsilon:g} = **{ASKED * rules.epsilon:g}**, and "
            f"the best strategy is right in **{100 * best:.1f} %**."
        )
    left, right = st.columns(2, gap="medium")
    look: Any = {"on_click": playing.let_play, "args": (rules,), "icon": ":material/smart_toy:", "width": "stretch"}
    left.button(f"Let the best strategy play {AUTO} rounds", key=f"{page}.game.auto", **look)
    right.button(
        "Forget all scores", key=f"{page}.game.reset", on_click=st.session_state.pop, args=(STATE,), width="stretch"
    )
    found = score_frame(playing)
    if len(found):
        marks = pd.DataFrame({"epsilon": EPSILONS, "share": [charts.odds(epsilon) for epsilon in EPSILONS]})
        told = found.assign(release=found["mode"].map({"corrected": "corrected", "paper": "as printed"}))
        for name in ("share", "low", "high", "allowed"):
            told[name] = [f"{100 * value:.1f} %" for value in told[name]]
        st.dataframe(
            told[["who", "release", "epsilon", "rounds", "right", "share", "low", "high", "allowed"]], hide_index=True
        )
        st.caption("Low and high: a 95 % interval (Clopper and Pearson). Allowed: the most that epsilon allows.")
        panels.chart(charts.game_scores(found.assign(honest=found["mode"] == "corrected"), limit=marks))
    st.caption(
        "**Low scores prove nothing.** That nobody guessed well here says that these players, with this one number, "
        "did not; another release of the same table, or a cleverer attack, may tell more. Only the proof bounds "
        "them all. Assumed: one person is added or removed, pure epsilon, a fair coin, and one release per round."
    )


def score_frame(playing: Game) -> pd.DataFrame:
    """One row per rules and player."""
    rows = []
    for (rules, who), (right, rounds) in playing.scores.items():
        low, high = interval(np.array([float(right)]), rounds)
        rows.append((who, rules.mode, rules.epsilon, rounds, right, right / rounds, low[0], high[0]))
    names = ["who", "mode", "epsilon", "rounds", "right", "share", "low", "high"]
    found = pd.DataFrame(rows, columns=names).sort_values(["epsilon", "mode", "who"], kind="stable")
    return found.assign(allowed=[charts.odds(epsilon) for epsilon in found["epsilon"]])
