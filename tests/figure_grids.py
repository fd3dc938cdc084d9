"""The papers' figures over small grids, with the number of runs of each; for pages and Python."""

import pytest

from dpcore.experiment import figures
from dpcore.experiment.figures import studies

__all__ = ["FIGURES", "RUNS", "small_grids"]

MAJORITY = {"trained on real rows", "majority class"}
FORESTS = {"majority class", "the paper's forest without noise, depth 5"}
FIELD = {"majority class", "ID3 without noise"}
FIGURES = {  # by page and key: the title, what the chart has beside the runs, the name in Python, runs of a repeat
    ("naive_bayes", "figure_1"): ("Fig. 1 to 4: accuracy", MAJORITY, "000 Fig. 1 to 4", 2 * 2),
    ("networks", "figure_5"): ("Fig. 5: utility", {"without privacy"}, "001 Fig. 5", 11 * 2 + 1),
    ("networks", "figure_4"): ("Fig. 4: disclosure", set(), "001 Fig. 4", 4 * 2),
    ("networks", "figure_6"): ("Fig. 6: run time", set(), "001 Fig. 6", 2 * 2),
    ("networks", "figure_6_columns"): ("Fig. 6 by columns: run time", set(), "001 Fig. 6 by columns", 2 * 2),
    ("taxonomy", "ranges"): ("Error by range", {"leaves only"}, "002 Error by range", 6),
    ("taxonomy", "divisions"): ("Depth and splits", set(), "002 Depth and splits", 4 * 2),
    ("taxonomy", "accuracy"): ("Classification", MAJORITY, "002 Classification", 5 * 2),
    ("forests", "field"): ("Section 2.3: seven methods", FIELD, "003 Section 2.3", 14 * 2),
    ("forests", "depths"): ("Fig. 1: depth and score", FORESTS, "003 Fig. 1", 2 * 2 * 2),
    ("forests", "forests"): ("Fig. 2: three forests", FORESTS, "003 Fig. 2", 5 * 2),
    ("forests", "time"): ("Section 4.2: run time without bins", set(), "003 Section 4.2", 4 * 2),
    ("responses", "noises"): ("Fig. 2: p0 and the noise of numbers", set(), "004 Fig. 2", 2 * 2),
    ("responses", "trees"): ("Fig. 3: PPNB and DTPD", set(), "004 Fig. 3", 2 * 2),
    ("responses", "times"): ("Efficiency: run time", set(), "004 Efficiency", 4 * 2),
    ("responses", "records"): ("Corrected: one epsilon for the whole record", set(), "004 Corrected", 5 * 2),
}
RUNS: dict[str, int] = {name: runs for _, _, name, runs in FIGURES.values()}


VALUES = {  # two of each axis
    "figure_1": [0.5, 1.5], "figure_5": [0.2, 1.0], "figure_4": [100, 200], "figure_6": [1, 2], "divisions": [2, 3],
    "accuracy": [0.2, 1.0], "depths": [0.5, 1.0], "forests": [0.5, 1.0], "noises": [0.4, 0.9], "trees": [0.4, 0.9],
    "records": [1.0, 4.0], "ranges": [None], "field": [0.1, 0.5], "time": [1, 2], "figure_6_columns": [0.5, 1],
    "times": [50, 100],
}  # fmt: skip
MORE = {"figure_1": {"rows": 100}, "figure_6": {"values_of": {}}, "depths": {"depths": [2]}}


def small_grids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use small forests, few queries, and few runs."""
    monkeypatch.setattr(studies, "QUERIES", 20)
    for settings, key in ((table["settings"], table["key"]) for table in figures.TABLES):
        for name, value in ({"values": VALUES[key]} | MORE.get(key, {})).items():
            monkeypatch.setitem(settings, name, value)
        for line in (*settings["methods"], *(settings.get(name, {}) for name in ("plain", "parameters"))):
            for name in {"n_trees", "max_depth"} & {*line}:
                monkeypatch.setitem(line, name, 2)
