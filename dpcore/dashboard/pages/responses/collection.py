"""Collected reports on screen: learn a classifier from a table of reports and its public rules.

No rows and no other file are needed. Everything is post-processing, so nothing is spent.
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
from dpcore.datasets.formats import TABLE_FORMATS
from dpcore.export.artifacts import Model
from dpcore.export.collection import Collection
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.methods.local.base import LocalClassifier
from dpcore.postprocess import forest_frames
from dpcore.postprocess.forest import Forest
from dpcore.text import number

Memory = dict[str, Any]  # computed values of a collection, and its model


def draw_collection(page: str) -> None:
    """Draw the uploads of randomized reports and their public rules, the model and predictions."""
    key = f"{page}.collected"
    markdown(
        "Who collects reports and who learns from them need not be the same. **Two files are "
        "enough**: the table of reports, and the public rules that made it."
    )
    left, right = st.columns(2, gap="large")
    with left:
        table = housekeeping.uploader(f"reports.csv ({', '.join(TABLE_FORMATS)})", key=f"{key}.table")
    with right:
        rules = housekeeping.uploader("rules.json", type="json", key=f"{key}.rules")

    def read_files() -> tuple[Collection, Memory]:
        """Return the reports and rules of the uploaded files, and an empty memory for their model."""
        limits = {"max_shape": hosting.max_shape(1)}
        return Collection.read(table.getvalue(), rules.getvalue(), table.name, **limits), {}

    request = None if table is None or rules is None else (table.file_id, rules.file_id)
    found = jobs.read_upload(f"dpcore.{key}", request, phrase("Reading the files"), read_files, last=True)
    if found is None:
        caption(
            "Both files are in the zip of a release from reports, if that release has a finite epsilon and no known "
            "seed. Learning from the files adds no privacy loss."
        )
        return
    answers, memory = found
    draw_facts(answers)
    model = None
    with mendable():
        model = learn_model(key, answers, memory)
    made, keep = answers.reports, partial(compute_once, memory)
    st.header(say("What people reported"))
    reports.draw_first_reports(f"{key}.first", made)
    reports.draw_column(f"{key}.column", made, None, model and model.predictor, keep)
    if model is not None:
        st.header(say("Predict"))
        predict.predict_rows(key, model)


def draw_facts(found: Collection) -> None:
    """Draw how many rows of reports the uploaded files hold, and what one row can cost at most."""
    made = found.reports
    text = say(
        "**{rows:,} rows of reports** answer up to {questions:,} questions each. The class is "
        "**{target}**. By these rules one row of reports can cost up to epsilon **{epsilon}**.",
        rows=made.people,
        questions=len(made.channels),
        target=escape(made.target),
        epsilon=number(made.largest_epsilon()),
    )
    st.markdown(f"{text} {reports.unprotected_columns(made)}")
    predict.draw_model_privacy(found.origin)


def learn_model(key: str, found: Collection, memory: Memory) -> Model | None:
    """Draw the choice of a learning method; return the classifier learned from the reports.

    `found` are the uploaded reports. Returns None if no method can learn from them. `memory` keeps
    the model of the latest settings.
    """
    said, able = found.origin, found.learners
    if not able:
        st.info(say("No method of this program can learn from these reports."))
        return None
    with st.container(border=True):
        titles = {name: METHODS[name].title for name in able}
        first = able.index(said["method"]) if said["method"] in able else 0
        state_key = f"{key}.method:{' '.join(able)}:{first}"
        name = choice(st.radio, say("Method that learns from the reports"), state_key, titles, first, horizontal=True)
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
            memory.clear()  # it holds another model
        with st.spinner(say("Learning from reports")):
            model = compute_once(memory, wanted, lambda: found.learn(method))
    if isinstance(forest := model.predictor, Forest):
        nodes = compute_once(memory, "nodes", lambda: forest_frames.node_table(forest))
        panels.chart(charts.forest_tree(nodes, title=say("The tree that was learned")), data=nodes)
    file = compute_once(memory, "file", model.to_json)
    file_button(f"{key}.model", say("Download the model"), file, "model.json", type="primary")
    return model
