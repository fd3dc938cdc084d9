"""The guided tour: short lessons that lead through the pages, with the settings of each step preloaded.

A lesson (`lesson_plans`) is a list of steps. A step opens a page at its top, puts its controls where the lesson needs
them, and says at the foot of the window what to do and what to see. Nothing runs by itself: the card's one button does
the step, as the page's own button would, brings into view what the words name, and then leads on. A lesson has data and
a ledger of its own, and at its end all is as it was before.
"""

from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpcore.dashboard import session
from dpcore.dashboard.lesson_plans import DRAW, LESSONS, Lesson, Step
from dpcore.language import phrase, say

COURSE, TAUGHT = "dpcore.lesson", "dpcore.taught"
ELSEWHERE = phrase("This step of the lesson is on another page.")
# The foot leaves the page as much room as it can. In a narrow window, the words alone stand beside the button, and the
# other ways are icons below it, whose names are still there for who listens.
FOOT = """<style>
[data-testid='stBottomBlockContainer'] {padding: 0 3rem 0.25rem}
.st-key-lesson {padding: 0.3rem 0.9rem; gap: 0.75rem; flex-wrap: nowrap}
[data-testid='stBottomBlockContainer'] > [data-testid='stVerticalBlock'] {gap: 0}
.st-key-lesson p {font-size: 0.95rem; line-height: 1.35; margin: 0}
.st-key-lesson [data-testid='stMarkdownContainer'] {margin: 0}
.st-key-lesson button {min-height: 2.2rem; padding-block: 0}
@media (max-width: 640px) {
    [data-testid='stBottomBlockContainer'] {padding: 0 0.25rem 0.25rem}
    .st-key-lesson {gap: 0.5rem; padding: 0.2rem 0.5rem}
    .st-key-lesson p {font-size: 0.8rem; line-height: 1.2}
    .st-key-lesson-place {display: none}
    .st-key-lesson-ways {flex-wrap: wrap !important; width: 7rem !important; justify-content: center; gap: 0 !important}
    .st-key-lesson-ways > :has([data-testid=stBaseButton-primary]) {order: -1; flex: 1 0 100%}
    .st-key-lesson-ways button {min-height: 1.9rem; padding: 0 0.3rem}
    .st-key-lesson-ways [data-testid=stBaseButton-tertiary] [data-testid=stMarkdownContainer] p {font-size: 0}
}
</style>"""
TAUGHT_TEXTS = """<style>
.st-key-taught :is(li, p) {font-size: 1.5rem !important}
.st-key-taught li {margin: 1rem}
</style><script>document.querySelector('[data-testid=stMain]').scrollTo({top: 0, behavior: 'instant'})</script>"""
# To the top when a step begins, whatever is drawn later; when it is done, to what its words name; until somebody moves.
GUIDE = """<script>
(() => {
    const main = document.querySelector('[data-testid=stMain]'), app = document.querySelector('[data-testid=stApp]');
    const mine = window.lesson = {moved: false, last: -1}, HEAD = 48;
    for (const kind of ['wheel', 'touchmove', 'keydown', 'pointerdown'])
        addEventListener(kind, () => mine.moved = true, {once: true, passive: true});
    if (%(top)s) main.scrollTo({top: 0, behavior: 'instant'});
    const look = () => {
        const foot = document.querySelector('[data-testid=stBottom]'), found = %(seek)s ? %(place)s : main.firstChild;
        if (mine !== window.lesson || mine.moved || mine.still > 2 || Date.now() > mine.until || !foot) return;
        const end = foot.getBoundingClientRect().top - 8, room = end - HEAD;
        Object.assign(main.style, {scrollPaddingTop: `${HEAD}px`, scrollPaddingBottom: `${innerHeight - end}px`});
        if (found && app.dataset.testScriptState === 'notRunning') {
            const high = found.getBoundingClientRect().height;
            found.scrollIntoView({behavior: 'instant', block: high > room ? 'start' : 'nearest'});
            mine.still = main.scrollTop === mine.last && high > 20 ? mine.still + 1 : 0;
            mine.last = main.scrollTop;
        }
        clearTimeout(mine.timer);
        mine.timer = setTimeout(look, 150);
    };
    const again = () => { mine.still = 0; mine.until = Date.now() + 60000; look(); };
    if (%(seek)s || %(top)s) { addEventListener('resize', again); again(); }
})();
</script>"""


@dataclass
class Course:
    """A lesson under way: its step, how many of its runs were over before, and whether somebody is asked to run it."""

    name: str
    number: int
    before: int
    asks: bool = False

    @property
    def lesson(self) -> Lesson:
        """What is taught."""
        return LESSONS[self.name]

    @property
    def step(self) -> Step:
        """Where it is."""
        return self.lesson.steps[self.number]

    @property
    def done(self) -> bool:
        """Whether the step's run is over, if it has one."""
        return self.step.act is None or session.finished().get(self.step.job, 0) > self.before


def begin(name: str) -> None:
    """Start a lesson, on the bundled sample and with a ledger of its own; a button's callback."""
    session.lay_aside()
    st.session_state.pop(TAUGHT, None)
    to(name, 0)


def to(name: str, number: int) -> None:
    """Go to a step: its page, with its settings and no others. A release that the page shows stays."""
    step = LESSONS[name].steps[number]
    session.keep(COURSE, Course(name, number, session.finished().get(step.job, 0)))
    session.drop(f"{step.page}.")
    set_for(step)
    st.session_state["dpcore.open"] = step.page


def set_for(step: Step) -> None:
    """Put a step's controls where it needs them, and open its tab."""
    for control, value in step.settings.items():
        session.preset(f"{step.page}.{control}", value)
    if step.tab:
        st.session_state[f"{step.page}.tab"] = step.tab


def do(job: str, what: str) -> None:
    """Ask for the step's run, as its page's own button does; a button's callback."""
    course: Course = st.session_state[COURSE]
    course.asks, step = False, course.step
    if job != step.page:  # what a tab asks for, which must be open
        set_for(step)
    if step.act == DRAW and session.shown(step.page) is None:  # nothing to draw again
        job, what = step.page, "run"
    session.request(job, what)


def leave(name: str = "") -> None:
    """End the lesson, which was gone through if it is named; a button's callback."""
    session.give_back()
    if name:
        learned().add(name)
        st.session_state[TAUGHT] = name
    st.session_state["dpcore.open"] = "home"


def learned() -> set[str]:
    """The lessons that were gone through."""
    return session.kept("dpcore.learned", set[str])


def bar(page: str) -> None:
    """Where the lesson is, what to do, and the way on; nothing outside lessons. `page` is the one that is shown."""
    if page != "home":
        st.session_state.pop(TAUGHT, None)
    course: Course | None = st.session_state.get(COURSE)
    if course is None:
        return
    step, here = course.step, page == course.step.page
    if not here:
        text = say(ELSEWHERE)
    elif course.asks and step.act:
        text = say("You have not pressed {button} yet. Go on all the same?", button=say(step.act.label))
    else:
        text = say(step.after if step.act and course.done else step.text)
    with st.bottom:
        st.html(FOOT + guide(course, here), unsafe_allow_javascript=True)
        with st.container(border=True, horizontal=True, vertical_alignment="center", key="lesson"):
            with st.container(gap=None):
                place = say("step {number} of {all}", number=course.number + 1, all=len(course.lesson.steps))
                with st.container(key="lesson-place"):
                    st.markdown(f":small[:blue[:material/school: **{say(course.lesson.title)}** · {place}]]")
                st.markdown(text)
            with st.container(horizontal=True, width="content", gap="xsmall", wrap=False, key="lesson-ways"):
                ways(course, here)


def ways(course: Course, here: bool) -> None:
    """The one button that does the step or leads on, and the others beside it."""
    step, name, number = course.step, course.name, course.number
    last, done = number == len(course.lesson.steps) - 1, course.done
    main: Any = {"type": "primary"}
    if number and here:
        button(say("Back"), "back", to, name, number - 1, disabled=session.resting(step.job), **other("arrow_back"))
    if not here:
        button(say("Go there"), "again", to, name, number, **main)
    elif step.act is None or done:
        if last:
            button(say("Finish"), "end", leave, name, icon=":material/flag:", **main)
        else:
            button(say("Next"), "next", to, name, number + 1, icon=":material/arrow_forward:", **main)
    else:
        rests = session.resting(step.job)
        key = f"do.{number}:{session.tickets().get(step.job, 0)}"  # a press that comes late is not a second one
        button(say(step.act.label), key, do, step.job, step.act.what, icon=step.act.icon, disabled=rests, **main)
        if not course.asks:
            button(say("Next"), "next", ask, disabled=rests, **other("arrow_forward"))
        elif last:
            button(say("Go on"), "on", leave, name, **other("flag"))
        else:
            button(say("Go on"), "on", to, name, number + 1, **other("arrow_forward"))
    if not (here and last and done):
        button(say("End the lesson"), "leave", leave, **other("close"))


def other(icon: str) -> Any:
    """How a way looks that is not the one; a phone shows its icon alone."""
    return {"type": "tertiary", "icon": f":material/{icon}:"}


def ask() -> None:
    """Ask whether to go on without the run; a button's callback."""
    course: Course = st.session_state[COURSE]
    course.asks = True


def button(label: str, key: str, call: Any, *given: Any, **look: Any) -> None:
    """A way."""
    st.button(label, key=f"lesson.{key}", on_click=call, args=given, **look)


def guide(course: Course, here: bool) -> str:
    """What brings into view what a step is about. Other words for another state, or a browser would not read it."""
    step, done = course.step, course.done
    seek = here and done and bool(step.look)
    top, place = here and (step.act is None or not done), located(step)
    script = GUIDE % {"top": json(top), "place": place, "seek": json(seek)}
    return script.replace("<script>", f"<script>// {course.name} {course.number} {done} {here}\n")


def json(flag: bool) -> str:
    """A truth value in a browser's words."""
    return str(flag).lower()


def located(step: Step) -> str:
    """What a step's words name, as a browser finds it: one of those that are to be seen, by its number."""
    return f"[...document.querySelectorAll(`{step.look}`)].filter(e => e.offsetParent)[{step.nth - 1}]"


def taught() -> str | None:
    """The title of the lesson that was just gone through, if one was."""
    name = st.session_state.get(TAUGHT)
    return None if name is None else LESSONS[name].title


def farewell() -> None:
    """What to take away from the lesson that was just gone through, and where to go on."""
    name, names = st.session_state[TAUGHT], list(LESSONS)
    lesson = LESSONS[name]
    st.html(TAUGHT_TEXTS, unsafe_allow_javascript=True)
    with st.container(key="taught"):
        st.markdown("\n".join(f"{place}. {say(sentence)}" for place, sentence in enumerate(lesson.lessons, 1)))
        with st.container(border=True):
            st.markdown(f":material/forum: {say('**For the class:**')} {say(lesson.question)}")
    following = names[names.index(name) + 1 :]
    with st.container(horizontal=True):
        if following:
            label = say("Next lesson: {title}", title=say(LESSONS[following[0]].title))
            button(label, "following", begin, following[0], type="primary", icon=":material/school:")
        button(
            say("Back to the start"), "home", st.session_state.pop, TAUGHT, type="secondary" if following else "primary"
        )
