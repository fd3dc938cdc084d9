"""Many people on one server: nobody's numbers reach another's screen or files."""

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pandas as pd
import pytest
import vl_convert
from streamlit.delta_generator import DeltaGenerator

from dpcore import charts
from dpcore.dashboard import panels
from dpcore.export import report

SESSIONS, TIMES = 8, 12


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty")
def test_charts_of_one_session_hold_nothing_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []

    def enqueue(place: DeltaGenerator, kind: str, proto, **_) -> DeltaGenerator:
        if kind == "vega_lite_chart":
            sent.append(proto.SerializeToString())
        return place

    def drawn(spec: dict, **_) -> str:
        sent.append(json.dumps(spec).encode())
        return "<svg></svg>"

    monkeypatch.setattr(DeltaGenerator, "_enqueue", enqueue)
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", drawn)
    marks = [f"Zq{place:02}" for place in range(SESSIONS)]
    together = Barrier(SESSIONS)

    def session(mark: str) -> None:
        share = np.linspace(0.1, 0.4, 4)
        columns = dict.fromkeys(("real", "released", "floor_low", "floor_high"), share)
        frame = pd.DataFrame({"value": [f"{mark} {place}" for place in range(4)], **columns})
        chart = charts.marginal(frame, column=mark)
        together.wait()
        for place in range(TIMES):
            if (place + marks.index(mark)) % 2:
                panels.chart(chart)
            else:
                report.svg(chart, 1)

    with ThreadPoolExecutor(SESSIONS) as pool:
        list(pool.map(session, marks))
    assert len(sent) == SESSIONS * TIMES
    assert [sum(mark.encode() in message for mark in marks) for message in sent] == [1] * len(sent)
    assert all(message.count(b" 3") for message in sent)  # with its table
