"""Optional packages: check whether one is installed, and name the command that installs it.

dpcore itself runs without them. For example, `pip install "dpcore[report]"` installs `vl_convert`.
"""

from importlib.util import find_spec

from dpcore.errors import DPCoreError, ParameterError

EXTRAS = {"vl_convert": "report", "python_calamine": "excel"}  # extra by imported module


def is_installed(module: str) -> bool:
    """Return whether a module of `EXTRAS` is installed, without importing it."""
    try:
        return find_spec(module) is not None
    except ImportError:  # the import system blocks the module
        return False


def missing_package(module: str, what: str) -> tuple[str, str]:
    """Return the cause and remedy of an error: `what` needs a module that is not installed."""
    return f"{what} needs {module}, which is not installed:", f'pip install "dpcore[{EXTRAS[module]}]".'


def need(module: str, what: str, error: type[DPCoreError] = ParameterError) -> None:
    """Raise `error` unless a module that `what` needs is installed."""
    if not is_installed(module):
        raise error(*missing_package(module, what))
