"""The data user's half: reports and rules of a release, from their files, teach a classifier here.

No row and no other file is needed, and nothing is spent: all of it is post-processing.
"""

from functools import partial
from typing import Any

import streamlit as st

from dpcore import charts
from dpcore.dashboard import controls, hosting, housekeeping, jobs, panels
from dpcore.dashboard.pages.responses import reports
from dpcore.dashboard.panels import predict
from dpcore.dashboard.panels.download import file_button
from dpcore.dashboard.session import compute_once
from dpcore.dashboard.shell import escape, mendable
from dpcore.dashboard.widgets import caption, choice, markdown
from dpcore.datasets.formats import UNPACKED
from dpcore.export.artifacts import Model
from dpcore.export.collection import Collection
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.methods.local.base import LocalClassifier
from dpcore.postprocess import forest_frames
from dpcore.postprocess.forest import Forest
from dpcore.text import number

Memory = dict[str, Any]  # what was computed of a collection, with the model of the moment


def collection(page: str) -> None:
    """Two files, what they say, what can be learned from them, and what that predicts."""
    key = f"{page}.collected"
    markdown(
        "Who collects reports and who learns from them need not be the same. **Two files are "
        "enough**: the table of reports, and the public rules that made it."
    )
    left, right = st.columns(2, gap="large")
    with left:
        table = housekeeping.uploader(f"reports.csv ({', '.join(UNPACKED)})", key=f"{key}.table")
    with right:
        rules = housekeeping.uploader("rules.json", type="json", key=f"{key}.rules")

    def opened() -> tuple[Collection, Memory]:
        limits = {"max_shape": hosting.max_shape(1)}
        return Collection.read(table.getvalue(), rules.getvalue(), table.name, **limits), {}

    request = None if table is None or rules is None else (table.file_id, rules.file_id)
    found = jobs.read_upload(f"dpcore.{key}", request, phrase("Reading the files"), opened, last=True)
    if found is None:
        caption(
            "Both files are in the zip of a release from reports, if it has a finite epsilon and "
            "no known seed. Learning from them adds no privacy loss."
        )
        return
    answers, memory = found
    draw_facts(answers)
    model = None
    with mendable():
        model = learn_model(key, answers, memory)
    made, keep = answers.reports, partial(compute_once, memory)
    st.header(say("What people reported"))
    reports.first(f"{key}.first", made)
    reports.column(f"{key}.column", made, None, model and model.predictor, keep)
    if model is not None:
        st.header(say("Predict"))
        predict.predict_rows(key, model)


def draw_facts(found: Collection) -> None:
    """Who reported what, and what the files say that it can cost."""
    made = found.reports
    text = say(
        "**{rows:,} rows of reports** answer up to {questions:,} questions each. The class is "
        "**{target}**. By these rules one row of reports can cost up to epsilon **{epsilon}**.",
        rows=made.people,
        questions=len(made.channels),
        target=escape(made.target),
        epsilon=number(made.largest_epsilon()),
    )
    st.markdown(f"{text} {reports.clear(made)}")
    predict.draw_model_privacy(found.origin)


def learn_model(key: str, found: Collection, memory: Memory) -> Model | None:
    """The classifier that a method learns from the reports; its settings cost nothing to try."""
    said, able = found.origin, found.learners
    if not able:
        st.info(say("No method of this program can learn from these reports."))
        return None
    with st.container(border=True):
        titles = {name: METHODS[name].title for name in able}
        first = able.index(said["method"]) if said["method"] in able else 0
        state_key = f"{key}.method:{' '.join(able)}:{first}"
        name = choice(st.radio, say("Learn by"), state_key, titles, first, horizontal=True)
        again = name == said["method"] and said["mode"] in METHODS[name].modes
        method = METHODS[name](mode=said["mode"] if again else "corrected")
        assert isinstance(method, LocalClassifier)
        for control in method.controls:
            if control.name in method.learning and control.applies_to(method):
                schema = found.reports.source
                value = controls.choose_value(f"{key}.{name}", method, control, schema, name)
                setattr(method, control.name, value)
        wanted = f"{name} {method.get_params()}"
        if wanted not in memory:
            memory.clear()  # it was of another model
        with st.spinner(say("Learning")):
            model = compute_once(memory, wanted, lambda: found.learn(method))
    if isinstance(forest := model.predictor, Forest):
        nodes = compute_once(memory, "nodes", lambda: forest_frames.node_table(forest))
        panels.chart(charts.forest_tree(nodes, title=say("The tree that was learned")), data=nodes)
    file = compute_once(memory, "file", model.to_json)
    file_button(f"{key}.model", say("Download the model"), file, "model.json", type="primary")
    return model
