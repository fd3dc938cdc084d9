"""The line *Before you run*: what a run will be good for, and what it lacks, from public facts alone."""

from typing import Any

import streamlit as st

from dpcore.dashboard.shell import escaped
from dpcore.datasets import Dataset
from dpcore.language import phrase, retold, say
from dpcore.methods import presets
from dpcore.methods.base import PrivateEstimator
from dpcore.methods.presets import Preset

CHARGED = phrase("This run will be charged to your privacy budget.")


def line(method: Any, own: PrivateEstimator, preset: Preset, data: Dataset, public: int | None) -> None:
    """What is expected of a run of the method, and whether a guarantee holds; it reads no row.

    `own` is the method as it runs on rows, of which so many are `public`.
    """
    parts = expected(method, own, data, public)
    told = [f"**{say('Before you run')}**", *parts, say(CHARGED)]
    with st.container(key="before"):
        st.markdown(" · ".join(told))
        if why := presets.void_reason(method, data.schema):
            st.markdown(f":red[:material/warning: {say('Guarantee')}: {escaped(say(why))}]")
        elif method.mode == "published":
            good, bad = ":material/verified: {}", ":red[:material/warning: {}]"
            st.markdown((good if preset.holds else bad).format(retold(preset.remark)))


def expected(_: Any, __: PrivateEstimator, ___: Dataset, ____: int | None) -> list[str]:
    """What is expected of the run."""
    return []
