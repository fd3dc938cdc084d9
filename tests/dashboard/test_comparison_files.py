"""Descriptions of comparisons that were written elsewhere: the page of comparisons opens its own, and says so."""

import re

import pytest

import dpcore as dp
from dpcore.dashboard.sections import sweep
from dpcore.errors import ParameterError
from dpcore.experiment import Config

METHOD = dp.NaiveBayesSynthesizer


@pytest.mark.parametrize(
    "methods",
    [
        {"": METHOD()},
        {"NB-Synth | corrected | again": METHOD()},
        {"NB-Synth | corrected": METHOD(), "mine": METHOD(epsilon=2)},
        {"MST | corrected": dp.MST(random_state=2**31 + 1)},  # no field takes such a seed
    ],
    ids=str,
)
def test_a_comparison_from_python_that_the_page_cannot_show_is_refused_in_words(methods):
    with pytest.raises(ParameterError, match=re.escape("was not made on this page")):
        sweep.restore("compare", Config(methods, epsilons=[0.5]))
