"""The dashboard, which the command `dpcore` serves."""

from dpcore.dashboard.shell import run

run()
