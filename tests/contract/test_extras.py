"""Without the packages that are installed on demand: noise is exactly sampled all the same, a sentence helps."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpcore

ROOT = Path(dpcore.__file__).parents[1]
CODE = """
import io, json, sys, zipfile
from importlib.abc import MetaPathFinder

class Blocked(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"opendp", "vl_convert", "python_calamine"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Blocked())

import dpcore as dp
from dpcore.datasets.reading import read_frame
from dpcore.experiment.commands.figure import main as figure
from dpcore.export import bundle, release_of
from dpcore.methods.offers import noise_of

def refused(work, error):
    try:
        work()
    except error as found:
        return str(found)

data = dp.datasets.load("sample")
rows = data.train.head(400)
margins = dp.IndependentMargins(epsilon=1.0, noise="auto").fit(rows, schema=data.schema)
release = release_of(margins, margins.title, margins.sample(50), data_name=data.name)
held = zipfile.ZipFile(io.BytesIO(bundle(release)))
local = dp.PPNB(epsilon=4.0, noise="auto").fit(rows, schema=data.schema)
sampled = dp.IndependentMargins(noise="opendp")
books = dp.Ledger("add_remove")
print(json.dumps({
    "publishable": [margins.publishable_, local.publishable_],
    "labels": [margins.noise_label_, local.noise_label_],
    "mechanisms": sorted({entry.mechanism for entry in margins.ledger_.entries}),
    "bound": margins.ledger_.epsilon_bound,
    "attackable": release.attackable,
    "noise": noise_of(dp.IndependentMargins(noise="auto")),
    "card": held.read("card.md").decode(),
    "readme": held.read("README.md").decode(),
    "report": held.read("report.html").decode(),
    "sampled": refused(lambda: sampled.fit(rows, schema=data.schema, ledger=books), dp.ParameterError),
    "spent": books.epsilon_bound,
    "excel": refused(lambda: read_frame(b"PK\\x03\\x04", "a.xlsx", trusted=True), dp.DataError),
}))
sys.exit(figure(["001 Fig. 5"]))
"""


@pytest.fixture(scope="module")
def bare() -> subprocess.CompletedProcess[str]:
    """What a process says in which the packages cannot be imported; its end is that of `dpcore figure`."""
    where = {**os.environ, "PYTHONPATH": str(ROOT), "DPCORE_LEDGER": "session"}
    done = subprocess.run([sys.executable, "-c", CODE], env=where, capture_output=True, text=True, timeout=120)
    assert done.stdout, done.stderr
    return done


def test_noise_is_exactly_sampled_and_fit_to_publish_without_opendp(bare: subprocess.CompletedProcess[str]) -> None:
    told = json.loads(bare.stdout)
    assert told["publishable"] == [True, True]
    assert told["labels"][0].startswith("Exactly sampled discrete noise, from the operating system")
    assert "operating system" in told["labels"][1]
    assert (told["mechanisms"], told["bound"]) == (["discrete laplace"], 1.0)
    assert told["attackable"] == ""
    assert told["noise"] == "exactly sampled noise."
    assert told["noise"] in told["card"]


def test_what_is_not_installed_is_told_in_a_sentence(bare: subprocess.CompletedProcess[str]) -> None:
    told = json.loads(bare.stdout)
    assert told["sampled"] == 'OpenDP\'s noise needs opendp, which is not installed: pip install "dpcore[opendp]".'
    assert told["spent"] == 0
    assert told["excel"].endswith('needs python_calamine, which is not installed: pip install "dpcore[excel]".')
    assert 'needs vl_convert, which is not installed: pip install "dpcore[report]".' in bare.stderr
    assert bare.returncode == 1


def test_a_report_that_cannot_draw_says_so_and_has_the_numbers(bare: subprocess.CompletedProcess[str]) -> None:
    told = json.loads(bare.stdout)
    assert "in place of charts" in told["readme"]
    assert "pip install &quot;dpcore[report]&quot;" in told["report"]
    assert "<svg role=" not in told["report"]
    assert told["report"].count("<figcaption>") >= 2
