"""In Chinese no chart says an English word, but for what its example calls people, columns, methods and titles."""

import re

import pytest
from pictures import PICTURES, frame_of
from specs import walk

from dpcore import charts
from dpcore.language import speaking
from scripts.words import spoken_in_english

UNTRANSLATED = spoken_in_english("zh")
TOLD = ("title", "text", "subtitle", "description", "domain")
GIVEN = {"today", "tree", "flat", "left", "right", "age", "sex", "no", "yes", "count"}
GIVEN |= {
    "a.b",
    "image",
    "majority",
    "top",
    "AVD",
    "error",
    "Accuracy",
    "NB-Synth",
    "PPNB",
    "DiffPRFs",
    "RRPH",
    "Warner",
}
GIVEN |= {"with delta", "epsilon 2.9", "Holes", "A number", "Number", "Right", "Alone", "alone", "columns", "questions"}
GIVEN |= {"below 1%", "change one row", "Scores", "score", "did not", "took part"}
GIVEN |= {"exp("}  # the function, by the name that every language gives it
UNSEEN = {"baseline", "method", "filled", "open", "noise", "truth", "noisy", "consistent", "low", "high"}  # in no place


def said(chart):
    """All texts that a chart writes or tells, and those of its tables."""
    spec = charts.specification(chart)
    for table in spec.pop("datasets").values():
        yield from (value for value in table.to_numpy().ravel() if isinstance(value, str))
    for path, node in walk(spec):
        names = [name for name in path if not name.isdecimal()] or [""]
        if isinstance(node, str) and names[-1] in TOLD:
            yield node
        if isinstance(node, str) and names[-1] == "labelExpr":
            yield from re.findall(r"'(\w+)'", node)


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_chart_in_chinese_says_no_english_word(name):
    with speaking("zh"):
        chart = charts.mark_real(charts.mark_real(PICTURES[name][1](frame_of(name))))
        title = "".join(chart.title.text)
    assert title.count("请勿发布") == 1
    for text in {*said(chart)} - UNSEEN:
        rest = re.sub(r"[!-~]*(<img|src=|zzz)[!-~]*", " ", text)  # a long name is cut, and parted where a line ends
        for given in sorted(GIVEN, key=len, reverse=True):
            rest = rest.replace(given, " ")
        found = re.findall("[A-Za-z]{2,}", rest)
        assert not [word for word in found if not any(word in english for english in UNTRANSLATED)], text
