"""The data user's half: the reports and rules of somebody's release, from their files, teach a classifier here.

No row and no other file is needed, and nothing is spent: all of it is post-processing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import controls, hosting, housekeeping, jobs, panels
from dpcore.dashboard.pages.responses import reports
from dpcore.dashboard.panels import predict
from dpcore.dashboard.panels.download import file_button
from dpcore.dashboard.panels.forest import MOST_NODES
from dpcore.dashboard.shell import escaped, refused
from dpcore.dashboard.widgets import choice
from dpcore.datasets.formats import UNPACKED
from dpcore.errors import DPCoreError
from dpcore.export.collection import Collection
from dpcore.export.model_file import Model
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.methods.local.base import LocalClassifier
from dpcore.postprocess import forest_frames
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.text import claim, limit, number

WHERE = (
    "Both files are in the zip of a release that was learned from reports (tab Download), if that has a finite "
    "epsilon and no known seed. Anyone who has them can learn what the collector could, at no further privacy loss."
)


def collection(page: str) -> None:
    """Two files, what they say, what can be learned from them, and what that predicts."""
    key = f"{page}.collected"
    st.markdown(
        "Who collects reports and who learns from them need not be the same. **Two files are enough**: the table of "
        "reports, and the public rules that made it."
    )
    left, right = st.columns(2, gap="large")
    with left:
        table = housekeeping.uploader(f"reports.csv ({', '.join(UNPACKED)})", key=f"{key}.table")
    with right:
        rules = housekeeping.uploader("rules.json", type="json", key=f"{key}.rules")

    def opened() -> Opened:
        assert table is not None
        assert rules is not None
        made = Collection.read(table.getvalue(), rules.getvalue(), table.name, max_shape=hosting.max_shape(1))
        return Opened(made, made.learners, reports.first(made.reports))

    asked = None if table is None or rules is None else (table.file_id, rules.file_id)
    found = jobs.read_upload(f"dpcore.{key}", asked, phrase("Reading the files"), opened, last=True)
    if found is None:
        st.caption(WHERE)
        return
    about(found.collection)
    model = learned(key, found)
    made = found.collection.reports
    st.header("What people reported")
    st.dataframe(found.first, hide_index=True, key=f"{key}.first")
    st.caption(f"The first {reports.FIRST} people.")
    bayes = model.predictor if model is not None and isinstance(model.predictor, Bayes) else None
    reports.column(f"{key}.column", made, None, bayes, partial(found.remember, model))
    if model is not None:
        st.header("Predict")
        predict.by(key, model)


@dataclass(eq=False)
class Opened:
    """A collection on the screen, what was learned from it last, or why that failed, and what was computed of it."""

    collection: Collection
    able: list[str]
    first: pd.DataFrame
    asked: Any = None
    learned: Any = None
    memory: dict[Any, Any] = field(default_factory=dict)

    def learn(self, asked: Any, method: LocalClassifier) -> Model | DPCoreError:
        """What a method learns, once for what was asked, or why it cannot."""
        if self.asked != asked:
            try:
                self.learned = self.collection.learn(method)
            except DPCoreError as error:
                self.learned = error
            self.asked = asked
        found: Model | DPCoreError = self.learned
        return found

    def remember(self, model: Model | None, name: str, work: Callable[[], Any]) -> Any:
        """What was computed once for the model of the moment."""
        if self.memory.get("model") is not model:
            self.memory.clear()
        self.memory["model"] = model
        if name not in self.memory:
            self.memory[name] = work()
        return self.memory[name]


def about(found: Collection) -> None:
    """Who reported what, and what the files say that it can cost."""
    made, said = found.reports, found.about
    questions = "one question" if len(made.channels) == 1 else f"{len(made.channels):,} questions"
    if made.asked:
        questions += "; each person was asked some of them, chosen at random"
    whose = "of one of a person's rows" if "unit" in said else "of one person"
    st.markdown(
        f"**{made.people:,} {'rows' if 'unit' in said else 'people'}** answered {questions}. The class is "
        f"**{escaped(made.target)}**. By these rules the answers {whose} can cost up to epsilon "
        f"**{number(made.price())}** together. {reports.clear(made)}"
    )
    st.caption(
        f"Its file says: {escaped(str(said['method']))}, claimed: {claim(said['epsilon_claimed'])}, "
        f"can cost up to: {limit(said['epsilon_bound'])}. {escaped(str(said.get('unit', '')))}"
    )
    if said["guarantee_void"]:
        st.warning(escaped(str(said["guarantee_void"])), icon=":material/gpp_bad:")


def learned(key: str, found: Opened) -> Model | None:
    """The classifier that a method learns from the reports, with settings that cost nothing to try."""
    said, able = found.collection.about, found.able
    if not able:
        st.info("No method of this program can learn from these reports.", icon=":material/info:")
        return None
    with st.container(border=True):
        titles = {name: METHODS[name].title for name in able}
        first = able.index(said["method"]) if said["method"] in able else 0
        name = choice(st.radio, "Learn by", f"{key}.method:{' '.join(able)}:{first}", titles, first, horizontal=True)
        again = name == said["method"] and said["mode"] in METHODS[name].modes
        method = METHODS[name](mode=said["mode"] if again else "corrected")
        assert isinstance(method, LocalClassifier)
        for control in method.controls:
            if control.name in method.learning and control.wanted(method):
                place, schema = f"{key}.{name}", found.collection.reports.source
                setattr(method, control.name, controls.value_of(place, method, control, schema, name))
        with st.spinner("Learning"):
            model = found.learn((name, *(getattr(method, part, None) for part in method.learning)), method)
    if isinstance(model, DPCoreError):
        refused(model)
        return None
    if isinstance(forest := model.predictor, Forest):
        nodes = found.remember(model, "nodes", lambda: forest_frames.nodes(forest, most=MOST_NODES))
        panels.chart(charts.forest_tree(nodes, title="The tree that was learned"), data=nodes)
    file = found.remember(model, "file", model.to_json)
    file_button(f"{key}.model", say("Download the model"), file, "model.json", type="primary")
    return model
