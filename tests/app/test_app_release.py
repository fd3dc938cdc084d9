"""From the first press to the zip; and no widget but Run asks the rows anything."""

import io
import json
import math
import os
import re
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from driving import (
    PAGE,
    ROOT,
    books,
    change,
    charts,
    csv,
    dataset,
    elements,
    errors,
    metrics,
    opened,
    people,
    press,
    released,
    run,
    said,
    shown,
    started,
    sums,
    tab,
    tabs,
    upload,
    using,
    widget,
)
from prepared import another
from streamlit.testing.v1 import AppTest

from dpcore import Schema
from dpcore.export import privacy_card

FILES = {"synthetic.csv", "schema.json", "config.json", "ledger.json", "ledger.csv"}
FILES |= {"replay.py", "replay.ipynb", "report.html", "card.md", "README.md"}
ALONE = ["release", "report alone", "notebook alone"]
WITH_CHARTS = ("Price", "Columns", "Pairs", "Accuracy")
MOST_CELLS = 2 * 41 * 41  # of a chart: two heat maps of 40 values and the others
SECRET = 1234.56789


def unzipped(raw: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_first_start_to_export(downloads: list[Any]) -> None:
    at = press(started(), "home.try")
    assert at.title[0].value == "Naive Bayes"
    assert not at.error
    first = shown(at)
    assert first is not None
    assert first.release.data_name == "sample"
    assert dict(metrics(at))["Synthetic rows"] == f"{len(first.release.synthetic):,}"
    assert dict(metrics(at))["Epsilon claimed"] == dict(metrics(at))["Epsilon proved"] == "1"

    for name in tabs(at):
        tab(at, name)
        assert (len(charts(at)) > 1) == (name in WITH_CHARTS), name  # beside the icons of the settings
        assert not at.error, name
    assert [button.label.rpartition(" the ")[2] for button in at.download_button] == ALONE
    assert not any(button.proto.deferred_file_id for button in at.download_button)  # lost under a rerun

    files = unzipped(downloads[-1]())
    release = first.release
    assert set(files) == FILES
    assert len(pd.read_csv(io.BytesIO(files["synthetic.csv"]))) == len(release.synthetic)
    assert Schema.from_json(files["schema.json"].decode()) == dataset(at).schema
    ledger = json.loads(files["ledger.json"])
    assert (ledger["epsilon_claimed"], ledger["epsilon_bound"]) == (1.0, 1.0)
    assert sum(entry["epsilon_bound"] for entry in ledger["entries"]) == pytest.approx(1.0)
    assert len(pd.read_csv(io.BytesIO(files["ledger.csv"]))) == len(ledger["entries"])
    assert b"random_state" not in files["replay.py"]  # a release without a seed cannot be made again
    assert not any(name.encode() in content for content in files.values() for name in sums(at))
    config = json.loads(files["config.json"])
    assert config["parameters"] == release.parameters
    assert config["data"]["name"] == "sample"
    text = files["README.md"].decode()
    for part in ("claimed by the method's source: 1\n", "can be proved: 1\n", "Seed: none", "Exact discrete noise"):
        assert part in text
    assert "add or remove one row" in text
    assert "the noise is fit for publication" in text


@cache
def drawn() -> dict[str, list[tuple[dict[str, Any], list[pd.DataFrame]]]]:
    """The charts of every tab of a release of the sample; the first are the icons of the settings."""
    at = released()
    return {name: charts(tab(at, name)) for name in tabs(at)}


def test_every_tab_tells_what_uses_real_rows() -> None:
    for name, found in drawn().items():
        marked = ["do not publish" in json.dumps(spec.get("title", "")) for spec, _ in found]
        assert marked == [False] + [name in ("Columns", "Pairs", "Accuracy")] * (len(found) - 1), name


def test_every_chart_has_a_text_instead() -> None:
    assert all(len(spec["description"]) > 20 for found in drawn().values() for spec, _ in found)


def test_charts_carry_aggregates_only() -> None:
    for name, found in drawn().items():
        for spec, tables in found:
            assert tables, name
            assert max(len(table) for table in tables) <= MOST_CELLS, name
            assert not re.search(r'"data": \{"values"', json.dumps(spec)), name
            assert "datasets" not in spec, name


def test_no_chart_and_no_file_carries_a_real_cell(downloads: list[Any]) -> None:
    """A number that one row has, inside bounds that everybody knows, stays on the page that shows the rows."""
    frame = people().assign(pay=np.linspace(0, 5000, 80).round(5))
    frame.loc[40, "pay"] = SECRET
    at = released(opened(using("pay.csv", csv(frame)), PAGE))
    for name in tabs(at):
        tab(at, name)
        assert len(charts(at)) > 0
        for spec, tables in charts(at):
            text = json.dumps(spec) + "".join(table.to_csv(float_format="%.12g") for table in tables)
            assert "1234.5" not in text, name
            assert all(SECRET not in table.to_numpy() for table in tables)
        tables = [element.value for element in elements(at) if getattr(element, "type", "") == "dataframe"]
        assert all(SECRET not in table.to_numpy() for table in tables)
    assert all(b"1234.567" not in content for content in unzipped(downloads[-1]()).values())


def test_formats_and_downloads_follow_the_choice(downloads: list[Any]) -> None:
    at = tab(released(), "Take home")
    at.segmented_control(f"{PAGE}.format").set_value("parquet")
    run(at)
    files = unzipped(downloads[-1]())
    assert set(files) == FILES - {"synthetic.csv"} | {"synthetic.parquet"}
    pd.testing.assert_frame_equal(
        pd.read_parquet(io.BytesIO(files["synthetic.parquet"])), shown(at).release.synthetic, check_categorical=False
    )


def test_the_card_is_on_the_tab_and_in_the_zip(downloads: list[Any]) -> None:
    at = tab(released(), "Take home")
    text = unzipped(downloads[-1]())["card.md"].decode()
    for what, about in privacy_card.card(shown(at).release).facts:
        assert f"**{what}:** {about}" in said(at).replace("\u200b", "")
        assert f"**{what}:** {about}" in text
    assert "k rows cost k times epsilon" in said(at)


def test_comparisons_with_real_rows_are_in_the_report_only_if_asked_for(downloads: list[Any]) -> None:
    at = tab(released(), "Take home")
    before = books(at)
    files = unzipped(downloads[-1]())
    assert "real data" not in files["report.html"].decode()
    assert "do not publish it" not in files["README.md"].decode()
    assert not at.error
    at.toggle(f"{PAGE}.real").set_value(True)
    run(at)
    assert any("do not publish" in error for error in errors(at))
    files = unzipped(downloads[-1]())
    html = files["report.html"].decode()
    assert html.index("What was released") < html.index("<h2 class='real'>Uses real data: do not publish</h2>")
    assert html.count("The numbers behind this chart") == 2
    assert "do not publish it" in files["README.md"].decode()
    packed = {name: value for name, value in shown(at).memory.items() if "zip" in name}
    assert len(packed) == 2
    at.toggle(f"{PAGE}.real").set_value(False)
    run(at)
    assert "real data" not in unzipped(downloads[-1]())["report.html"].decode()
    assert {name: value for name, value in shown(at).memory.items() if "zip" in name} == packed  # nothing made twice
    assert books(at) == before


def replayed(files: dict[str, bytes], folder: Path, data: bytes) -> pd.DataFrame:
    """The rows that a zip's script makes from a person's file."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "your-data.csv").write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-W", "error", "replay.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "claimed 1.0 proved inf" in done.stdout
    return pd.read_csv(folder / "synthetic-again.csv")


def test_seeded_release_replays_to_the_same_rows(downloads: list[Any], tmp_path: Path) -> None:
    raw = csv(people(300))
    at = tab(released(opened(using("people.csv", raw), PAGE), seed=11), "Take home")
    files = unzipped(downloads[-1]())
    assert "Seed: 11." in files["README.md"].decode()
    assert "do not publish" in files["README.md"].decode()
    again = replayed(files, tmp_path, raw)
    pd.testing.assert_frame_equal(again, pd.read_csv(io.BytesIO(files["synthetic.csv"])))
    assert list(again["age"]) == list(shown(at).release.synthetic["age"])


def test_seeded_release_replays_whatever_was_kept_aside(downloads: list[Any], tmp_path: Path) -> None:
    raw = csv(people(300))
    at = upload(started("data"), "people.csv", raw)
    at.slider("data.share").set_value(0.2)
    widget(at, "data.target").set_value("ill")
    press(at, "data.use")
    tab(released(opened(at, PAGE), seed=11), "Take home")
    files = unzipped(downloads[-1]())
    pd.testing.assert_frame_equal(replayed(files, tmp_path, raw), pd.read_csv(io.BytesIO(files["synthetic.csv"])))


# No widget but Run asks the rows anything


def test_no_widget_of_any_tab_draws_or_spends() -> None:
    """All that can be moved, moved: found on the screen, so that new widgets are moved too."""
    at = released(opened(using("people.csv", csv(people())), PAGE))
    first, release, spent = shown(at), shown(at).release, books(at)
    rows = release.synthetic.copy()
    moved = set()
    for name in tabs(at):
        tab(at, name)
        while True:
            waiting = [w for w in elements(at) if w.key and w.key not in moved and another(w) is not None]
            if not waiting:
                break
            found = min(waiting, key=lambda w: w.key == f"{PAGE}.mode")  # last, because it puts others away
            moved.add(found.key)
            found.set_value(another(found))
            run(at)
            assert shown(at) is first, (name, found.key)
            assert shown(at).release is release
            assert books(at) == spent, (name, found.key)
            assert f"dpcore.request:{PAGE}" not in at.session_state
    names = {key.partition(":")[0].removeprefix(f"{PAGE}.") for key in moved}
    assert {"epsilon", "mode", "variant.corrected", "variant.paper", "relation", "rows", "noise", "seed"} <= names
    assert {"column", "pair_x", "pair_y", "format", "smoothing", "target", "figures.repeats"} <= names
    pd.testing.assert_frame_equal(release.synthetic, rows)


SETTINGS = {
    "epsilon": 0.1,
    "mode": "paper",
    "variant.corrected": "C2: the paper's algorithm at its true price",
    "relation": "replace",
    "rows": 123,
    "target": "sex",
    "noise": "geometric",
    "seed": 7,
    "smoothing": 2.0,
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_waits_for_run(name: str) -> None:
    at = released()
    first, spent, text = shown(at), books(at), metrics(at)
    change(at, **{name: SETTINGS[name]})
    assert shown(at) is first
    assert books(at) == spent
    assert metrics(at) == text
    assert not at.error  # what is on the screen is still the release that has no flaw
    press(at, f"{PAGE}.run")
    assert shown(at) is not first
    parameters = shown(at).release.parameters
    if name == "rows":
        assert len(shown(at).release.synthetic) == 123
    elif name == "variant.corrected":
        assert parameters["variant"] == "C2"
    else:
        assert parameters[{"seed": "random_state"}.get(name, name)] == SETTINGS[name]


def test_one_press_is_one_release() -> None:
    at = started(PAGE)
    seen = []
    for presses in (1, 2, 3):
        press(at, f"{PAGE}.run")
        (account,) = at.session_state["dpcore.accounts"].values()
        assert len([child for child in account.children if child.entries]) == presses
        assert account.epsilon_bound == account.epsilon_claimed == presses
        seen.append(shown(at).release)
        for _ in range(2):
            run(at)
        assert account.epsilon_bound == presses
        assert shown(at).release is seen[-1]
    assert len({id(release) for release in seen}) == 3
    assert not seen[0].synthetic.equals(seen[1].synthetic)


def test_settings_stay_when_pages_change() -> None:
    at = change(started(PAGE), epsilon=0.1, relation="replace", seed=5)
    opened(opened(at, "ledger"), PAGE)
    assert widget(at, f"{PAGE}.epsilon").value == 0.1
    assert widget(at, f"{PAGE}.relation").value == "replace"
    assert widget(at, f"{PAGE}.seed").value == 5


# What the paper says, and what holds


def headline(at: AppTest) -> tuple[float, float]:
    found = dict(metrics(at))
    return tuple(
        float(found[name].replace(",", "").replace("none", "inf")) for name in ("Epsilon claimed", "Epsilon proved")
    )


def test_paper_mode_claims_one_and_costs_thousands() -> None:
    at = released(mode="paper")
    claimed, bound = headline(at)
    assert claimed == 1
    assert 1000 <= bound < np.inf
    assert any("claims epsilon 1" in error and f"{bound:,.0f}" in error for error in errors(at))
    assert "practically certain" in said(at)
    assert "one, and bounds the change of x instead of D" in said(at)
    (spent,) = books(at).values()
    assert spent[1] == 1
    assert spent[2] == pytest.approx(bound, rel=1e-3)


def test_algorithm_1_has_no_finite_epsilon(downloads: list[Any]) -> None:
    at = released(mode="paper", **{"variant.paper": "Algorithm 1: random rows, labels by the exact model (no privacy)"})
    assert headline(at)[1] == np.inf
    assert "none" in said(at)
    assert any("No finite epsilon" in error for error in errors(at))
    for name in tabs(at):
        tab(at, name)
    files = unzipped(downloads[-1]())
    assert json.loads(files["ledger.json"])["epsilon_bound"] == "infinity"
    assert "do not publish" in files["README.md"].decode()
    assert "none" in said(opened(at, "ledger"))


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("variant", ["C1-gen: rows drawn from", "C1: random rows", "C2: the paper's algorithm"])
def test_corrected_mode_claims_what_it_costs(variant: str, relation: str) -> None:
    at = started(PAGE)
    (option,) = [name for name in widget(at, f"{PAGE}.variant.corrected").options if name.startswith(variant)]
    released(at, **{"variant.corrected": option, "relation": relation, "epsilon": 0.5})
    assert headline(at) == (0.5, 0.5)
    assert not at.error


def test_a_seed_is_for_teaching() -> None:
    at = released(seed=3)
    assert any("For teaching only" in error for error in errors(at))
    assert "seeded" in said(at)
    rows = shown(at).release.synthetic
    released(at)
    pd.testing.assert_frame_equal(shown(at).release.synthetic, rows)
    released(at, seed=None)
    assert not at.error


def test_noise_that_may_be_published() -> None:
    at = released()
    assert "OpenDP" in said(at)
    assert shown(at).release.publishable
    assert not at.error
    released(at, seed=3)  # exact noise takes none: NumPy's stands in, and the page says so
    assert not shown(at).release.publishable
    assert "NumPy's continuous noise will be used" in said(at)
    released(at, noise="laplace", seed=None)
    assert not shown(at).release.publishable
    assert "for teaching" in said(at)
    assert "these numbers can be attacked" in said(at)


def test_relations_have_accounts_of_their_own() -> None:
    at = released(epsilon=2.0)
    released(at, relation="replace", epsilon=3.0)
    released(at)
    assert [spent[2] for spent in books(at).values()] == [2.0, 6.0]
    opened(at, "ledger")
    assert len(at.subheader) == len({found.value for found in at.subheader}) == 2
    assert all("sample" in found.value for found in at.subheader)
    cells = [value for label, value in metrics(at) if label == "Epsilon proved, in all"]
    assert cells == ["2", "6"]
    assert [value for label, value in metrics(at) if label == "Releases looked at"] == ["1", "2"]
    assert not re.search(r"\b8(\.0)?\b", " ".join(value for _, value in metrics(at)))
    assert "together they cost at most epsilon **10** under replace" in said(at)  # 2 * 2 + 6


def test_the_ledger_proves_nothing_of_seeded_runs() -> None:
    at = released(seed=3)
    released(at, relation="replace", seed=None)
    opened(at, "ledger")
    assert [value for label, value in metrics(at) if label == "Epsilon proved, in all"] == ["none", "1"]
    assert "For teaching only" in said(at)
    assert "together they cost" not in said(at)


def test_other_data_have_accounts_of_their_own() -> None:
    at = released()
    first = shown(at)
    opened(at, "data")
    upload(at, "people.csv", csv(people()))
    widget(at, "data.target").set_value("ill")
    press(at, "data.use")
    opened(at, PAGE)
    assert shown(at) is first  # until the next run
    assert "made from sample" in said(at)
    assert "people.csv" in at.sidebar.markdown[0].value.replace("\\", "")
    released(at)
    assert [spent[1:] for spent in books(at).values()] == [(1.0, 1.0), (1.0, math.inf)]  # whose schema was inferred
    assert len({key for key, _ in books(at)}) == 2


def test_empty_ledger_leads_to_a_release() -> None:
    at = started("ledger")
    assert "nothing on it yet" in said(at)
    assert press(at, "ledger.next").title[0].value == "Naive Bayes"
