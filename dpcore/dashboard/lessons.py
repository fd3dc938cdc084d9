"""The guided lessons: a short tour through the pages, with preset controls in each step.

A lesson (`lessons.toml`) is a list of steps. A step opens a page and sets its controls. A card at
the foot of the window says what to do and what to look at. Nothing runs by itself: the card's
button starts the step's run, as the page's own button would, and then leads to the next step. A
lesson has its own data and its own ledger. When it ends, the earlier session is restored.
"""

import json
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpcore.dashboard import session
from dpcore.dashboard.assets import read_asset
from dpcore.dashboard.lesson_plans import LESSONS, LessonStep
from dpcore.dashboard.widgets import caption
from dpcore.language import say

PROGRESS, TAUGHT = "dpcore.lesson", "dpcore.taught"
GUIDE = read_asset("lesson_guide.js")
TO_TOP = "document.querySelector('[data-testid=stMain]').scrollTo({top: 0, behavior: 'instant'})"


@dataclass
class LessonProgress:
    """A lesson under way, and its current step.

    `runs_before` is the number of runs of this step's kind that had finished before the step began.
    """

    name: str
    number: int
    step: LessonStep
    runs_before: int

    @property
    def is_done(self) -> bool:
        """Return whether the step's run has finished; True for a step without a run."""
        return self.step.action is None or session.finished_runs().get(self.step.job, 0) > self.runs_before


def begin_lesson(name: str) -> None:
    """Start the lesson `name` on the bundled sample, with a new ledger. A button's callback."""
    session.set_session_aside()
    go_to_step(name, 0)


def go_to_step(name: str, number: int) -> None:
    """Open the page of a lesson step with the settings of that step only.

    `number` counts steps from 0. The page keeps its release.
    """
    step = LESSONS[name].steps[number]
    session.keep(PROGRESS, LessonProgress(name, number, step, session.finished_runs().get(step.job, 0)))
    session.drop(f"{step.page}.")
    apply_settings(step)
    st.session_state["dpcore.open"] = step.page


def apply_settings(step: LessonStep) -> None:
    """Set the controls of a lesson step's page as the step needs them, and open the step's tab."""
    for control, value in step.settings.items():
        session.preset(f"{step.page}.{control}", value)
    if step.tab:
        st.session_state[f"{step.page}.tab"] = step.tab


def request_run(job: str, what: str) -> None:
    """Request the run of the current lesson step, as its page's button would. A callback.

    `job` is the name of the run, and `what` says what the run is asked for. If there is no release
    to draw again, the page's own run is requested instead.
    """
    step: LessonStep = st.session_state[PROGRESS].step
    if job != step.page:  # a tab's own job: the tab must be open
        apply_settings(step)
    # No release to draw again.
    if job.endswith(".redraws") and session.current_release(step.page) is None:
        job, what = step.page, "run"
    session.request(job, what)


def end_lesson(name: str = "") -> None:
    """End the lesson and open the start page. A button's callback.

    `name` is that of a completed lesson, whose takeaways are shown next; empty if it was left
    early.
    """
    session.restore_session()
    if name:
        finished_lessons().add(name)
        st.session_state[TAUGHT] = name
    st.session_state["dpcore.open"] = "home"


def finished_lessons() -> set[str]:
    """Return the names of the lessons that were completed in this session."""
    return session.keep_once("dpcore.learned", set[str])


def draw_lesson_bar(page: str) -> None:
    """Draw the card of the current lesson step below the page `page`; nothing outside lessons.

    The card shows the lesson's title, the number of the step, its text and its buttons.
    """
    if page != "home":
        st.session_state.pop(TAUGHT, None)
    progress: LessonProgress | None = st.session_state.get(PROGRESS)
    if progress is None:
        return
    lesson, number, step = LESSONS[progress.name], progress.number + 1, progress.step
    here = page == step.page
    text = say(step.result if step.action and progress.is_done else step.text)
    if not here:
        text = say("This step of the lesson is on another page.")
    with st.bottom:
        st.html(guide_script(progress, here), unsafe_allow_javascript=True)
        with st.container(border=True, horizontal=True, vertical_alignment="center", key="lesson"):
            with st.container(gap=None):
                heading = say("step {number} of {all}", number=number, all=len(lesson.steps))
                title = f":material/school: **{say(lesson.title)}**"
                st.container(key="lesson-place").markdown(f":small[:blue[{title} · {heading}]]")
                st.markdown(text)
            with st.container(horizontal=True, width="content", gap="xsmall", wrap=False, key="lesson-ways"):
                draw_buttons(progress, here)


def draw_buttons(progress: LessonProgress, here: bool) -> None:
    """Draw the buttons of a lesson step: run or next, back, skip, end.

    `here` says whether the page of the step is shown. Otherwise the main button opens that page.
    """
    step, name, number, done = progress.step, progress.name, progress.number, progress.is_done
    rests, last = session.is_waiting(step.job), number == len(LESSONS[name].steps) - 1
    on: Any = ("next", "arrow_forward", go_to_step, name, number + 1)
    if last:
        on = ("end", "flag", end_lesson, name)
    if number and here:
        draw_button(say("Back"), "back", "arrow_back", go_to_step, name, number - 1, disabled=rests)
    if not here:
        draw_button(say("Go to this step"), "again", "arrow_forward", go_to_step, name, number, type="primary")
    elif done or step.action is None:
        draw_button(say("Finish the lesson") if last else say("Next"), *on, type="primary")
    else:
        # A late press does not count twice.
        key = f"do.{number}:{session.tickets().get(step.job, 0)}"
        given = step.action.icon, request_run, step.job, step.action.request
        draw_button(say(step.action.label), key, *given, type="primary", disabled=rests)
        draw_button(say("Skip this step"), *on, disabled=rests)
    if not (here and last and done):
        draw_button(say("End the lesson"), "leave", "close", end_lesson)


def draw_button(label: str, key: str, icon: str, call: Any, *given: Any, **style: Any) -> None:
    """Draw one button of the lesson card; on a phone only the main button shows its label.

    `call` is the callback, and `given` are its arguments.
    """
    style = {"type": "tertiary", "icon": f":material/{icon}:", "key": f"lesson.{key}"} | style
    st.button(label, on_click=call, args=given, **style)


def guide_script(progress: LessonProgress, here: bool) -> str:
    """Return the HTML script that scrolls the page to what the lesson step is about.

    `here` says whether the page of the step is shown. The script's
    first line differs for each
    state, because a browser runs each script only once.
    """
    step, done = progress.step, progress.is_done
    top, seek = here and (step.action is None or not done), here and done and bool(step.selector)
    given = f"const top = {json.dumps(top)}, seek = {json.dumps(seek)}, place = () => {target_expression(step)};"
    return f"<script>// {progress.name} {progress.number} {done} {here}\n{{{given}\n{GUIDE}}}</script>"


def target_expression(step: LessonStep) -> str:
    """Return the JavaScript expression for the first visible match of a step's selector."""
    return f"[...document.querySelectorAll(`{step.selector}`)].find(e => e.offsetParent)"


def finished_title() -> str | None:
    """Return the title of the lesson that was just completed, or None."""
    name = st.session_state.get(TAUGHT)
    return None if name is None else LESSONS[name].title


def draw_takeaways() -> None:
    """Draw the takeaways and the question of the completed lesson, and the next lesson's button."""
    name, names = st.session_state[TAUGHT], list(LESSONS)
    lesson = LESSONS[name]
    st.html(f"<script>{TO_TOP}</script>", unsafe_allow_javascript=True)
    with st.container(key="taught"):
        st.markdown("\n".join(f"{heading}. {say(text)}" for heading, text in enumerate(lesson.takeaways, 1)))
        asks = f":material/forum: {say('**To discuss in class:**')} {say(lesson.question)}"
        st.container(border=True).markdown(asks)
        caption("In the literature: {terms}", terms=say(lesson.literature))
    with st.container(horizontal=True):
        for following in names[names.index(name) + 1 :][:1]:
            label = say("Next lesson: {title}", title=say(LESSONS[following].title))
            draw_button(label, "following", "school", begin_lesson, following, type="primary")
        draw_button(say("Back to the start"), "home", "home", st.session_state.pop, TAUGHT, type="secondary")
