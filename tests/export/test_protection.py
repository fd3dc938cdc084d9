"""Whom an epsilon protects, in words: the same in cards, reports and files."""

import json
import re
from dataclasses import replace

import pytest
from tables import SMALL, make_frame
from taken_home import members

from dpcore import export
from dpcore.domain.schema import Schema
from dpcore.domain.unit import PrivacyUnit
from dpcore.export import protection
from dpcore.export.facts import facts
from dpcore.methods import METHODS

NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w.,])|(?<![\w.])\d{3,9}(?![\w.])")
PERSONS, ROWS = PrivacyUnit(max_contributions=3, id_column="who <b>"), PrivacyUnit(max_contributions=3)
TOLD = {PERSONS: "0.5 per person", ROWS: "0.5 per row, 3 × 0.5 = 1.5 per person"}  # of epsilon 1/2
FRAME = make_frame(120, 1).assign(**{"who <b>": [f"pseudonym {i // 4}" for i in range(120)]})


def test_an_epsilon_says_whose_it_is():
    told = {None: "0.5", **TOLD}
    assert {unit: protection.headline(unit, 0.5) for unit in told} == told
    assert protection.headline(ROWS, float("inf")) == "∞ per row, 3 × ∞ = ∞ per person"
    assert [protection.for_person(unit, 0.5) for unit in told] == ["", "", "3 × 0.5 = 1.5 per person"]
    assert [protection.protects(unit) for unit in told] == ["row", "person", "row"]
    for relation in ("add_remove", "replace"):
        assert "<" not in protection.protected(PERSONS, relation)
        assert "one person" in protection.neighbors(PERSONS, relation)
        assert "up to 3 times that" in protection.protected(ROWS, relation)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["NB-Synth", "PrivBayes refined", "TaxonomyRelease", "DiffPRFs", "PPNB"])
def test_no_file_counts_rows_persons_or_what_was_cut(name):
    """Of 1,733 rows of 619 persons, 2 of each at most count; under replace the number of persons is public."""
    frame = make_frame(1_733, 1).assign(who=[f"pseudonym {i if i < 619 else i % 311}" for i in range(1_733)])
    many = frame["who"].value_counts()
    kept = int(many.clip(upper=2).sum())
    schema = replace(SMALL, unit=PrivacyUnit(max_contributions=2, id_column="who"), max_rows=None)
    for relation in METHODS[name].relations:
        method = METHODS[name](epsilon=0.5, relation=str(relation), random_state=5).fit(frame, schema=schema)
        rows = method.sample(20) if hasattr(method, "sample") else None
        release = export.make_release(method, name, rows, data_name="people.csv")
        private = {1_733, kept, 1_733 - kept} | ({619} if relation == "add_remove" else set())
        for file, raw in members(release).items():
            text = raw.decode()
            if file.endswith(".html"):  # where lines of pictures stand is no number for people
                text = " ".join(re.findall(r">([^<]+)<", text))
            found = {int(number.replace(",", "")) for number in NUMBER.findall(text)}
            assert not found & private, (file, relation)


@pytest.mark.usefixtures("quick_pictures")
@pytest.mark.parametrize(("unit", "told"), TOLD.items())
def test_everything_that_leaves_the_house_says_whom_it_protects(unit, told):
    method = METHODS["NB-Synth"](epsilon=0.5, noise="auto").fit(FRAME, schema=replace(SMALL, unit=unit))
    release = export.make_release(method, "NB-Synth", method.sample(20), data_name="people.csv")
    known = dict(facts(release).card)
    assert known["Epsilon that can be proved"] == known["Epsilon claimed by the method's source"] == told
    assert known["Privacy unit"] == protection.protected(unit, "add_remove")
    assert ("62.2%" if unit is PERSONS else "81.8%") in known["In odds"]  # of epsilon 1/2, and of 3/2
    files = {name: raw.decode() for name, raw in members(release).items()}
    for name in ("README.md", "card.md", "report.html"):
        assert told in files[name], name
    assert Schema.from_json(files["schema.json"]).unit == unit
    units = [json.loads(files[name])["unit"] for name in ("config.json", "ledger.json")]
    assert units == [unit.to_dict(), f"one {protection.protects(unit)}"]
    assert "pseudonym" not in "".join(files.values())  # no name of a person
