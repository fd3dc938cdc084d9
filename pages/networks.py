"""Bayesian networks: HMPrivBayes and what it is compared with (paper 001)."""

from dpcore.dashboard.pages.networks.network import model
from dpcore.dashboard.workbench import Workbench
from dpcore.language import phrase

Workbench("networks", phrase("Bayesian networks"), "001", model=model).draw()
