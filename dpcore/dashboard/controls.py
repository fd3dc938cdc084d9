"""Questions that every method's page asks: how much epsilon, which neighbors, which noise."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import streamlit as st

from dpcore import charts
from dpcore.dashboard import jobs
from dpcore.datasets import Dataset
from dpcore.mechanisms.noise import TEACHING
from dpcore.methods import METHODS
from dpcore.methods.offers import Offer

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
RELEASE = (
    "About you: whether you are in the data, or which of two rows is yours. Worst case over all observers and all "
    "people; pure epsilon; for one release. Holds with a declared schema and without a seed; as printed, only where "
    "its proof holds."
)
RELATIONS = {
    "add_remove": "Add or remove one row",
    "replace": "Change one row's values",
}
NOISES = {
    "auto": "Exact (for publication)",
    "laplace": "NumPy, continuous (teaching)",
    "geometric": "NumPy, whole numbers (teaching)",
}


def odds_sentence(epsilon: float, seen: str = "the release") -> str:
    """What an epsilon means for one person, in the worst case, for somebody who has seen something."""
    sure = charts.odds(epsilon)
    if sure >= 0.99995:
        return (
            f"Somebody who is 50:50 unsure about you could become **practically certain** from seeing {seen}. "
            "This is no protection that one could put a number on."
        )
    digits = 1 if sure < 0.999 else 3
    return (
        "Somebody who is 50:50 unsure about you could become at most "
        f"**{100 * sure:.{digits}f} % sure** from seeing {seen}."
    )


@cache
def icons(epsilon: float) -> Any:
    """The odds of one of `EPSILONS` as icons."""
    return charts.odds_icons(charts.odds(epsilon))


def drawer(page: str, shown: object) -> AbstractContextManager[Any]:
    """Where a page's settings are: open until the page shows something, and folded away by each new result.

    A drawer that was opened by hand would stay open, but one with another key is another one. That key is not
    the page's: it is no setting, and stands in no link or file.
    """
    return st.expander("Settings", expanded=shown is None, key=f"drawer.{page}.{id(shown)}")


def epsilon_picker(
    key: str,
    default: float = 1.0,
    options: Sequence[float] = EPSILONS,
    about: str = RELEASE,
    seen: str = "the release",
) -> float:
    """Epsilon on a logarithmic scale, with what it means. Touches no data."""
    left, right = st.columns([3, 1], gap="large", vertical_alignment="center")
    epsilon: float = left.select_slider(
        "Privacy budget epsilon",
        options,
        value=default,
        key=f"{key}.epsilon",
        persist_state="session",
        format_func=lambda value: f"{value:g}",
        help="How much one row can change the probability of any outcome: at most by the factor e to the epsilon. A "
        "person with several rows has less protection.",
    )
    with left:
        with st.container(horizontal=True, horizontal_alignment="distribute"):
            st.caption("◀ more private", width="content")
            st.caption("more accurate ▶", width="content")
        st.markdown(odds_sentence(epsilon, seen))
        st.caption(about)
    right.vega_lite_chart(charts.specification(icons(epsilon)), width="content", key=f"{key}.icons")
    return epsilon


def offered(page: str, mode: str) -> dict[str, tuple[str, Offer]]:
    """What a page offers in a mode: the method and the offer, by its label."""
    kinds = {name: kind for name, kind in METHODS.items() if kind.page == page}
    return {offer.label: (name, offer) for name, kind in kinds.items() for offer in kind.offers if offer.mode == mode}


def method_picker(key: str, printed: str = "As the paper prints it") -> dict[str, Any]:
    """The method's name, its mode and what the variant gives it, as constructor arguments."""
    modes = {"corrected": "Corrected: guarantee proved", "paper": printed}
    mode = st.radio(
        "Method",
        list(modes),
        format_func=modes.__getitem__,
        key=f"{key}.mode",
        persist_state="session",
    )
    variants = offered(key, mode)
    variant = st.radio("Variant", list(variants), key=f"{key}.variant.{mode}", persist_state="session")
    name, offer = variants[variant]
    if mode == "paper":
        good, bad = ":material/verified: {}", ":red[:material/warning: {}]"
        st.markdown((good if offer.holds else bad).format(offer.remark))
    return {"method": name, "mode": mode, **offer.given}


def rows_picker(key: str, data: Dataset) -> int:
    """How many synthetic rows. The suggestion is public: the schema's bound, or a round number."""
    suggestion = min(data.schema.max_rows or 10_000, 100_000)
    return int(
        st.number_input(
            "Synthetic rows",
            1,
            1_000_000,
            suggestion,
            step=1_000,
            key=f"{key}.rows:{data.token}",
            persist_state="session",
        )
    )


def target_picker(key: str, data: Dataset, *, needed: bool = True) -> str | None:
    """The class column: one with categories."""
    names = [column.name for column in data.schema if not column.numeric]
    if not names and needed:
        st.warning("This method needs a column with categories as class. Declare one on the page Data & schema.")
    if not names:
        return None
    index = names.index(data.schema.target) if data.schema.target in names else len(names) - 1
    return st.selectbox("Class column", names, index=index, key=f"{key}.target:{data.token}", persist_state="session")


def relation_picker(key: str, only: str | None = None, caption: str = "") -> str:
    """Which tables count as neighbors; `only` if the method knows one relation, and what that means then."""
    captions = {
        "add_remove": "The number of rows stays private.",
        "replace": "The number of rows is public; counts need twice the noise.",
    }
    offered = [only] if only else list(RELATIONS)
    return st.radio(
        "What is protected: one row",
        offered,
        format_func=RELATIONS.__getitem__,
        key=f"{key}.relation.{only}" if only else f"{key}.relation",
        persist_state="session",
        captions=[caption or captions[name] for name in offered],
    )


def network_picker(
    key: str,
    name: str,
    known: Mapping[str, Any],
    chosen: Mapping[str, Any],
    choices: Mapping[str, tuple[str, Mapping[str, str]]],
) -> dict[str, Any]:
    """What a network method lets one choose, as constructor arguments; `known` are its parameters and their defaults.

    `choices` are a label and the options' names per parameter. As printed, only sizes and the
    clustering's repair are left to choose.
    """
    found: dict[str, Any] = {}
    for parameter, label, most in (("n_clusters", "Clusters", 10), ("max_parents", "Parents at most", 4)):
        if parameter in known:
            value = int(known[parameter])
            found[parameter] = int(
                st.number_input(label, 1, most, value, key=f"{key}.{parameter}", persist_state="session")
            )
    for parameter, (label, names) in choices.items():
        if parameter not in known or (chosen["mode"] == "paper" and parameter != "affinity"):
            continue
        options = list(names) if chosen.get("variant") == "binary" else [value for value in names if value != "F"]
        default = known[parameter] or ("F" if "F" in options else options[0])
        found[parameter] = st.selectbox(
            label,
            options,
            index=options.index(default),
            format_func=names.__getitem__,
            key=f"{key}.{parameter}.{name}.{chosen.get('variant')}",
            persist_state="session",
        )
    if found.get("score") == "F" and found["max_parents"] > 3:
        found["max_parents"] = 3
        st.caption("F takes too long for more than 3 parents: 3 will be used.")
    return found


def next_run(parameters: Mapping[str, Any], rows: int, name: str = "", printed: str = "As the paper prints it") -> None:
    """What the Run button would make."""
    mode = printed[0].lower() + printed[1:] if parameters["mode"] == "paper" else "corrected"
    relation = RELATIONS[parameters["relation"]].lower()
    what = f"epsilon {parameters['epsilon']:g} ({relation}), {mode}, {rows:,} rows"
    what = f"{name}, {what}" if name else what
    st.caption(f"Next run: {what}. Every run is charged to the ledger.")


def run_button(key: str) -> None:
    """The button that makes a release; outside the settings' fragment, so that a press reruns the whole page."""
    jobs.button("Run", key, f"{key}.run", type="primary", icon=":material/play_arrow:", width="stretch")


def noise_picker(key: str, label: str = "Noise", names: Mapping[str, str] = NOISES) -> dict[str, Any]:
    """Source of noise and seed, as constructor arguments."""
    noise = st.selectbox(label, list(names), format_func=names.__getitem__, key=f"{key}.noise", persist_state="session")
    seed = st.number_input(
        "Seed (empty: none)",
        min_value=0,
        max_value=2**31,
        value=None,
        step=1,
        key=f"{key}.seed",
        persist_state="session",
        help="A seed makes a demo repeatable and its protection worthless: whoever knows it can subtract the noise.",
    )
    if noise == "auto" and seed is not None:
        st.caption("Exact noise takes no seed: NumPy's continuous noise will be used, for teaching.")
    elif noise != "auto":
        st.caption(TEACHING)
    return {"noise": noise, "random_state": None if seed is None else int(seed)}
