"""Page Statistics: plain statistics, each with the error by the noise and by sampling."""

from dpcore.dashboard.pages.statistics.settings import StatisticsPage
from dpcore.language import phrase

StatisticsPage("statistics", phrase("Statistics"), "").draw()
