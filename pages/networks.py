"""Page Bayesian networks: HMPrivBayes and the methods compared with it (paper 001)."""

from dpcore.dashboard.pages.networks.network import model_parts
from dpcore.dashboard.workbench import Workbench
from dpcore.language import phrase

Workbench("networks", phrase("Bayesian networks"), "001", model=model_parts).draw()
