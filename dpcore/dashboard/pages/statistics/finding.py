"""The tab Does the finding survive?: a difference of two groups against its errors, by epsilon."""

import streamlit as st

from dpcore import charts
from dpcore.charts.answers import format_answer
from dpcore.dashboard import panels
from dpcore.dashboard.epsilon import EPSILONS
from dpcore.dashboard.pages.statistics.answers import real_answers
from dpcore.dashboard.session import ShownRelease
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption, markdown, number_choice
from dpcore.evaluate.answers import differences
from dpcore.export.artifacts import Answers
from dpcore.language import phrase, say
from dpcore.text import number


def draw_finding(page: str, shown: ShownRelease) -> None:
    """Draw a difference at two epsilons, and from which epsilon on it stands out."""
    release, epsilon = shown.release, float(shown.release.parameters["epsilon"])
    answers = release.artifact_as(Answers).answers
    if not (found := differences(answers, epsilon, release.ledger.delta)):
        st.info(say("Choose a difference of two means, or a mean or share for each of two values."))
        return
    name, *more = found
    *first, middle, last = st.columns(3 if more else 2, gap="medium", vertical_alignment="bottom")
    for column in first:
        name = column.selectbox(say("Finding"), [*found], key=f"{page}.finding")
    one, values = found[name], {"name": escape(name)}
    for key in ("value", "sampling"):
        values[key] = format_answer(getattr(one, key), one.unit, one.sampling)
    clear = [step for step in EPSILONS if one.stands_out(step)]
    text = phrase("**{name} = {value}.** It does not stand out: sampling alone gives ± {sampling}.")
    if clear:
        text = phrase("**{name} = {value}.** It stands out of noise and sampling from epsilon **{enough}** on.")
    markdown(text, enough=number(min(clear, default=0.0)), **values)
    usual = max((step for step in EPSILONS if step not in clear), default=EPSILONS[0])
    label, key = say("At another epsilon"), f"{page}.other"
    with middle:
        other = number_choice(st.select_slider, label, key, EPSILONS, usual=usual)
    is_real = last.toggle(say("⚠ Show the real difference"), key=f"{page}.real_difference")
    real = real_answers(page, shown) if is_real else None
    frame = one.at_epsilons((epsilon, other), real)
    panels.real(charts.answers, frame, private=real is not None, title=name, zero=True)
    caption("This follows from the release alone. A new run would draw another difference.")
