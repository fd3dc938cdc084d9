"""The guided lessons: short tours of the pages, with the settings of each step preset.

A lesson (`lessons.toml`) is a list of steps. A step opens a page at its top, sets its controls,
and shows at the foot of the window what to do and what to see. Nothing runs by itself. The card's
one button starts the step's run, as the page's own button would, scrolls to what the text names,
and then leads on. A lesson has its own data and ledger. At its end the session is restored.
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

COURSE, TAUGHT = "dpcore.lesson", "dpcore.taught"
GUIDE = read_asset("lesson_guide.js")
TO_TOP = "document.querySelector('[data-testid=stMain]').scrollTo({top: 0, behavior: 'instant'})"


@dataclass
class Course:
    """A lesson that is in progress: its step, and how many runs had finished before the step."""

    name: str
    number: int
    step: LessonStep
    runs_before: int

    @property
    def is_finished(self) -> bool:
        """Whether the step's run has finished; always true for a step without a run."""
        return self.step.act is None or session.finished_runs().get(self.step.job, 0) > self.runs_before


def start_lesson(name: str) -> None:
    """Start a lesson on the bundled sample with its own ledger; a button's callback."""
    session.set_session_aside()
    go_to_step(name, 0)


def go_to_step(name: str, number: int) -> None:
    """Go to a step of a lesson: open its page with the step's settings and no others.

    A release that the page shows stays.
    """
    step = LESSONS[name].steps[number]
    session.keep(COURSE, Course(name, number, step, session.finished_runs().get(step.job, 0)))
    session.drop(f"{step.page}.")
    preset_step(step)
    st.session_state["dpcore.open"] = step.page


def preset_step(step: LessonStep) -> None:
    """Set a step's controls, and open its tab."""
    for control, value in step.settings.items():
        session.preset(f"{step.page}.{control}", value)
    if step.tab:
        st.session_state[f"{step.page}.tab"] = step.tab


def request_step_run(job: str, what: str) -> None:
    """Request the step's run, as the page's own button does; a button's callback."""
    step: LessonStep = st.session_state[COURSE].step
    if job != step.page:  # a run of a tab, which must be open
        preset_step(step)
    if job.endswith(".redraws") and session.current_release(step.page) is None:  # no release yet
        job, what = step.page, "run"
    session.request(job, what)


def end_lesson(name: str = "") -> None:
    """End the lesson, and record it as finished if it is named; a button's callback."""
    session.restore_session()
    if name:
        finished_lessons().add(name)
        st.session_state[TAUGHT] = name
    st.session_state["dpcore.open"] = "home"


def finished_lessons() -> set[str]:
    """Return the names of the finished lessons."""
    return session.keep_once("dpcore.learned", set[str])


def draw_lesson_card(page: str) -> None:
    """Draw the card of the present lesson step, if a lesson is in progress.

    `page` is the page that is shown, which may be another one than the step's.
    """
    if page != "home":
        st.session_state.pop(TAUGHT, None)
    course: Course | None = st.session_state.get(COURSE)
    if course is None:
        return
    lesson, number, step = LESSONS[course.name], course.number + 1, course.step
    here = page == step.page
    if not here:
        text = say("This step of the lesson is on another page.")
    else:
        text = say(step.after if step.act and course.is_finished else step.text)
    with st.bottom:
        st.html(guide_script(course, here), unsafe_allow_javascript=True)
        with st.container(border=True, horizontal=True, vertical_alignment="center", key="lesson"):
            with st.container(gap=None):
                heading = say("step {number} of {all}", number=number, all=len(lesson.steps))
                title = f":material/school: **{say(lesson.title)}**"
                st.container(key="lesson-place").markdown(f":small[:blue[{title} · {heading}]]")
                st.markdown(text)
            with st.container(horizontal=True, width="content", gap="xsmall", wrap=False, key="lesson-ways"):
                draw_lesson_buttons(course, here)


def draw_lesson_buttons(course: Course, here: bool) -> None:
    """Draw the lesson card's buttons: one runs the step or leads on, others skip or end."""
    step, name, number, done = course.step, course.name, course.number, course.is_finished
    rests, last = session.is_waiting(step.job), number == len(LESSONS[name].steps) - 1
    on: Any = ("next", "arrow_forward", go_to_step, name, number + 1)
    if last:
        on = ("end", "flag", end_lesson, name)
    if number and here:
        lesson_button(say("Back"), "back", "arrow_back", go_to_step, name, number - 1, disabled=rests)
    if not here:
        lesson_button(say("Go to this step"), "again", "arrow_forward", go_to_step, name, number, type="primary")
    elif done or step.act is None:
        lesson_button(say("Finish") if last else say("Next"), *on, type="primary")
    else:
        key = f"do.{number}:{session.tickets().get(step.job, 0)}"  # late presses count once
        given = step.act.icon, request_step_run, step.job, step.act.what
        lesson_button(say(step.act.label), key, *given, type="primary", disabled=rests)
        lesson_button(say("Skip"), *on, disabled=rests)
    if not (here and last and done):
        lesson_button(say("End the lesson"), "leave", "close", end_lesson)


def lesson_button(label: str, key: str, icon: str, call: Any, *given: Any, **style: Any) -> None:
    """Draw a button of the lesson card; on a phone, only the main one shows its label."""
    style = {"type": "tertiary", "icon": f":material/{icon}:", "key": f"lesson.{key}"} | style
    st.button(label, on_click=call, args=given, **style)


def guide_script(course: Course, here: bool) -> str:
    """Return the script that scrolls to what a step is about.

    The script differs with the state of the step, since a browser does not run the same one twice.
    """
    step, done = course.step, course.is_finished
    top, seek = here and (step.act is None or not done), here and done and bool(step.look)
    given = f"const top = {json.dumps(top)}, seek = {json.dumps(seek)}, place = () => {selector_of(step)};"
    return f"<script>// {course.name} {course.number} {done} {here}\n{{{given}\n{GUIDE}}}</script>"


def selector_of(step: LessonStep) -> str:
    """Return a JavaScript expression for the first visible element that the step's text names."""
    return f"[...document.querySelectorAll(`{step.look}`)].find(e => e.offsetParent)"


def title_of_finished() -> str | None:
    """Return the title of the lesson that has just been finished, or None."""
    name = st.session_state.get(TAUGHT)
    return None if name is None else LESSONS[name].title


def draw_lesson_end() -> None:
    """Draw the end of a finished lesson: sentences to remember, a question, and its terms."""
    name, names = st.session_state[TAUGHT], list(LESSONS)
    lesson = LESSONS[name]
    st.html(f"<script>{TO_TOP}</script>", unsafe_allow_javascript=True)
    with st.container(key="taught"):
        st.markdown("\n".join(f"{heading}. {say(text)}" for heading, text in enumerate(lesson.keep, 1)))
        asks = f":material/forum: {say('**For the class:**')} {say(lesson.question)}"
        st.container(border=True).markdown(asks)
        caption("In the literature: {terms}", terms=say(lesson.literature))
    with st.container(horizontal=True):
        for following in names[names.index(name) + 1 :][:1]:
            label = say("Next lesson: {title}", title=say(LESSONS[following].title))
            lesson_button(label, "following", "school", start_lesson, following, type="primary")
        lesson_button(say("Back to the start"), "home", "home", st.session_state.pop, TAUGHT, type="secondary")
