"""The frame around every page: the menu, the card of the data in use, and errors with remedies."""

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
from dpcore.language import ENGLISH, LANGUAGES, current_language, phrase, plural, retold, say, set_language_source
from dpcore.methods import METHODS
from dpcore.text import limit, number

if TYPE_CHECKING:
    from streamlit.navigation.page import StreamlitPage


SECTIONS = {  # sections of the menu; the first has no name
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
        ("statistics", phrase("Statistics"), ":material/bar_chart:"),
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


def find_page(name: str) -> StreamlitPage:
    """Return Streamlit's page for a file name in `pages`, for the menu and for links."""
    title, icon = TITLES[name]
    return st.Page(FOLDER / "pages" / f"{name}.py", title=say(title), icon=icon, url_path=name, default=name == "home")


def draw_menu() -> StreamlitPage:
    """Set up the window and the menu, in the side bar or on top; return the chosen page."""
    st.set_option("client.showSidebarNavigation", True)  # until now off: bare names of files
    # Before the menu, so that its icons are not fetched.
    st.set_page_config(page_icon="🛡️", layout="wide", initial_sidebar_state=WIDTH)
    st.logo(assets.FOLDER / "wordmark.svg", size="large")
    menu = {say(name): [find_page(key) for key, *_ in entries] for name, entries in SECTIONS.items()}
    if links.CLASS in st.query_params:
        st.session_state[CLASS] = st.query_params[links.CLASS] == "1"
    chosen = st.navigation(menu, position="top" if is_class_size() else "sidebar", expanded=True)
    st.set_page_config(page_title=f"{chosen.title} · dpcore")
    return chosen


def is_class_size() -> bool:
    """Return whether the screen has class size: larger letters, wide charts, and no side bar."""
    return st.session_state.get(CLASS) is True


def class_button(label: str, on: bool, **style: Any) -> None:
    """Draw a button that turns class size on or off.

    Class size is larger letters, wide charts and no side bar; a press sets it to `on`.
    """

    def turn() -> None:
        st.session_state[CLASS] = on
        st.query_params.pop(links.CLASS, None)
        st.query_params.update({links.CLASS: "1"} if on else {})

    st.button(label, key=f"dpcore.class.{on}", on_click=turn, **style)


def import_pages() -> None:
    """Import all modules that pages and their first release need."""
    with suppress(RuntimeError):  # the server is ending; pages raise other errors
        for found in pkgutil.walk_packages(dashboard.__path__, f"{dashboard.__name__}."):
            if not found.name.endswith(".__main__"):
                import_module(found.name)
        list(METHODS.values())  # imports the methods
    gc.freeze()  # Streamlit collects garbage after every run: imported objects cost 0.1 s


_loading = Thread(target=import_pages, name="loading", daemon=True)


def start_imports() -> None:
    """Start the background imports once per server, and log a warning if the guard is missing."""
    with _once:
        if _loading.ident is None:
            _loading.start()
            if housekeeping.is_unguarded():
                logging.getLogger(__name__).warning(UNGUARDED)


def wait_for_imports() -> None:
    """Wait for the background imports, if they were started.

    Two threads that import the same packages could see half-imported modules.
    """
    with _once:
        begun = _loading.ident is not None
    if begun:
        _loading.join()


def run_app() -> None:
    """Run the app: draw the menu, then the chosen page."""
    chosen = draw_menu()
    if not housekeeping.admit_visitor(housekeeping.presence()):
        draw_server_full()
        return
    now, before = chosen.url_path or "home", st.session_state.get("dpcore.page")
    if before not in (None, now):  # leaving a page withdraws its requests
        drop_waiting_runs(before)
        housekeeping.forget_uploads()
    st.session_state["dpcore.page"] = now
    if now != "home":
        wait_for_imports()
    token = _inside_app.set(True)
    try:
        chosen.run()
    finally:
        _inside_app.reset(token)
    start_imports()
    drop_waiting_runs(now)  # requests of a tab that was left


def draw_server_full() -> None:
    """Draw a note for a visitor that the server is full."""
    st.title(say("This server is full"), anchor=False)
    markdown("This server has as many visitors as it can serve. Load this page again in a few minutes.")


def drop_waiting_runs(left: str) -> None:
    """Drop the requested runs of the page `left`, so that they do not start on return."""
    wishes = session.waiting_runs()
    for name in [name for name in wishes if name.startswith(left)]:
        del wishes[name]


def draw_frame(title: str, lead: str = "") -> Any:
    """Draw the side bar and the title; return the container for the page's main button.

    Every page calls this first. `lead` is a short text beside the title. A deep link into a new
    server can run a page without app.py. Then the menu is set up here, and the page reruns at once:
    app.py takes over from the next run on, and widgets get other identities there.
    """
    hosting.refuse_login()  # `streamlit run app.py` has not called this
    if not _inside_app.get():
        draw_menu()
        if "dpcore.alone" not in st.session_state:
            st.session_state["dpcore.alone"] = True
            st.rerun()
    session.restore_controls()
    dark = DARK if st.context.theme.type == "dark" else ""
    st.html(f"<style>{STYLE}{dark}{LARGE if is_class_size() else ''}</style>")
    if not is_class_size():
        with st.sidebar:
            with st.container(key="card"):
                draw_data_card()
            with st.container(horizontal=True, gap="xsmall", wrap=False):
                choose_language()
                note = say("Classroom view: larger letters, no side bar")
                class_button(say("Class"), True, icon=":material/co_present:", help=note)
    if wanted := st.session_state.pop("dpcore.open", None):
        open_page(wanted)
    warn_of_lost_data()
    shown = st.session_state.get("dpcore.page", "")
    lessons.draw_lesson_bar(shown)
    left, right = st.columns([3.6, 1.3], vertical_alignment="center")
    with left.container(horizontal=True, vertical_alignment="bottom", gap="small", key="title"):
        st.title(title, anchor=False, width="content")
        if lead:
            st.caption(lead)
        if is_class_size():
            label = say("Leave classroom view")
            class_button(label, False, icon=":material/close_fullscreen:", type="tertiary")
    begin = f"document.documentElement.lang = '{current_language()}'; // {shown}"
    st.html(f"<script>{begin}\n{FOCUS}</script>", unsafe_allow_javascript=True)
    return right.container(key="corner")


def draw_data_card() -> None:
    """Draw the card of the data in use, with what was spent on them."""
    data = session.dataset()
    learn, test = data.sizes
    note = phrase(
        "The data in use: methods learn from {train:,} rows at most, and {test:,} rows are set "
        "aside for testing. Comparisons read the real rows: do not publish what is marked ⚠, "
        "these row counts, or the time that a run takes."
    )
    title = say("**{name}** :small[{rows:,} rows] ⚠", name=escape(data.name), rows=learn + test)
    st.markdown(title, help=say(note, train=learn, test=test))
    if data.schema.source == "inferred":
        markdown(":red[:material/warning: inferred schema: no guarantee]")
    working = any(job.is_alive() for job in session.jobs().values())
    draw_running_work() if working else draw_spending()
    if new := session.pending_name():
        shown = {"loaded_data": escape(new), "data_in_use": escape(data.name)}
        caption(":material/edit_note: {loaded_data} is loaded; {data_in_use} is in use.", **shown)


def chosen_language() -> str:
    """Return the language that the user chose, or that the browser prefers, or English."""
    chosen = st.session_state.get(LANGUAGE)  # anything, if forged
    if isinstance(chosen, str) and chosen in LANGUAGES:
        return chosen
    return next((name for name in LANGUAGES if (st.context.locale or "").split("-")[0] == name), ENGLISH)


set_language_source(chosen_language)


def choose_language() -> None:
    """Draw the choice of a language. Lessons and links do not change the language."""
    style: Any = {"key": LANGUAGE, "persist_state": "session", "label_visibility": "collapsed"}
    style |= {"index": [*LANGUAGES].index(current_language()), "width": 102}
    style |= {"on_change": session.rewrite_controls}  # a value set by code would be lost
    st.selectbox("Language · 语言", list(LANGUAGES), format_func=LANGUAGES.__getitem__, **style)


def warn_of_lost_data() -> None:
    """Draw a warning if the user's own data were lost: a new session has the sample in their place.

    The address, which outlives a session, says that there were own data. It does not have their
    name, as addresses are stored.
    """
    if kind := session.own_data_kind():
        st.query_params[links.OWN] = kind
    elif links.OWN in st.query_params:
        stays = say("What was charged for your data stays in the ledger.")
        goes = say("The earlier session's ledger is gone; what was charged still counts.")
        # "1", or "folder", whose codes still exist; earlier versions also wrote "query".
        source = "folder" if st.query_params[links.OWN] != "1" and hosting.is_own_computer() else "upload"
        left, own, sample = st.columns([6, 2, 2], vertical_alignment="center")
        begins = say("**This is a new session, with the bundled sample.** It does not have your own data.")
        left.warning(f"{begins} {stays if session.ledger_store().kept else goes}", icon=":material/history:")
        load = own.button(say("Load my data again"), type="primary", key="dpcore.load_again")
        if load or sample.button(say("Keep the bundled sample"), key="dpcore.go_on"):
            del st.query_params[links.OWN]
            if load:
                st.session_state["data.source"] = source
                open_page("data")
            st.rerun()


@st.fragment(run_every=2.0)
def draw_running_work() -> None:
    """Draw the running work and the present spending, and mark the visitor as present.

    This is drawn again every two seconds.
    """
    housekeeping.presence()
    names = [job.name for job in session.jobs().values() if job.is_alive()]
    if not names:
        st.rerun()
    draw_spending()
    caption(":material/hourglass_top: Running: {names}", names=", ".join(map(say, names)))


def draw_spending() -> None:
    """Draw what all sessions spent on the data in use: a bar for each cap, or a text."""
    data, unit = session.dataset(), session.dataset().schema.unit
    try:
        key = session.ledger_store().key(data)
        accounts = [line for line in session.ledger_store().accounts() if line.dataset_key == dataset_key(key)]
    except LedgerError:
        caption(":red[:material/error: The ledger cannot be read: no noise will be drawn. See the page Ledger.]")
        return
    used = [line for line in accounts if line.looks or line.cap is not None]
    totals = []
    for line in sorted(used, key=lambda line: line.key != key):
        relation = f" ({say(line.relation.short_for(line.protects))})" if len(used) > 1 else ""
        if line.cap is None:
            totals.append(f"{format_spent(line)}{relation}{person_clause(line, unit)}")
        else:
            costs = [cross_account_loss(other, line) for other in accounts if other.relation is line.relation]
            total, cap = line.measure.epsilon(sum(costs)), float(line.cap)  # counted like the cap
            shown = say("Spent at most: {spent} of {cap}", spent=format_spent(line, total), cap=number(cap))
            text = f":small[{shown}{relation}{person_clause(line, unit)}]"
            st.progress(min(total / cap, 1.0) if cap else 1.0, text=text)
    if totals or not used:
        lesson = phrase("Spent in this lesson, at most: {spent}")
        own = phrase("Spent at most: {spent} · no cap set") if totals else phrase("Spent: {spent}")
        shown = "; ".join(totals) or say("no epsilon yet")
        st.caption(say(lesson if session.is_set_aside() else own, spent=shown))
    if difference := sum(line.void_looks for line in accounts):
        shown = plural("{n:,} release without a guarantee", "{n:,} releases without a guarantee", difference)
        st.caption(f":red[:material/gpp_bad: {shown}]")


def person_clause(line: StoredTotals, unit: PrivacyUnit | None) -> str:
    """Return a phrase: the epsilon of a person who has the most rows, if runs protect single rows.

    `line` has the totals of one account of the ledger. Returns "" if the account protects persons,
    or if no bound is known.
    """
    if unit is None or unit.id_column is not None or line.protects == "person" or math.isinf(line.epsilon_bound):
        return ""  # with an id column, no bound on a person's rows is known
    from dpcore.export import protection  # imported late: Start needs no releases

    return f", {protection.for_person(unit, line.epsilon_bound, line.delta)}"


def format_spent(line: StoredTotals, epsilon: float | None = None) -> str:
    """Return a ledger line's epsilon, or the given one, as text with its delta.

    `line` has the totals of one account of the ledger.
    """
    shown = say("epsilon {epsilon}", epsilon=limit(line.epsilon_bound if epsilon is None else epsilon))
    return say("{epsilon} at delta {delta}", epsilon=shown, delta=f"{line.delta:g}") if line.delta else shown


def check_page(name: str) -> None:
    """Raise `DataError` if no page has this file name."""
    if name not in TITLES:
        raise DataError("This version has no page for these settings.", "Use the version that wrote them.")


def open_page(name: str) -> None:
    """Go to another page of the menu.

    The address gets all its parameters at once: a later change would add a step to the history.
    """
    address = {links.OWN: session.own_data_kind(), links.CLASS: "1" if is_class_size() else ""}
    st.switch_page(find_page(name), query_params={key: value for key, value in address.items() if value})


@contextmanager
def mendable() -> Iterator[None]:
    """Show a `DPCoreError` of the block with its remedy, and go on."""
    try:
        yield
    except DPCoreError as error:
        show_error(error)


def show_error(error: DPCoreError) -> None:
    """Draw an error: its cause and its remedy."""
    from dpcore.charts.base import REAL_DATA  # imported late: Start needs no charts

    remedy = say("**What to do:** {remedy}", remedy=escape(retold(error.remedy)))
    mark = f" {say(REAL_DATA)}." if error.private else ""
    st.error(f"{escape(retold(error.private or error.cause))}{mark}\n\n{remedy}", icon=":material/error:")


def escape(text: str) -> str:
    """Return a user's text as literal Markdown: no markup, links, math or directives.

    Streamlit links addresses even when they are escaped. A zero-width space after the signs that
    make an address prevents that.
    """
    plain = " ".join(text.split()).replace("@", "@\u200b").replace("www.", "www\u200b.").replace("://", ":\u200b//")
    return "".join(f"\\{c}" if c in r"\`*_{}[]()<>#+-.!|~$:^=&" else c for c in plain)
