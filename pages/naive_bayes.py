"""Page Naive Bayes: synthetic rows from a private naive Bayes model (paper 000)."""

from dpcore.dashboard.workbench import Workbench
from dpcore.language import phrase

Workbench("naive_bayes", phrase("Naive Bayes"), "000").draw()
