"""The forecast beside the settings: asked for once, then it moves with epsilon; it costs nothing and sees no row."""

from functools import partial

import driving
import pytest
from driving import change, people, press, run
from prepared import data, page, with_release
from screen import charts, errors, said, widget

from dpcore.dashboard.sections import forecast as section
from dpcore.datasets import Dataset
from dpcore.domain.unit import Unit
from dpcore.experiment import forecasts
from dpcore.experiment.forecasts import Band, Expected, Forecast
from dpcore.methods import METHODS
from dpcore.methods.synthesizer import Synthesizer

ROWS, GO = "forecast.rows.naive_bayes", "forecast.naive_bayes.go"
PAGES = sorted({kind.page for kind in METHODS.values() if issubclass(kind, Synthesizer)})


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rehearsals on few rows."""
    monkeypatch.setattr(forecasts, "ROWS", 500)
    monkeypatch.setattr(forecasts, "TRIAL_ROWS", 500)


def waited(at):
    """The page when the work is over."""
    for _ in range(100):
        if "Without any noise" in said(at):
            return at
        run(at)
    raise AssertionError("The forecast did not come.")


def test_a_forecast_moves_with_epsilon_and_gives_one_for_a_distance() -> None:
    at = page(data(max_rows=400))
    assert "nine of ten" not in said(at)
    at = waited(press(at, GO))
    first = said(at)
    assert "At epsilon 1, nine of ten **columns** may be off" in first
    assert "of 400." in first
    assert "**Lost**" in first
    assert any("How far off" in str(chart) for chart in charts(at))
    assert not at.session_state["dpcore.accounts"]  # nothing was asked of any row
    change(at, epsilon=10.0)
    assert "At epsilon 10, nine of ten" in said(at)
    at.number_input("forecast.within.naive_bayes").set_value(60.0)
    run(at)
    offered = widget(at, "forecast.use.naive_bayes").label
    press(at, "forecast.use.naive_bayes")
    assert offered == f"Use epsilon {widget(at, 'naive_bayes.epsilon').value:g}" != "Use epsilon 10"
    at.number_input("forecast.within.naive_bayes").set_value(0.1)
    assert "No epsilon here" in said(run(at))


@pytest.mark.parametrize("name", PAGES)
def test_a_run_that_protects_persons_has_a_forecast(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """With a column that says whose row it is, every row has a fraction of epsilon, which is no parameter."""
    monkeypatch.setattr(driving, "PAGE", name)
    monkeypatch.setattr(section, "forecast", partial(forecasts.forecast, epsilons=(0.1, 1.0)))
    rows = people().assign(who=[f"p{i // 3}" for i in range(80)])
    schema = data(people(), max_rows=400, unit=Unit(rows=3, column="who")).schema
    at = press(page(Dataset("visits", rows[24:], rows[:24], schema, "visits")), f"forecast.{name}.go")
    assert not errors(at)
    assert "At epsilon 1, nine of ten **columns** may be off" in said(waited(at))  # of a person
    assert not at.session_state["dpcore.accounts"]


def test_the_number_of_rows_is_typed_where_it_is_private_and_never_counted() -> None:
    told = []
    for rows in (people(), people().head(60)):
        at = waited(press(page(data(rows, max_rows=None)), GO))
        assert widget(at, ROWS).value == section.USUAL
        told.append([line for line in said(at).splitlines() if "nine of ten" in line])
    assert told[0] == told[1]
    assert "of 10,000." in told[0][0]


def test_a_forecast_is_of_its_settings_and_schema_and_a_release_folds_it_away() -> None:
    at = waited(press(page(data(max_rows=400)), GO))
    assert "nine of ten" not in said(change(at, smoothing=2.0))
    assert "before it is declared" in said(page(data(max_rows=400, source="inferred")))
    drawer = next(found for found in with_release(given=data(max_rows=400)).expander if found.label == "Settings")
    assert not drawer.proto.expanded


def test_words_of_a_forecast() -> None:
    def at(columns: Band, group: float | None) -> Expected:
        return Expected(1.0, columns, None, group, {})

    near = Band(0.001, 0.01, 0.124)
    assert section.points(near) == "0.1 to 12 points"
    assert "No **group** stands out" in section.expected(at(near, None), 100, 1.0)
    assert "1 in 8 rows**, 12 of 100" in section.expected(at(near, 0.125), 100, 1.0)
    assert Forecast(1, (at(near, None),), at(near, None)).at(3).pairs is None
