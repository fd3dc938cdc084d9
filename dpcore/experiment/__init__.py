"""Sweeps: methods x epsilons x repeats on one data set, as a tidy frame.

Every run is a release of its own and costs its epsilon; their sum is what showing all of them would cost. What they are
measured by (`evaluate.evaluator`) reads real rows and is never private. A sweep can be written down as a `Config`, and
what it has finished can be kept in a folder (`store`), from which a sweep that was stopped goes on.
"""

from dpcore.evaluate.baselines import references
from dpcore.evaluate.evaluator import CLASSIFIER_MEASURES, MEASURES, Method, left_out
from dpcore.experiment.config import Config, Place, parameters_of, rows_key
from dpcore.experiment.engine import COLUMNS, Run, entry_of, finished, plan, stream, sweep, tidy
from dpcore.experiment.store import Store

__all__ = [
    "CLASSIFIER_MEASURES",
    "COLUMNS",
    "MEASURES",
    "Config",
    "Method",
    "Place",
    "Run",
    "Store",
    "entry_of",
    "finished",
    "left_out",
    "parameters_of",
    "plan",
    "references",
    "rows_key",
    "stream",
    "sweep",
    "tidy",
]
