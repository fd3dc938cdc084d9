"""What the page of randomized responses asks and shows of its own: settings, and reports beside the truth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts, reporting
from dpcore.bayes import Bayes
from dpcore.channels import ERRPH
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import forms, panels
from dpcore.dashboard.forests import WRONG
from dpcore.dashboard.frame import escaped
from dpcore.dashboard.state import ShownModel, remember
from dpcore.methods import METHODS
from dpcore.reports import Reports
from dpcore.schema import Schema

__all__ = [
    "CHOICES",
    "CORRECTED",
    "EPSILONS",
    "HIDDEN",
    "PAPER",
    "PRINTED",
    "REMARKS",
    "amount",
    "next_run",
    "options",
    "reports",
]

CORRECTED: dict[str, dict[str, Any]] = {
    "PPNB-LDP: naive Bayes from randomized answers": {"method": "PPNB"},
    "DTPD: a tree from randomized bits": {"method": "DTPD"},
    "DTCRD: a tree from numbers with noise": {"method": "DTCRD"},
}
PRINTED = "As the papers print it"
REMARKS = {
    "PPNB": WRONG.format("The class is handed in as it is, and numbers have no finite epsilon."),
    "DTPD": WRONG.format("Turning all bits together hides a person among their exact opposites only."),
    "DTCRD": WRONG.format("Uniform or normal noise has no finite epsilon, and the class is handed in as it is."),
    "Plain naive Bayes": ":red[:material/warning: Everybody tells the truth. For comparison on this screen only.]",
}
PAPER: dict[str, dict[str, Any]] = {name: {"method": name} for name in REMARKS}
CHOICES = (CORRECTED, PAPER, REMARKS, PRINTED)
EPSILONS = (0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
USUAL = 4.0
ABOUT = (
    "About you: what you answered, all your answers together. Worst case over all observers, the collector among "
    "them; pure epsilon; for one round of questions."
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
WIDTHS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0)
FIRST = 10
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
        return {"epsilon": forms.epsilon_picker(key, USUAL, EPSILONS, ABOUT)}
    if "p0" in known:
        p0 = float(picked_p(key, "p0", "p0: how probably an answer is the truth on purpose", 0.5))
        several = ", ".join(f"{k} values: **{float(ERRPH(k, p0=p0).epsilon):.2f}**" for k in (2, 4, 16))
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
    """What the Run button would make."""
    paper = parameters["mode"] == "paper"
    how = f"{PRINTED[0].lower()}{PRINTED[1:]}" if paper else f"corrected, epsilon {parameters['epsilon']:g} per person"
    st.caption(f"Next run: {name}, {how}. Everybody reports once more, and pays for it: the ledger counts it.")


def reports(page: str, shown: ShownModel) -> None:
    """One column as it is, as it was reported, and as it is reconstructed."""
    release, data = shown.release, shown.data
    if release.reports is None:
        st.info("This method has no reports.")
        return
    found: Reports = release.reports
    st.markdown(
        f"This is all that the collector has: **{found.people:,} rows of reports**, one per person, and the public "
        "rules by which they were made. What you see of the truth is for this screen only."
    )
    st.dataframe(remember(shown, "reports", lambda: first(found)), hide_index=True, key=f"{page}.reports")
    st.caption(f"The first {FIRST} people. All reports are in the zip on the tab Take home.")
    name = str(st.selectbox("One column", reporting.columns(found), key=f"{page}.reported.{release.method}"))
    true = data.train
    if release.method == "DTPD":
        true = remember(shown, "bits", lambda: reporting.as_bits(data.train, release.schema, release.target))
    if reporting.is_number(found, name):
        model = release.model.predictor
        bayes = model if isinstance(model, Bayes) else None
        frame = remember(shown, f"numbers {name}", lambda: reporting.densities(found, true, name, bayes))
        panels.chart(charts.mark_real(charts.reported_numbers(frame, column=name)), data=frame)
        if bayes is not None:
            st.caption("Reconstructed is a normal distribution per class, whatever shape the true numbers have.")
            return
        st.caption(
            "Reconstructed is the distribution over intervals of the public range that makes the reports likely, for "
            "all classes together. The method does this for each class."
        )
        gains = remember(shown, f"steps {name}", lambda: reporting.steps(found, name))
        panels.chart(charts.steps(gains, column=name))
        panels.table_behind(gains, "The numbers behind this chart")
        return
    frame = remember(shown, f"shares {name}", lambda: reporting.shares_of_column(found, true, name))
    panels.chart(charts.mark_real(charts.reported_shares(frame, column=name)), data=frame)
    told(frame, found, name)


def first(found: Reports) -> pd.DataFrame:
    """What the first people reported: a column per question, or, if each was asked for few, a line per answer."""
    frame = found.frame().head(FIRST)
    if not found.asked:
        return frame
    lines = frame.rename_axis("person").reset_index().melt("person", var_name="question", value_name="report").dropna()
    return lines.sort_values(["person", "question"]).assign(person=lambda rows: rows["person"] + 1)


def told(frame: pd.DataFrame, found: Reports, name: str) -> None:
    """What the picture shows, in a sentence or two."""
    inside = frame["real"].between(frame["low"], frame["high"])
    people = len(found.values[reporting.family_of(found, name)])
    parts = [f"{people:,} of {found.people:,} people reported **{escaped(name)}**."]
    if np.isfinite(frame["high"]).all():
        parts.append(f"{inside.sum():,} of {len(frame):,} intervals hold the true share ({REAL_DATA}).")
    else:
        parts.append("The rule gives reports that tell nothing.")
    impossible = ((frame["reconstructed"] < 0) | (frame["reconstructed"] > 1)).sum()
    if impossible:
        parts.append(
            f"{impossible:,} estimates lie below 0 % or above 100 %: they are right on average, and noise can carry "
            "them there. Clipping them to 0 would make rare values look more frequent than they are."
        )
    if frame["reported"].isna().all():
        parts.append("Reports of this column are bits or hashes, not values, so there is no reported share.")
    st.markdown(" ".join(parts))
