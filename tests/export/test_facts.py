"""The facts of a release: what is protected, whose and from whom, what it is good for; the same in words everywhere."""

import html
import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tables import SMALL, make_frame
from taken_home import HOSTILE, NO_REPORT, SCHEMA, TOWNS, members, people, released, townspeople

from dpcore import datasets, export
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.unit import PrivacyUnit
from dpcore.export import archive, make_release, make_report, protection
from dpcore.export import facts as record
from dpcore.export.facts import NINETEEN, limits, noisy_tables
from dpcore.export.rendering import part, render
from dpcore.methods import METHODS
from dpcore.methods.base import Synthesizer
from dpcore.text import number

SEVERAL = replace(SCHEMA, unit=PrivacyUnit(max_contributions=3))


def rows(**given):
    return released("NB-Synth", **{"x_source": "model", **given})


def facts(release):
    return dict(record.facts(release).card)


def readme(release):
    return archive.readme(record.facts(release), "csv", NO_REPORT)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_a_release_that_keeps_its_promise(relation):
    made = rows(relation=relation)
    text = facts(made)
    assert text["Guarantee"] == "pure differential privacy (no delta) with epsilon 1."
    assert text["Neighboring relation"] == f"{made.ledger.relation.short}. {made.ledger.relation.sentence}"
    assert text["Epsilon claimed by the method's source"] == text["Epsilon that can be proved"] == "1"
    assert "at most 73.1% sure" in text["Worst-case belief"]
    assert record.facts(made).void == ""
    assert ("how many" in " ".join(record.facts(made).open)) == (relation == "replace")


def test_a_release_with_a_delta_says_so_wherever_it_says_epsilon():
    made = rows(delta=1e-9)
    text, card = facts(made), record.facts(made)
    assert text["Guarantee"].startswith("zero-concentrated differential privacy with rho 0.015, hence approximate")
    assert text["Guarantee"].endswith("epsilon 1 at delta 1e-09.")
    assert text["Epsilon claimed by the method's source"] == text["Epsilon that can be proved"] == "1 at delta 1e-09"
    assert "pure" not in render("card.md", facts=card)
    assert made.origin["delta"] == 1e-9
    several = facts(rows(delta=1e-9, schema=SEVERAL))
    assert several["Epsilon that can be proved"] == "1 per row, 3.19 per person with 3 rows at delta 1e-09"


def test_teaching_noise_is_called_so():
    assert "can be attacked" in facts(rows(noise="geometric"))["Guarantee"]
    assert "can be attacked" in readme(rows(noise="geometric"))
    assert "can be attacked" not in facts(rows())["Guarantee"]


PROPOSED = replace(Schema.infer(people(), target="ill"), source="declared", notes=())
INFERRED = replace(PROPOSED, source="inferred")
LINES = "3 of 3 columns as the program proposed them from the real rows"
UNPROVED = {"mode": "published", "variant": "Alg1", "x_source": "uniform", "rows": 50}
EXACT = "exactly sampled noise."
GROUNDS = "Noise", "Schema", "Privacy unit", "Outside review"
LOCAL = {"relation": "replace", "target": "ill"}


@pytest.mark.parametrize(
    ("given", "noise", "schema", "unit"),
    [
        ({"noise": "laplace"}, "noise for teaching only", "declared. Bounds", "one row."),
        ({"schema": INFERRED}, EXACT, f"inferred; {LINES}. Bounds, bins and categories were", "one row."),
        ({"schema": PROPOSED}, EXACT, f"declared by the user; {LINES}. Bounds", "one row."),
        ({"schema": SEVERAL}, EXACT, "declared", "one row. Rows of one person, as declared: 3"),
        (UNPROVED, f"{EXACT[:-1]}, except where the published algorithm draws its own.", "declared", "one row."),
    ],
)
def test_four_lines_say_what_a_release_rests_on_and_none_stands_for_another(given, noise, schema, unit):
    made = released.__wrapped__("NB-Synth", **{"x_source": "model", **given})
    text = facts(made)
    for what, start in zip(GROUNDS, (noise, schema, unit, "no review of this version."), strict=True):
        assert text.get(what, "").startswith(start), what
        assert f"- **{what}:** {text[what]}\n" in render("card.md", facts=record.facts(made))
    assert made.exactly_sampled == text["Noise"].startswith("exactly sampled noise")
    assert ("schema_origins" in made.config()) == (LINES in text["Schema"])


ALONE = "no epsilon (the noise alone would give 1)"
VOID = [({"random_state": 3}, ALONE), ({"schema": INFERRED}, ALONE), (UNPROVED, "none")]


@pytest.mark.parametrize(("given", "proved"), VOID)
def test_where_no_guarantee_holds_nothing_is_promised(given, proved):
    made = rows(**given)
    text = facts(made)
    assert text["Guarantee"] == "no guarantee that can be proved."
    assert text["Epsilon that can be proved"] == proved
    assert text["Attackers that the guarantee covers"] == "no one, as far as can be proved."
    assert text["Fit for publication"] == "do not publish."
    found = record.facts(made)
    assert found.void == made.guarantee_void != ""


def test_a_paper_that_claims_too_little_is_told_beside_what_it_costs():
    made = rows(mode="published", x_source="uniform", rows=50)
    text, bound = facts(made), made.ledger.epsilon_bound
    assert text["Epsilon claimed by the method's source"] == "1"
    assert (text["Epsilon that can be proved"], math.isfinite(bound)) == (number(bound), True)
    assert text["Fit for publication"] == "do not publish."


def test_people_who_randomize_their_own_answers_trust_nobody():
    made = released("PPNB", **LOCAL)
    text = facts(made)
    assert text["Trusted party"].startswith("None, where people randomize their answers themselves")
    assert text["Guarantee"].startswith("pure local differential privacy")
    assert text["Attackers that the guarantee covers"].startswith("anyone who collects the randomized reports")
    assert not any("True answers" in sentence for sentence in record.facts(made).open)
    published = record.facts(released("PPNB", **LOCAL, mode="published"))
    assert any("True answers that people hand in as they are: ill" in sentence for sentence in published.open)
    own = facts(replace(made, class_name="Mine"))  # with a paper's title, and nobody has checked it
    assert "Reference" not in own["Method"]
    assert not own["Trusted party"].startswith("None")


def test_readme_card_and_page_agree_and_names_from_a_file_are_harmless():
    rules = (f"{HOSTILE} = {SCHEMA[HOSTILE].categories[0]}, never ill = no",)
    schema = replace(SCHEMA, rules=rules, proposed_rules=rules)
    known = record.facts(made := rows(data_name=f"{HOSTILE}[x](javascript:1).csv", schema=schema))
    kept = "(1), never ill = no. No released row breaks a rule. The program proposed 1 of 1 rules from the real rows."
    assert kept in known["Schema rules kept"]
    text, alone, page = readme(made), render("card.md", facts=known), str(part("facts", known.card + known.limits))
    for what, about in known.card + known.limits:
        assert f"- **{what}:** {about}\n" in alone
        assert what in html.unescape(page)
        assert about in html.unescape(page)
    for what in ("Privacy unit", "Epsilon that can be proved"):
        assert f"- {what}: {known[what]}\n" in text
    assert all(f"- {what}: {about}\n" in text for what, about in known.limits)
    assert all(f"- {sentence}\n" in alone for sentence in known.open)
    assert text.startswith(f"# {known.title}\n")
    assert not any(markup in words for words in (text, alone, page) for markup in ("](", "<script"))
    escaped = part("facts", [("<i>", "<b>")])
    assert all(f"&lt;{tag}&gt;" in escaped and f"<{tag}>" not in escaped for tag in "ib")


def test_a_reader_learns_whether_it_may_be_shared_and_whom_to_ask_before_how_it_is_made_again():
    for made in (rows(), rows(random_state=3), rows(schema=SEVERAL), released("PPNB", **LOCAL)):
        text = readme(made)
        titles = re.findall("^## (.*)$", text, re.MULTILINE)
        assert titles == ["May it be shared?", "What is it good for?", "Whom to ask", "Files", "Make it again"]
        assert len(text.split()) <= 350
        assert ("**No: do not publish. " in text) == bool(made.guarantee_void)


def test_limits_of_use_come_from_the_ledger():
    """Two tables by two classes, each with noise of scale 2 / epsilon: a share of a column sums two cells of it."""
    made = rows(epsilon=0.5)
    noise, relations = (about for _, about in limits(made))
    age, ill = (100 * NINETEEN * math.sqrt(32 * cells) / made.rows for cells in (2, 4))
    assert made.rows > 0
    assert noise.startswith(f"± {number(age)} percentage points on a share in the median column, ± {number(ill)} in ")
    assert relations.startswith("2 of 3 pairs of columns: ")
    assert "all other pairs are guesses" in relations
    assert limits(rows(**UNPROVED))[0][1].startswith("noise not known")
    assert limits(replace(rows(), rows=0.0))[0][1] == "noise not known, nor the number of rows."
    forest, tree = (limits(released(name, n_trees=2, max_depth=2))[0][1] for name in ("DiffPRFs", "DiffPRF"))
    assert forest.endswith("rows on each count that classes are predicted by, 19 times of 20.")
    assert "no noise" not in tree
    assert "percentage points" in limits(released("PPNB", **LOCAL))[0][1]
    assert "People reported ill without noise." in limits(released("PPNB", **LOCAL, mode="published"))[0][1]
    assert "on the share of a group" in limits(released("TaxonomyRelease"))[0][1]
    assert "± more than 100 in " in limits(rows(epsilon=0.001, relation="replace"))[0][1]
    evenly = limits(rows(x_source="uniform"))[0][1]  # values are drawn evenly, and the class is a guess as well
    assert evenly.startswith("± ")
    assert evenly.endswith("Only the model was measured: shares of all columns in these rows are guesses.")


TABLES = [name for name, method in METHODS.items() if issubclass(method, Synthesizer)]


@pytest.mark.parametrize("name", TABLES)
def test_limits_do_not_change_with_the_number_of_rows_that_anyone_asks_for(name):
    method = METHODS[name](relation="replace").fit(townspeople(), schema=TOWNS)
    few, many = (make_release(method, name, method.sample(n), data_name="towns") for n in (10, 1000))
    assert few.rows == many.rows
    assert record.facts(few).limits == record.facts(many).limits


@pytest.mark.parametrize("given", [{}, {"relation": "replace"}, {"delta": 1e-6}])
@pytest.mark.parametrize("name", ["Independent marginals", "Adaptive marginals"])
def test_shares_are_as_close_as_the_limits_say_19_times_of_20(name, given):
    data, outside = datasets.load("sample"), []
    schema, frame = data.schema, data.train.head(3000)
    real, declared = schema.encode(frame), {column.name: column.size for column in schema.columns}
    for _ in range(3):
        method = METHODS[name](epsilon=1.0, **given).fit(frame, schema=schema)
        made = make_release(method, name, method.sample(50_000), data_name="sample")
        drawn, tables = schema.encode(made.synthetic), noisy_tables(made)
        for j, (column, size) in enumerate(declared.items()):
            own, theirs = (np.bincount(codes[:, j], minlength=size) / len(codes) for codes in (real, drawn))
            most = NINETEEN * math.sqrt(min(table.variance(column, declared) for table in tables)) / made.rows
            outside.extend(abs(own - theirs) > most)
    assert np.mean(outside) <= 0.07  # 5% but for chance


def test_columns_names_make_no_relations():
    names = ["a", "b", "a × b", "size", "size bit 3", "c, d", "e / split by a"]
    schema = Schema(columns=tuple(Column(name=name, kind="categorical", categories=("x", "y")) for name in names))
    frame = pd.DataFrame({name: ["x", "y"] * 50 for name in names})
    for name, within in (("Independent marginals", ()), ("Adaptive marginals", ("a",))):
        method = METHODS[name](epsilon=100.0).fit(frame, schema=replace(schema, target="a"))
        made = make_release(method, name, method.sample(9), data_name="d")
        tables = [table for table in noisy_tables(made) if table.sizes]
        first = tables[: len(names) - len(within)]
        assert {(*table.sizes, *table.strata) for table in first} == {(n, *within) for n in names if n not in within}
        assert "guesses" not in limits(made)[0][1]
        assert limits(made)[1][1].startswith("no relation: ") == (not within)


def test_bits_of_a_column_say_nothing_of_a_share_of_it():
    schema = replace(SCHEMA, columns=(replace(SCHEMA["age"], bins=50), *SCHEMA.columns[1:]))
    noise = limits(released("PrivSCBN", schema=schema, relation="replace", max_parents=1))[0][1]
    assert noise.endswith("Noise on shares of age is not known.")
    assert "points on a share in the median column" in noise  # of ill, which is one bit


def test_what_has_no_noise_is_not_called_a_guess_and_comforts_no_one():
    made = released("NoPrivacy")
    noise, relations = (about for _, about in limits(made))
    assert noise == "no noise: counts of the real rows were used as they are."
    assert relations == "any relation in these rows may be that of the real rows."
    assert limits(released("Non-private naive Bayes", **LOCAL))[0][1] == noise
    assert "None was copied from a person" not in readme(made) + make_report(made).html
    assert "None was copied from a person" in readme(rows())
    assert "None was copied from a person" in make_report(rows()).html
    assert limits(released("JTree", mode="published"))[0][1].endswith("Other queries were answered without noise.")


def test_odds_are_about_a_row_unless_a_unit_is_declared():
    assert "unsure about one row (a person, if each has one)" in facts(rows())["Worst-case belief"]
    assert "unsure about a person" in facts(rows(schema=SEVERAL))["Worst-case belief"]


def test_a_zip_is_named_after_the_data_what_it_holds_and_what_is_proven_and_nothing_else():
    names = {"hospital visits 2023.csv": "hospital_visits_2023", "C:\\data\\a.b.XLSX": "a.b", "../../.x/": "x"}
    names |= {"<script>/..": "data", "病人.parquet": "病人", "n" * 300: "n" * 60}
    assert all(archive.file_name(rows(data_name=name)) == f"{file}-synthetic-eps1.zip" for name, file in names.items())
    assert archive.file_name(rows(random_state=3)) == "people-synthetic-no-guarantee.zip"
    assert archive.file_name(rows(delta=1e-9)) == "people-synthetic-eps1-delta1e-09.zip"
    assert archive.file_name(rows(schema=SEVERAL)) == "people-synthetic-eps1-per-row.zip"
    report = archive.file_name(rows(data_name="a.zip.b.csv"), ending="html")
    assert report == "a.zip.b-synthetic-eps1.html"
    published = rows(mode="published", x_source="uniform", rows=50)
    bound = number(published.ledger.epsilon_bound).replace(",", "")
    assert archive.file_name(published, real=True) == f"people-synthetic-eps{bound}-do-not-publish.zip"
    assert archive.file_name(released("DiffPRFs", n_trees=2, max_depth=2)) == "people-classifier-eps1.zip"
    assert archive.file_name(released("PPNB", **LOCAL)) == "people-reports-eps1.zip"
    assert archive.file_name(released("TaxonomyRelease")) == "people-count-tree-eps1.zip"


NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w.,])|(?<![\w.])\d{3,9}(?![\w.])")
PERSONS, ROWS = PrivacyUnit(max_contributions=3, id_column="who <b>"), PrivacyUnit(max_contributions=3)
TOLD = {PERSONS: "0.5 per person", ROWS: "0.5 per row, 3 × 0.5 = 1.5 per person"}  # of epsilon 1/2
FRAME = make_frame(120, 1).assign(**{"who <b>": [f"pseudonym {i // 4}" for i in range(120)]})


def test_an_epsilon_says_whose_it_is():
    text = {None: "0.5", **TOLD}
    assert {unit: protection.headline(unit, 0.5) for unit in text} == text
    assert protection.headline(ROWS, float("inf")) == "∞ per row, 3 × ∞ = ∞ per person"
    assert [protection.for_person(unit, 0.5) for unit in text] == ["", "", "3 × 0.5 = 1.5 per person"]
    assert [protection.protects(unit) for unit in text] == ["row", "person", "row"]
    for relation in ("add_remove", "replace"):
        assert "<" not in protection.describe_unit(PERSONS, relation)
        assert "one person" in protection.neighbors(PERSONS, relation)
        assert "up to 3 times as large" in protection.describe_unit(ROWS, relation)


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
    known = dict(record.facts(release).card)
    assert known["Epsilon that can be proved"] == known["Epsilon claimed by the method's source"] == told
    assert known["Privacy unit"] == protection.describe_unit(unit, "add_remove")
    assert ("62.2%" if unit is PERSONS else "81.8%") in known["Worst-case belief"]  # of epsilon 1/2, and of 3/2
    files = {name: raw.decode() for name, raw in members(release).items()}
    for name in ("README.md", "card.md", "report.html"):
        assert told in files[name], name
    assert Schema.from_json(files["schema.json"]).unit == unit
    units = [json.loads(files[name])["unit"] for name in ("config.json", "ledger.json")]
    assert units == [unit.to_dict(), f"one {protection.protects(unit)}"]
    assert "pseudonym" not in "".join(files.values())  # no name of a person


def test_the_card_names_columns_that_are_mostly_blank():
    town = Column("town", "categorical", categories=("a",), missing=True, outside="clip")
    method = METHODS["Independent marginals"](epsilon=100, random_state=1)
    method.fit(pd.DataFrame({"town": ["a", "rare"] * 200}), schema=Schema((town,)))
    made = make_release(method, "Independent marginals", method.sample(400), data_name="")
    assert facts(made)["Missing, or rare values"] == "town (50%)"
