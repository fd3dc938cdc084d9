"""What the page of randomized responses asks: methods, how much noise, and what people report."""

import math
from collections.abc import Mapping
from typing import Any

import streamlit as st

from dpcore.dashboard import controls
from dpcore.domain.schema import Schema
from dpcore.mechanisms.randomizers import ERRPH
from dpcore.methods import METHODS
from dpcore.text import number

PRINTED = "As the papers print it"
EPSILONS = (0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
USUAL = 4.0
ABOUT = (
    "About you: what you answered, all your answers together. Worst case over all observers, the collector among "
    "them; pure epsilon; for one round of questions. Holds with a declared schema and without a seed; as printed, only "
    "where its proof holds."
)
P0 = (0.05, 0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 0.95)
NOISES: dict[str, dict[str, Any]] = {
    "a from N(1, 1), b from N(0, 1)": {"factors": (1.0, 1.0), "offsets": (0.0, 1.0)},
    "a from N(2, 10), b from N(0, 5)": {"factors": (2.0, 10.0), "offsets": (0.0, 5.0)},
}
NUMBERS = {"bins": "As one of the schema's bins", "moments": "As a number, with Laplace noise"}
PROTOCOLS = {
    "best": "By the method with less noise",
    "ERRPH": "A value, perhaps another one (ERRPH)",
    "OUE": "A bit per value (OUE)",
    "OLH": "A hash (OLH)",
}
RECONSTRUCTIONS = {
    "shrink": "What noise alone would say is shrunk away",
    "clip": "Clipped at 0",
    "project": "Nearest distribution",
    "likelihood": "Most likely distribution",
}
TRUE = "Plain naive Bayes"
SEEN = "your reports"
LOTS = {"auto": "The operating system, exact noise (for publication)", "laplace": "NumPy (teaching)"}
NAMES = """
- **PPNB** (the paper's method): naive Bayes from randomized answers. **PPNB-LDP**: the same with every answer
  randomized, the class too. LDP is local differential privacy: the noise is added by each person.
- **ERRPH** (the paper's rule): the truth with probability p0, otherwise any of the values, drawn. With two values it is
  called **RRPH**. **Warner's rule**: the truth with probability p, otherwise the opposite.
- **TRR** (the paper's rule for numbers): y = a x + b, with a and b drawn.
- **OUE**: a yes or no for every value, each of them randomized. **OLH**: a short code of the value, randomized.
- **DTPD** (Du and Zhan 2003): a decision tree from bits that are kept or turned round, all with probability theta.
- **DTCRD** (Agrawal and Srikant 2000): a decision tree from numbers with noise, whose distributions are reconstructed.
"""
WIDTHS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0)
HIDDEN = "Hides what you answer, not whether you take part."
ALL = "All of them"
SECTIONS: dict[str, Mapping[Any, str]] = {
    "groups": {"one": "All bits of a person together", "each": "Every bit for itself"},
    "variant": {"by_class": "By class", "global": "For all classes together", "local": "Anew in every node"},
}


def amount(key: str, mode: str, name: str) -> dict[str, Any]:
    """How much noise: epsilon in corrected mode, the printed rule's own parameter otherwise."""
    known = METHODS[name]().get_params()
    if mode == "corrected":
        return {"epsilon": controls.epsilon_picker(key, USUAL, EPSILONS, ABOUT, SEEN)}
    if "p0" in known:
        p0 = float(picked_p(key, "p0", "p0: how probably an answer is the truth on purpose", 0.5))
        several = ", ".join(f"{k} values: **{number(float(ERRPH(k, p0=p0).epsilon))}**" for k in (2, 4, 16))
        st.caption(f"Local epsilon of one answer with {several}. A person's answers add up.")
        noise = st.selectbox("Numbers become a x + b", list(NOISES), key=f"{key}.transform", persist_state="session")
        return {"p0": p0, **NOISES[noise]}
    if "theta" in known:
        theta = float(picked_p(key, "theta", "theta: how probably the bits are sent as they are", 0.7))
        told = abs(math.log(theta / (1 - theta)))
        st.caption(f"One bit alone: local epsilon **{told:.2f}**. At 1/2, reports would tell nothing.")
        return {"theta": theta}
    if "privacy" in known:
        left, right = st.columns(2, gap="medium")
        with left:
            kind = select(key, "randomizer", "Noise of numbers", {"uniform": "Uniform", "normal": "Normal"})
        wide = right.select_slider(
            "95 % of the noise, as a share of the range",
            WIDTHS,
            value=1.0,
            format_func=lambda v: f"{v:.0%}",
            key=f"{key}.privacy",
            persist_state="session",
        )
        return {"randomizer": kind, "privacy": float(wide)}
    return {}


def picked_p(key: str, parameter: str, label: str, usual: float) -> float:
    """A probability of the papers' grid."""
    offered = [p for p in P0 if p != 0.5 or parameter == "p0"]
    found: float = st.select_slider(label, offered, value=usual, key=f"{key}.{parameter}", persist_state="session")
    return found


def options(key: str, name: str, chosen: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """What else a method lets one choose, as constructor arguments."""
    known, paper = METHODS[name]().get_params(), chosen["mode"] == "paper"
    found: dict[str, Any] = {}
    left, right = st.columns(2, gap="large")
    with left:
        if "pairs" in known and not paper:
            found |= asked(key, schema, chosen.get("target") or schema.target)
            if not found["pairs"]:
                found["numbers"] = select(key, "numbers", "Numbers are reported", NUMBERS)
        if "max_depth" in known:
            key_of_depth = f"{key}.depth.{name}"
            depth = st.number_input(
                "Depth at most", 1, 12, known["max_depth"], key=key_of_depth, persist_state="session"
            )
            found["max_depth"] = int(depth)
    with right:
        if "pairs" in known and not paper:
            found["protocol"] = select(key, "protocol", "Values are reported as", PROTOCOLS)
        if "reconstruction" in known:
            offered = {how: told for how, told in RECONSTRUCTIONS.items() if how != "shrink" or not paper}
            place = f"reconstruction.{chosen['mode']}"
            found["reconstruction"] = select(key, place, "Tables from reports", offered)
        for parameter, label in (("groups", "Turned round"), ("variant", "Distributions are reconstructed")):
            if parameter in known and (parameter != "groups" or paper):
                found[parameter] = select(key, parameter, label, SECTIONS[parameter])
        if "merge" in known and not paper and found.get("numbers") != "moments":
            found["merge"] = st.toggle(
                "Merge bins that the noise cannot tell apart",
                value=True,
                key=f"{key}.merge",
                persist_state="session",
                help="How many are left follows from the number of people, epsilon and the schema: all public.",
            )
    return found


def asked(key: str, schema: Schema, target: str | None) -> dict[str, Any]:
    """How many columns each person is asked for."""
    most = len(schema) - (target is not None)
    choices = [*range(1, min(most - 1, 6) + 1), 0]
    count = st.selectbox(
        "Columns that each person is asked for, by lot",
        choices,
        format_func=lambda m: f"{m:,} of {most:,}" if m else ALL,
        key=f"{key}.asked:{most}",
        persist_state="session",
        help="Fewer answers per person leave more epsilon for each of them.",
    )
    pairs = st.toggle(
        "Class and column as one answer",
        value=True,
        key=f"{key}.pairs",
        persist_state="session",
        help="One report of both, instead of a report each that share epsilon.",
    )
    return {"asked": count or None, "pairs": bool(pairs)}


def select(key: str, parameter: str, label: str, names: Mapping[Any, str]) -> Any:
    """One of some options."""
    return st.selectbox(
        label, list(names), format_func=names.__getitem__, key=f"{key}.{parameter}", persist_state="session"
    )


def next_run(name: str, parameters: Mapping[str, Any]) -> None:
    """What the Run button would make, who plays the people, and what names stand for."""
    paper = parameters["mode"] == "paper"
    how = f"{PRINTED[0].lower()}{PRINTED[1:]}" if paper else f"corrected, epsilon {parameters['epsilon']:g} per person"
    once_more = "Everybody reports, and pays for it: the ledger counts every round."
    st.caption(f"Next run: {name}, {how}. {'Everybody tells the truth.' if name == TRUE else once_more}")
    st.caption(
        "This program plays all the people: it tosses their coins, and learns from their reports only. What is true it "
        "keeps to compare with, on this screen."
    )
    with st.expander("What the names stand for"):
        st.markdown(NAMES)
