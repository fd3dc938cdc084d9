"""Many runs on one data set, as a tidy frame: sweeps of methods x epsilons x repeats, and the figures of papers.

Every run is a release of its own and costs its epsilon; their sum is what showing all of them would
cost. What they are measured by (`evaluate.evaluator`) reads real rows and is never private. A sweep
can be written down as a `Config`, and what it has finished can be kept in a folder (`Store`), from
which a sweep that was stopped goes on. `figure` makes one of the papers' figures again. `forecasts`
are the exception: they tell of runs before they are charged, by rehearsal or at once by formulas,
and see no row.
"""

from dpcore.arguments import check_public
from dpcore.evaluate.evaluator import CLASSIFIER_MEASURES, MEASURES, Method, baselines
from dpcore.experiment.figures import figure
from dpcore.experiment.forecasts import Forecast, forecast
from dpcore.experiment.study import Run
from dpcore.experiment.sweeps import COLUMNS, Config, Location, Store, entry_of, parameters_of, stream, sweep

__all__ = [
    "CLASSIFIER_MEASURES", "COLUMNS", "MEASURES", "Config", "Forecast", "Location", "Method", "Run", "Store",
    "baselines", "entry_of", "figure", "forecast", "parameters_of", "stream", "sweep",
]  # fmt: skip
check_public(globals(), __all__)
