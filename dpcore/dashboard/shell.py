"""The frame around every page: navigation, the card of the data in use, and errors that say what to do."""

from __future__ import annotations

import gc
import logging
import math
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

import streamlit as st

from dpcore import dashboard
from dpcore.accounting.store import StoredTotals, cross_account_loss, dataset_key
from dpcore.dashboard import FOLDER, assets, hosting, housekeeping, lessons, links, session
from dpcore.dashboard.assets import read_asset
from dpcore.dashboard.widgets import caption, markdown
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import DataError, DPCoreError, LedgerError
from dpcore.language import ENGLISH, LANGUAGES, ask, current_language, phrase, plural, retold, say
from dpcore.methods import METHODS
from dpcore.text import limit, number

if TYPE_CHECKING:
    from streamlit.navigation.page import StreamlitPage


SECTIONS = {  # of the menu; the first has no name
    "": [
        ("home", phrase("Start"), ":material/home:"),
        ("data", phrase("Data"), ":material/table:"),
    ],
    phrase("Methods"): [
        ("naive_bayes", phrase("Naive Bayes"), ":material/scatter_plot:"),
        ("networks", phrase("Bayesian networks"), ":material/hub:"),
        ("taxonomy", phrase("Taxonomy tree"), ":material/account_tree:"),
        ("forests", phrase("Forests"), ":material/forest:"),
        ("responses", phrase("Randomized response"), ":material/casino:"),
    ],
    phrase("Use"): [
        ("compare", phrase("Compare"), ":material/compare_arrows:"),
        ("ledger", phrase("Ledger"), ":material/receipt_long:"),
    ],
    phrase("Understand"): [
        ("attacks", phrase("Attacks"), ":material/person_search:"),
        ("mechanisms", phrase("Mechanisms"), ":material/functions:"),
        ("audit", phrase("Audit"), ":material/balance:"),
        ("about", phrase("About"), ":material/info:"),
    ],
}
TITLES = {key: (title, icon) for entries in SECTIONS.values() for key, title, icon in entries}
STYLE, DARK, LARGE = map(read_asset, ("frame.css", "dark.css", "class_size.css"))
FOCUS = read_asset("page_focus.js")
WIDTH = 240  # pixels of the side bar
CLASS = "dpcore.class"
LANGUAGE = "dpcore.language"
UNGUARDED = phrase(
    "This server runs without its guard against other sites. Start the dashboard by the command dpcore instead."
)
_once = Lock()
_inside_app: ContextVar[bool] = ContextVar("_inside_app", default=False)


def page(name: str) -> StreamlitPage:
    """The page of that file name, for navigation and links."""
    title, icon = TITLES[name]
    return st.Page(FOLDER / "pages" / f"{name}.py", title=say(title), icon=icon, url_path=name, default=name == "home")


def navigation() -> StreamlitPage:
    """Page set-up and the menu: in the side bar, or above the page at class size."""
    st.set_option("client.showSidebarNavigation", True)  # off until now: the bare names of the files in `pages/`
    # Before the menu, whose material icons would be fetched.
    st.set_page_config(page_icon="🛡️", layout="wide", initial_sidebar_state=WIDTH)
    st.logo(assets.FOLDER / "wordmark.svg", size="large")
    menu = {say(name): [page(key) for key, *_ in entries] for name, entries in SECTIONS.items()}
    if links.CLASS in st.query_params:
        st.session_state[CLASS] = st.query_params[links.CLASS] == "1"
    chosen = st.navigation(menu, position="top" if class_size() else "sidebar", expanded=True)
    st.set_page_config(page_title=f"{chosen.title} · dpcore")
    return chosen


def class_size() -> bool:
    """Whether the screen is for a class: larger letters, wide charts, and no side bar."""
    return st.session_state.get(CLASS) is True


def class_button(label: str, on: bool, **look: Any) -> None:
    """A button that turns class size on or off."""

    def turn() -> None:
        st.session_state[CLASS] = on
        st.query_params.pop(links.CLASS, None)
        st.query_params.update({links.CLASS: "1"} if on else {})

    st.button(label, key=f"dpcore.class.{on}", on_click=turn, **look)


def load() -> None:
    """Import what every page and its first release need."""
    with suppress(RuntimeError):  # the server is ending; any other would be raised again where a page imports
        for found in pkgutil.walk_packages(dashboard.__path__, f"{dashboard.__name__}."):
            if not found.name.endswith(".__main__"):
                import_module(found.name)
        list(METHODS.values())  # imports them
    gc.freeze()  # Streamlit collects garbage after every run of a script: all that was imported costs 0.1 s


_loading = Thread(target=load, name="loading", daemon=True)


def prepare() -> None:
    """Begin, once per server, what the other pages would wait for; and say in its log if the guard is not there."""
    with _once:
        if _loading.ident is None:
            _loading.start()
            if housekeeping.is_unguarded():
                logging.getLogger(__name__).warning(UNGUARDED)


def wait_for_imports() -> None:
    """Wait for it, if it was begun: two threads that import the same packages could meet them half made."""
    with _once:
        begun = _loading.ident is not None
    if begun:
        _loading.join()


def run() -> None:
    """What app.py does: the menu, then the chosen page."""
    chosen = navigation()
    if not housekeeping.let_in(housekeeping.presence()):
        full()
        return
    now, before = chosen.url_path or "home", st.session_state.get("dpcore.page")
    if before not in (None, now):  # who leaves a page does not want what was asked for there any more
        forget(before)
        housekeeping.forget_uploads()
    st.session_state["dpcore.page"] = now
    if now != "home":
        wait_for_imports()
    token = _inside_app.set(True)
    try:
        chosen.run()
    finally:
        _inside_app.reset(token)
    prepare()
    forget(now)  # what was asked for in a tab that was left


def full() -> None:
    """What somebody sees for whom a server has no room."""
    st.title(say("This server is full"), anchor=False)
    markdown("As many people use it as it can serve at a time. Load this page again in a few minutes.")


def forget(left: str) -> None:
    """Drop the runs that were asked for on a page and have not begun: they must not begin when somebody comes back."""
    wishes = session.waiting_runs()
    for name in [name for name in wishes if name.startswith(left)]:
        del wishes[name]


def frame(title: str, lead: str = "") -> Any:
    """Draw the side bar and the title with what it is about; return the place for the page's one button beside it.

    The first line of every page.

    A deep link into a fresh server can run a page without app.py. Then the menu is set up here,
    which makes app.py take over from the next run on; that run is asked for at once, because
    widgets get other identities there and would lose the first thing that a person sets.
    """
    hosting.refuse_login()  # the command did, but `streamlit run app.py` does not
    if not _inside_app.get():
        navigation()
        if "dpcore.alone" not in st.session_state:
            st.session_state["dpcore.alone"] = True
            st.rerun()
    session.set_back()
    dark = DARK if st.context.theme.type == "dark" else ""
    st.html(f"<style>{STYLE}{dark}{LARGE if class_size() else ''}</style>")
    if not class_size():
        with st.sidebar:
            with st.container(key="card"):
                card()
            with st.container(horizontal=True, gap="xsmall", wrap=False):
                language()
                note = say("Class size: larger letters, no side bar")
                class_button(say("Class"), True, icon=":material/co_present:", help=note)
    if wanted := st.session_state.pop("dpcore.open", None):
        open_page(wanted)
    note_lost_data()
    shown = st.session_state.get("dpcore.page", "")
    lessons.bar(shown)
    left, right = st.columns([3.6, 1.3], vertical_alignment="center")
    with left.container(horizontal=True, vertical_alignment="bottom", gap="small", key="title"):
        st.title(title, anchor=False, width="content")
        if lead:
            st.caption(lead)
        if class_size():
            label = say("Leave class size")
            class_button(label, False, icon=":material/close_fullscreen:", type="tertiary")
    begin = f"document.documentElement.lang = '{current_language()}'; // {shown}"
    st.html(f"<script>{begin}\n{FOCUS}</script>", unsafe_allow_javascript=True)
    return right.container(key="corner")


def card() -> None:
    """The data in use, and what was spent on them."""
    data = session.dataset()
    learn, test = data.sizes
    note = phrase(
        "The data in use: methods learn from {train:,} rows at most, {test:,} are set apart to test on. "
        "Comparisons read the real rows: what is marked ⚠ must not be published, nor must these "
        "row counts and the time that a run takes."
    )
    title = say("**{name}** :small[{rows:,} rows] ⚠", name=escape(data.name), rows=learn + test)
    st.markdown(title, help=say(note, train=learn, test=test))
    if data.schema.source == "inferred":
        markdown(":red[:material/warning: inferred schema: no guarantee]")
    working = any(job.is_alive() for job in session.work().values())
    under_way() if working else spending()
    if new := session.pending_name():
        shown = {"name": escape(new), "used": escape(data.name)}
        caption(":material/edit_note: {name} is loaded; {used} is in use.", **shown)


def chosen_language() -> str:
    """The language that somebody chose, or that their browser asks for if it is one of ours."""
    chosen = st.session_state.get(LANGUAGE)  # anything at all, if somebody forged it
    if isinstance(chosen, str) and chosen in LANGUAGES:
        return chosen
    return next((name for name in LANGUAGES if (st.context.locale or "").split("-")[0] == name), ENGLISH)


ask(chosen_language)


def language() -> None:
    """Choose another language. It is nobody's setting of a page: a lesson leaves it as it is."""
    look: Any = {"key": LANGUAGE, "persist_state": "session", "label_visibility": "collapsed"}
    look |= {"index": [*LANGUAGES].index(current_language()), "width": 102}
    look |= {"on_change": session.set_again}  # a value set by hand is lost
    st.selectbox("Language · 语言", list(LANGUAGES), format_func=LANGUAGES.__getitem__, **look)


def note_lost_data() -> None:
    """Say that somebody's own data are gone: a session that begins anew has the sample in their place.

    That there were some stands in the address, which outlives a session; their name does not, as
    addresses are kept.
    """
    if kind := session.own_kind():
        st.query_params[links.OWN] = kind
    elif links.OWN in st.query_params:
        stays = say("What was charged for them stays in the ledger.")
        goes = say("Its ledger went with it: what was charged counts all the same.")
        # In an address: "1", or "folder", whose codes are there still; once also "query".
        source = "folder" if st.query_params[links.OWN] != "1" and hosting.own_computer() else "upload"
        left, own, sample = st.columns([6, 2, 2], vertical_alignment="center")
        begins = say("**This is a new session, with the bundled sample.** It does not hold your own data.")
        left.warning(f"{begins} {stays if session.books().kept else goes}", icon=":material/history:")
        load = own.button(say("Load my data again"), type="primary", key="dpcore.load_again")
        if load or sample.button(say("Keep the sample"), key="dpcore.go_on"):
            del st.query_params[links.OWN]
            if load:
                st.session_state["data.source"] = source
                open_page("data")
            st.rerun()


@st.fragment(run_every=2.0)
def under_way() -> None:
    """What was spent so far and what this session works on, on every page; it also notices that somebody is there."""
    housekeeping.presence()
    names = [job.name for job in session.work().values() if job.is_alive()]
    if not names:
        st.rerun()
    spending()
    caption(":material/hourglass_top: Under way: {names}", names=", ".join(map(say, names)))


def spending() -> None:
    """What all sessions spent on the data in use: a bar against each cap, or words."""
    data, unit = session.dataset(), session.dataset().schema.unit
    try:
        key = session.books().key(data)
        accounts = [line for line in session.books().accounts() if line.dataset_key == dataset_key(key)]
    except LedgerError:
        caption(":red[:material/error: The ledger cannot be read: nothing will be drawn. See the page Ledger.]")
        return
    used = [line for line in accounts if line.looks or line.cap is not None]
    totals = []
    for line in sorted(used, key=lambda line: line.key != key):
        relation = f" ({say(line.relation.short_for(line.protects))})" if len(used) > 1 else ""
        if line.cap is None:
            totals.append(f"{in_full(line)}{relation}{for_person(line, unit)}")
        else:
            costs = [cross_account_loss(other, line) for other in accounts if other.relation is line.relation]
            total, cap = line.measure.epsilon(sum(costs)), float(line.cap)  # as the cap counts
            shown = say("Spent at most: {spent} of {cap}", spent=in_full(line, total), cap=number(cap))
            text = f":small[{shown}{relation}{for_person(line, unit)}]"
            st.progress(min(total / cap, 1.0) if cap else 1.0, text=text)
    if totals or not used:
        lesson = phrase("Spent in this lesson, at most: {spent}")
        own = phrase("Spent at most: {spent} · no cap set") if totals else phrase("Spent: {spent}")
        shown = "; ".join(totals) or say("nothing yet")
        st.caption(say(lesson if session.laid_aside() else own, spent=shown))
    if difference := sum(line.apart for line in accounts):
        shown = plural("{n:,} release without a guarantee", "{n:,} releases without a guarantee", difference)
        st.caption(f":red[:material/gpp_bad: {shown}]")


def for_person(line: StoredTotals, unit: PrivacyUnit | None) -> str:
    """What epsilons of rows come to for somebody who has as many as a unit says, in a few words."""
    if unit is None or unit.id_column is not None or line.protects == "person" or math.isinf(line.epsilon_bound):
        return ""  # with a column that names persons, no number bounds how many rows runs on rows used of one
    from dpcore.export import protection  # the first page does without what makes releases

    return f", {protection.for_person(unit, line.epsilon_bound, line.delta)}"


def in_full(line: StoredTotals, epsilon: float | None = None) -> str:
    """The epsilon of a line of the ledger, or another one, with its delta if it has one."""
    shown = say("epsilon {epsilon}", epsilon=limit(line.epsilon_bound if epsilon is None else epsilon))
    return say("{epsilon} at delta {delta}", epsilon=shown, delta=f"{line.delta:g}") if line.delta else shown


def check_page(name: str) -> None:
    """DataError if there is no page of that file name."""
    if name not in TITLES:
        raise DataError("These are settings of a page that is not here.", "Was the file made by another version?")


def open_page(name: str) -> None:
    """Go to another page. What its address has to say is said at once, or would be a step back."""
    address = {links.OWN: session.own_kind(), links.CLASS: "1" if class_size() else ""}
    st.switch_page(page(name), query_params={key: value for key, value in address.items() if value})


@contextmanager
def mendable() -> Iterator[None]:
    """Show an error that the user can mend, with its remedy, and go on with everything kept."""
    try:
        yield
    except DPCoreError as error:
        show_error(error)


def show_error(error: DPCoreError) -> None:
    """Why something cannot be done, and what to do."""
    from dpcore.charts.base import REAL_DATA  # the first page does without pictures

    remedy = say("**What to do:** {remedy}", remedy=escape(retold(error.remedy)))
    mark = f" {say(REAL_DATA)}." if error.private else ""
    st.error(f"{escape(retold(error.private or error.cause))}{mark}\n\n{remedy}", icon=":material/error:")


def escape(text: str) -> str:
    """A user's text as literal Markdown: no markup, no links, no math, no directives.

    Addresses are linked even when escaped, so the signs that make one are followed by a space of no
    width.
    """
    plain = " ".join(text.split()).replace("@", "@\u200b").replace("www.", "www\u200b.").replace("://", ":\u200b//")
    return "".join(f"\\{c}" if c in r"\`*_{}[]()<>#+-.!|~$:^=&" else c for c in plain)
