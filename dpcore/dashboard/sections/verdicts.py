"""What an audit came to: the verdict in large letters, three charts, and how to read them."""

import math
from dataclasses import dataclass

import streamlit as st

from dpcore import charts
from dpcore.audit.cases import Case, Twins
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import panels
from dpcore.dashboard.sections.histogram_pair import piled


@dataclass(frozen=True, eq=False)
class Done:
    """What was found, and how many seconds it took."""

    twins: Twins
    seconds: float


def at_least(epsilon: float) -> str:
    """A lower bound for people: never rounded up."""
    return f"{math.floor(1000 * epsilon) / 1000:g}"


def headline(case: Case, done: Done) -> None:
    """The verdict, and the epsilons that it compares."""
    result = done.twins.result
    verdict(case, done.twins)
    cells = st.columns(4)
    cells[0].metric("Epsilon claimed", panels.told(result.claimed), border=True)
    cells[1].metric("Epsilon proved", panels.told(result.bound), border=True)
    cells[2].metric("At least, by this attack", at_least(result.lower_bound), border=True)
    cells[3].metric("Runs in each world", f"{result.trials:,}", border=True)
    st.caption(f"Took {done.seconds:.1f} seconds. Another {result.trials:,} runs would give other numbers, a little.")


def pictures(page: str, case: Case, done: Done, *, real: bool = False) -> None:
    """What is behind a verdict; `real` if it was made from a person's own rows."""
    twins, result = done.twins, done.twins.result
    mark = charts.mark_real if real else (lambda chart: chart)
    event = twins.event
    panels.chart(mark(charts.known_epsilon(lower=result.lower_bound, claimed=result.claimed, proved=result.bound)))
    piles = piled(twins.first, twins.second, event.threshold, above=event.above)
    logarithmic = st.toggle("Logarithmic heights, to see rare answers", key=f"{page}.log", persist_state="session")
    picture = charts.world_piles(
        piles.frame,
        runs=result.trials,
        number=case.looks_at,
        threshold=event.threshold,
        edge=piles.edge,
        above=event.above,
        hits=event.hits,
        counted=event.counted,
        logarithmic=logarithmic,
    )
    panels.chart(mark(picture))
    ratios = charts.world_ratios(piles.frame, number=case.looks_at, claimed=result.claimed, proved=result.bound)
    panels.chart(mark(ratios))
    st.caption(
        "All runs are drawn; the outermost bars also hold what lies beyond. Every bar has its own 95 % interval, so "
        "that of many bars some leave a band by luck: the verdict rests on the one event, which was chosen on other "
        "runs than those that count." + (f" {piles.lost:,} runs gave no number and are left out." if piles.lost else "")
    )
    panels.table_behind(piles.frame, "The numbers behind these charts" + (f". {REAL_DATA}" if real else ""))


def verdict(case: Case, twins: Twins) -> None:
    """The verdict, to be read from the last row."""
    result = twins.result
    least, claimed, what = at_least(result.lower_bound), panels.told(result.claimed), "this run costs"
    if case.step:
        what = "what is attacked costs"
    sure = f"with {100 * result.confidence:.0f} % confidence"
    with st.container(border=True):
        if twins.verdict == "caught":
            st.markdown("# :red[:material/gavel: Caught]")
            st.markdown(f"### With {sure[5:]}, {what} at least epsilon {least}, and {claimed} is claimed.")
            if result.lower_bound > result.bound:
                st.markdown(
                    f"It is even more than what is proved, {panels.told(result.bound)}. Either this is one of the 5 in "
                    "100 false alarms (run it again), or the proof or the program is wrong."
                )
        elif twins.verdict == "not caught":
            st.markdown("# :blue[:material/help: Not caught, which proves nothing]")
            found = (
                f"{sure.capitalize()} at least epsilon {least}, by this attack"
                if result.lower_bound
                else "This attack shows nothing"
            )
            st.markdown(f"### {found}; {claimed} is claimed. Another attack might show more.")
            if result.bound > result.claimed:
                st.markdown(
                    "All the same, the claim has no proof for these neighbors: what can be proved is "
                    + (f"epsilon {panels.told(result.bound)}." if math.isfinite(result.bound) else "no epsilon at all.")
                )
            else:
                st.markdown(
                    "What protects people is the proof: every question that is asked of the rows is paid for, "
                    f"together {panels.told(result.bound)}."
                )
        else:
            st.markdown("# :orange[:material/info: No claim to refute]")
            st.markdown(f"### The source claims no epsilon; {sure}, at least {least} is leaked.")


def explained() -> None:
    """How to read the page, a sentence each."""
    with st.expander("How to read this"):
        st.markdown(
            "- **Two worlds:** two tables that differ in one person’s row; whoever cannot tell which of them was used "
            "learns nothing that hangs on that person’s row.\n"
            "- **The event:** the attacker says “world B” (or A) whenever a run’s number is beyond a threshold. Half "
            "of the runs choose the threshold that promises most; only the other half counts, so that the choice is "
            "free.\n"
            "- **The lower bound:** counts are luck, so Clopper and Pearson’s bounds take the smaller frequency as "
            "high and the larger one as low as the counts allow with 95 % confidence; the logarithm of their ratio is "
            "an epsilon that the run really costs, or more.\n"
            "- **False alarms:** of 100 audits of methods that keep their claim, up to 5 say “caught” by mistake. Who "
            "audits until one says so has proved nothing.\n"
            "- **Not caught proves nothing:** other tables, another number, or more runs might show more. Only a proof "
            "holds for all of them."
        )
