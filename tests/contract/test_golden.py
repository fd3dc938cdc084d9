"""Golden record: the release of every method, mode and relation on one table, with a known seed.

Everything that a run has learned, released and charged is recorded as a digest, or in full if it is
short. A few marginals and entries show what changed. A changed number is a defect, or the old one
was. Then a separate commit renews the record and says why. A new method is recorded with the commit
that adds it (`-k NAME` leaves the other records unchanged):

    DPCORE_GOLDEN=new .venv/bin/python -m pytest -n 0 tests/contract/test_golden.py -k NAME
"""

import hashlib
import json
import os
import re
from collections import Counter
from enum import Enum
from fractions import Fraction
from functools import partial
from itertools import islice
from operator import itemgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from tables import SMALL
from variants import CORRECTED, PUBLISHED, fitted, fitted_state

from dpcore import METHODS, ParameterError
from dpcore.postprocess.group_tree import GroupTree

FILE = Path(__file__).with_name("golden.json")
ANEW = os.environ.get("DPCORE_GOLDEN") == "new"
GOLDEN = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
RUNS = [("corrected", name, extra) for name, extra in CORRECTED] + [
    ("published", name, extra) for name, extra, _ in PUBLISHED
]
ROWS = 200
SHORT = 60  # characters of what is recorded itself
COLUMNS = "grade", "ill"
LEDGER = "scope name mechanism relation draws sensitivity claimed_sensitivity scale {0}_claimed {0}_nominal {0}_bound "
LEDGER += "void reason"
ENTRIES = 3
OLDER_TREES = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) < (1, 9)
# Fields that came after the record, and say nothing.
YOUNGER = {"unit": None, "step": None, "number_format": "", "origin": "declared"}
YOUNGER |= dict.fromkeys(("missing_values", "flags", "rules", "proposed_rules"), ())
RENAMED = {"codes_by_block": "ordered"}  # fields by their names in the record
RECORD = "The top of tests/contract/test_golden.py says how to record what a method makes."


def plain(value, digits=7):
    """Return a value as lists and texts, rounded to digits that do not depend on the computer."""
    again = partial(plain, digits=digits)
    if isinstance(value, float | np.floating):
        return f"{value + 0.0:.{digits}g}"
    if value is None or isinstance(value, str | bool | np.bool_ | int | np.integer | Fraction):
        return str(value)
    if isinstance(value, np.ndarray):
        return [list(value.shape), [again(each) for each in value.ravel().tolist()]]
    if isinstance(value, pd.DataFrame):
        return [again(list(value.columns)), *(again(value[name].tolist()) for name in value)]
    if isinstance(value, dict):
        return [[again(key), again(each)] for key, each in value.items()]
    if isinstance(value, list | tuple):
        return [again(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, GroupTree):  # by its document: how its nodes are numbered in memory is another matter
        document = value.to_dict()
        return [[name, again(document.get(name, value.schema))] for name in ("groups", "nodes", "schema", "target")]
    assert hasattr(value, "__dict__"), f"{type(value)} is nothing that the record knows"
    fields = ((RENAMED.get(name, name), each) for name, each in vars(value).items() if name[0] != "_")
    known = sorted(fields, key=itemgetter(0))
    return [[name, again(each)] for name, each in known if (name, each) not in YOUNGER.items()]


def digest(value):
    text = json.dumps(plain(value))
    return text.replace('"', "") if len(text) <= SHORT else hashlib.sha256(text.encode()).hexdigest()[:12]


def marginals(sample):
    """Return the counts of synthetic rows by the values of some columns."""
    codes = SMALL.encode(sample)
    for name in COLUMNS:
        counts = np.bincount(codes[:, SMALL.index(name)], minlength=SMALL[name].size)
        yield f"{name} {', '.join(f'{label} {count}' for label, count in zip(SMALL[name].labels, counts, strict=True))}"


def predictions(predicted, probabilities):
    """Return how often each class is predicted, and its mean probability."""
    for label, mean in zip(SMALL["ill"].labels, probabilities.mean(axis=0), strict=True):
        yield f"{label} {(predicted == label).sum()} times, probability {mean:.4g}"


def entries(ledger):
    """Return the first kinds of ledger entries with their numbers, and how many kinds follow."""
    counts = Counter(
        f"{entry.name}: {entry.mechanism}, scale {entry.scale:.4g}, charge {float(entry.epsilon_nominal):.4g}"
        for entry in ledger.entries
    )
    yield from (f"{many} x {line}" if many > 1 else line for line, many in islice(counts.items(), ENTRIES))
    if len(counts) > ENTRIES:
        yield f"and {len(counts) - ENTRIES} more"


def record(mode, name, extra, relation, frame):
    """Return the record of one run: digests and readable lines, or that it is refused."""
    try:
        method = fitted(name, extra, mode=mode, relation=str(relation))
    except ParameterError:
        return {"fit": "refused"}  # as printed, some know the number of rows
    if hasattr(method, "sample"):
        made = {"sample": method.sample(ROWS)}
        shown = marginals(made["sample"])
    else:
        rows = frame.head(ROWS)
        made = {"predict": method.predict(rows), "predict_proba": method.predict_proba(rows)}
        shown = predictions(made["predict"], made["predict_proba"])
    columns = LEDGER.format(method.ledger_.measure.unit).split()
    parts = {**fitted_state(method), **made, "ledger": method.ledger_.to_frame()[columns]}
    digests = {part: digest(value) for part, value in parts.items()}
    return {**digests, "made": "; ".join(shown), "entries": "; ".join(entries(method.ledger_))}


def changes(kept, found):
    """Return each run and part whose record differs, with both values."""
    for run in sorted(kept.keys() | found.keys()):
        before, after = kept.get(run, {}), found.get(run, {})
        for part in sorted(before.keys() | after.keys()):
            if before.get(part) != after.get(part):
                yield f"{run}: {part}:\n  {before.get(part)}\n  {after.get(part)}"


@pytest.mark.listed
def test_every_method_has_a_record_and_every_record_its_method():
    missing, left = METHODS.keys() - GOLDEN.keys(), GOLDEN.keys() - METHODS.keys()
    assert ANEW or not missing, f"{sorted(missing)} have no golden record: what they make could change unseen. {RECORD}"
    assert not left, f"{sorted(left)} are no methods any more: remove their lines from {FILE.name}."


@pytest.mark.parametrize("name", METHODS)
def test_every_method_releases_what_its_record_says(name, small_frame):
    found = {
        f"{mode}, {relation}, {extra}": record(mode, name, extra, relation, small_frame)
        for mode, other, extra in RUNS
        if other == name
        for relation in METHODS[name].relations
    }
    if ANEW:
        GOLDEN[name] = found
        FILE.write_text(json.dumps(GOLDEN, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    for parts in [*found.values(), *GOLDEN.get(name, {}).values()] if OLDER_TREES else []:
        parts.pop("classifier_", None)  # among equally good splits, scikit-learn took another one before 1.9
    text = "\n".join(changes(GOLDEN.get(name, {}), found))
    assert not text, f"{name} makes something else than its golden record, or has none. {RECORD}\n{text}"


def test_changes_of_a_record_are_readable(small_frame):
    relations = "replace", "add_remove"
    kept, other = ({"run": record("corrected", "NB-Synth", {}, name, small_frame)} for name in relations)
    text = "\n".join(changes(kept, other))
    assert re.search(r"run: made:\n  grade low \d+, .*; ill no \d+, yes \d+\n  grade low ", text)
    assert re.search(r"run: entries:\n  counts of ill × .*: laplace, scale 8, .*\n  .*: laplace, scale 4, ", text)
