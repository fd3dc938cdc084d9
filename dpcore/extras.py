"""Optional packages: check whether one is installed, and name the command that installs it.

dpcore itself runs without them. For example, `pip install "dpcore[report]"` installs `vl_convert`.
"""

from importlib.util import find_spec

from dpcore.errors import DPCoreError, ParameterError

EXTRAS = {"vl_convert": "report", "python_calamine": "excel"}  # extra by imported module


def is_installed(module: str) -> bool:
    """Return whether an optional module (a key of `EXTRAS`) is installed, without importing it."""
    try:
        return find_spec(module) is not None
    except ImportError:  # the import system blocks the module
        return False


def missing_package(module: str, what: str) -> tuple[str, str]:
    """Return cause and remedy of an error: `what`, a feature, needs a module that is missing."""
    return f"{what} needs {module}, which is not installed:", f'pip install "dpcore[{EXTRAS[module]}]".'


def need(module: str, what: str, error: type[DPCoreError] = ParameterError) -> None:
    """Raise `error` unless an optional module is installed; `what` is the feature that needs it."""
    if not is_installed(module):
        raise error(*missing_package(module, what))
