"""The dashboard, which the command `dpcore` serves."""

from dpcore.dashboard.shell import run_app

run_app()
