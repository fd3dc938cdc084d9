"""Packages that are installed on demand: whether one is there, and the sentence that says how to get it.

dpcore itself runs without them. `pip install "dpcore[report]"` brings the first, and so on.
"""

from importlib.util import find_spec

from dpcore.errors import DPCoreError, ParameterError

EXTRAS = {"vl_convert": "report", "python_calamine": "excel"}  # by what is imported


def is_installed(module: str) -> bool:
    """Whether a package of `EXTRAS` can be found; it is not loaded."""
    try:
        return find_spec(module) is not None
    except ImportError:  # somebody forbids it
        return False


def missing_package(module: str, what: str) -> tuple[str, str]:
    """What is said where something needs a package that is not there: the cause and the remedy, in one sentence."""
    return f"{what} needs {module}, which is not installed:", f'pip install "dpcore[{EXTRAS[module]}]".'


def need(module: str, what: str, error: type[DPCoreError] = ParameterError) -> None:
    """Raise the error, unless the package is there that something needs."""
    if not is_installed(module):
        raise error(*missing_package(module, what))
