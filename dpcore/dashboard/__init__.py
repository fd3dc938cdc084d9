"""The Streamlit dashboard: session state, page frame, controls, panels.

No other part of the package imports streamlit.
"""

from pathlib import Path

__all__ = ["FOLDER"]

_BUILT = Path(__file__).parent / "app"
# Where app.py, pages/ and .streamlit/ lie: inside the package once it is built, and at the top of a checkout.
FOLDER = _BUILT if _BUILT.is_dir() else Path(__file__).parents[2]
