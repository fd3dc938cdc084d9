"""Test the errors without optional packages."""

import io
import sys
import zipfile

import pytest

import dpcore as dp
from dpcore.datasets.reading import read_frame
from dpcore.experiment import commands
from dpcore.export import bundle, make_release
from dpcore.extras import EXTRAS


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    """Make all optional packages impossible to find and import."""
    for name in EXTRAS:
        monkeypatch.setitem(sys.modules, name, None)


def test_a_missing_extra_is_named_with_its_command(capsys):
    with pytest.raises(dp.DataError, match=r'needs python_calamine, .* pip install "dpcore\[excel\]"'):
        read_frame(b"PK\x03\x04", "a.xlsx", trusted=True)
    assert commands.main("figure", ["001 Fig. 5"]) == 1
    assert 'needs vl_convert, which is not installed: pip install "dpcore[report]".' in capsys.readouterr().err


def test_a_report_without_charts_says_so_and_has_the_numbers(small_frame, small_schema):
    marginals = dp.IndependentMarginals(epsilon=1.0, noise="auto").fit(small_frame, schema=small_schema)
    release = make_release(marginals, marginals.title, marginals.sample(50), data_name="a table")
    files = zipfile.ZipFile(io.BytesIO(bundle(release)))
    assert "in place of charts" in files.read("README.md").decode()
    assert "pip install &#34;dpcore[report]&#34;" in files.read("report.html").decode()
