"""The Streamlit dashboard: session state, page frame, controls, panels.

No other part of the package imports streamlit.
"""

from pathlib import Path

__all__ = ["FOLDER"]

_BUILT = Path(__file__).parent / "app"
# The folder of app.py, pages/ and .streamlit/: in the built package, or the root of a checkout.
FOLDER = _BUILT if _BUILT.is_dir() else Path(__file__).parents[2]
