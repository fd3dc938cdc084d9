"""The dashboard, which the command `dpcore` serves."""

from dpcore.dashboard.frame import run

run()
