"""The dashboard: `streamlit run app.py`."""

from dpcore.dashboard.frame import run

run()
