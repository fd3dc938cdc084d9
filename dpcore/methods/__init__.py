"""The methods, by the name that screens and exports use. One file per family; none imports another's classes."""

from __future__ import annotations

from dpcore.estimator import PrivateEstimator
from dpcore.methods.naive_bayes import NaiveBayesSynthesizer

__all__ = ["METHODS", "NaiveBayesSynthesizer"]

METHODS: dict[str, type[PrivateEstimator]] = {
    "NB-Synth": NaiveBayesSynthesizer,
}
