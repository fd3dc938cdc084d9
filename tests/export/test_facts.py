"""The facts of a release: what is protected, whose and from whom, and what it is good for; all files say the same."""

import html
import math
import re
from dataclasses import replace

import pytest
from taken_home import HOSTILE, NO_REPORT, SCHEMA, people, released

from dpcore.domain.schema import Schema
from dpcore.domain.unit import PrivacyUnit
from dpcore.export import archive
from dpcore.export import facts as record
from dpcore.export.limits import limits
from dpcore.export.rendering import part, render
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
    told = facts(made)
    assert told["Guarantee"] == "pure differential privacy (no delta) with epsilon 1."
    assert told["Neighboring relation"] == f"{made.ledger.relation.short}. {made.ledger.relation.sentence}"
    assert told["Epsilon claimed by the method's source"] == told["Epsilon that can be proved"] == "1"
    assert "at most 73.1% sure" in told["In odds"]
    assert record.facts(made).void == ""
    assert ("how many" in " ".join(record.facts(made).open)) == (relation == "replace")


def test_a_release_with_a_delta_says_so_wherever_it_says_epsilon():
    made = rows(delta=1e-9)
    told, card = facts(made), record.facts(made)
    assert told["Guarantee"].startswith("zero-concentrated differential privacy with rho 0.015, hence approximate")
    assert told["Guarantee"].endswith("epsilon 1 at delta 1e-09.")
    assert told["Epsilon claimed by the method's source"] == told["Epsilon that can be proved"] == "1 at delta 1e-09"
    assert "pure" not in render("card.md", facts=card)
    assert made.about["delta"] == 1e-9
    several = facts(rows(delta=1e-9, schema=SEVERAL))
    assert several["Epsilon that can be proved"] == "1 per row, 3.19 per person with 3 rows at delta 1e-09"


def test_teaching_noise_is_called_so():
    assert "can be attacked" in facts(rows(noise="geometric"))["Guarantee"]
    assert "can be attacked" in readme(rows(noise="geometric"))
    assert "can be attacked" not in facts(rows())["Guarantee"]


PROPOSED = replace(Schema.infer(people(), target="ill"), source="declared", notes=())
INFERRED = replace(PROPOSED, source="inferred")
LINES = "3 of 3 lines as the program proposed them from the rows"
UNPROVED = {"mode": "published", "variant": "Alg1", "x_source": "uniform", "rows": 50}
EXACT = "exactly sampled noise."
GROUNDS = "Noise", "Schema", "Privacy unit", "Outside review"
LOCAL = {"relation": "replace", "target": "ill"}


@pytest.mark.parametrize(
    ("given", "noise", "schema", "unit"),
    [
        ({"noise": "laplace"}, "not exactly sampled", "declared. Bounds", "one row."),
        ({"schema": INFERRED}, EXACT, f"inferred; {LINES}. Bounds, bins and categories were", "one row."),
        ({"schema": PROPOSED}, EXACT, f"declared by the user; {LINES}. Bounds", "one row."),
        ({"schema": SEVERAL}, EXACT, "declared", "one row. Rows of one person, as declared: 3"),
        (UNPROVED, "exactly sampled noise, but for what the source draws by itself.", "declared", "one row."),
    ],
)
def test_four_lines_say_what_a_release_rests_on_and_none_stands_for_another(given, noise, schema, unit):
    made = released.__wrapped__("NB-Synth", **{"x_source": "model", **given})
    told = facts(made)
    for what, start in zip(GROUNDS, (noise, schema, unit, "none of this version."), strict=True):
        assert told.get(what, "").startswith(start), what
        assert f"- **{what}:** {told[what]}\n" in render("card.md", facts=record.facts(made))
    assert made.exactly_sampled == told["Noise"].startswith("exactly sampled noise")
    assert ("schema_origins" in made.config()) == (LINES in told["Schema"])


@pytest.mark.parametrize(
    ("given", "proved"),
    [
        ({"random_state": 3}, "none (the noise alone would give 1)"),
        ({"schema": INFERRED}, "none (the noise alone would give 1)"),
        (UNPROVED, "none"),
    ],
)
def test_where_no_guarantee_holds_nothing_is_promised(given, proved):
    made = rows(**given)
    told = facts(made)
    assert told["Guarantee"] == "none that can be proved."
    assert told["Epsilon that can be proved"] == proved
    assert told["Protected against"] == "nobody, as far as can be proved."
    assert told["Publication"] == "do not publish."
    found = record.facts(made)
    assert found.void == made.guarantee_void != ""


def test_a_paper_that_claims_too_little_is_told_beside_what_it_costs():
    made = rows(mode="published", x_source="uniform", rows=50)
    told = facts(made)
    assert told["Epsilon claimed by the method's source"] == "1"
    assert told["Epsilon that can be proved"] == number(made.ledger.epsilon_bound)
    assert math.isfinite(made.ledger.epsilon_bound)
    assert told["Publication"] == "do not publish."


def test_people_who_randomize_their_own_answers_trust_nobody():
    made = released("PPNB", **LOCAL)
    told = facts(made)
    assert told["Trusted party"].startswith("None, where people randomize their answers themselves")
    assert told["Guarantee"].startswith("pure local differential privacy")
    assert told["Protected against"].startswith("whoever collects the reports")
    assert not any("True answers" in sentence for sentence in record.facts(made).open)
    printed = record.facts(released("PPNB", **LOCAL, mode="published"))
    assert any("True answers that people hand in as they are: ill" in sentence for sentence in printed.open)
    own = facts(replace(made, class_name="Mine"))  # with a paper's title, and nobody has checked it
    assert "Reference" not in own["Method"]
    assert not own["Trusted party"].startswith("None")


def test_readme_card_and_page_agree_and_names_from_a_file_are_harmless():
    made = rows(data_name=f"{HOSTILE}[x](javascript:1).csv")
    known = record.facts(made)
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
    assert not any(markup in told for told in (text, alone, page) for markup in ("](", "<script"))
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
    assert made.rows > 0
    noise, relations = (about for _, about in limits(made))
    deviation = 4 * math.sqrt(2)
    points = 196 * deviation / made.rows
    assert f"± {points * 2:.2g} in ill" in noise
    assert relations.startswith("2 of 3 pairs of columns: ")
    assert "All others are guesses" in relations
    assert f"± {100 * 1.96 * deviation / made.rows:.2g} " not in limits(rows(epsilon=5.0))[0][1]
    assert limits(rows(**UNPROVED))[0][1].startswith("not known")
    assert limits(released("DiffPRFs", n_trees=2, max_depth=2))[0][1].endswith(
        "rows on each count in a leaf, 19 times of 20."
    )
    assert "percentage points" in limits(released("PPNB", **LOCAL))[0][1]
    assert "a group of values" in limits(released("TaxonomyRelease"))[0][1]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("hospital visits 2023.csv", "hospital_visits_2023-synthetic-eps1.zip"),
        ("C:\\data\\a.b.XLSX", "a.b-synthetic-eps1.zip"),
        ("../../.x/", "x-synthetic-eps1.zip"),
        ("<script>/..", "data-synthetic-eps1.zip"),
        ("病人.parquet", "病人-synthetic-eps1.zip"),
        ("n" * 300, f"{'n' * 60}-synthetic-eps1.zip"),
    ],
)
def test_a_zip_is_named_after_the_data_what_it_holds_and_what_is_proven(name, file):
    assert archive.file_name(rows(data_name=name)) == file


def test_the_name_of_a_zip_promises_nothing_that_is_not_proven():
    assert archive.file_name(rows(random_state=3)) == "people-synthetic-no-guarantee.zip"
    published = rows(mode="published", x_source="uniform", rows=50)
    bound = number(published.ledger.epsilon_bound).replace(",", "")
    assert archive.file_name(published, real=True) == f"people-synthetic-eps{bound}-do-not-publish.zip"
    assert archive.file_name(released("DiffPRFs", n_trees=2, max_depth=2)) == "people-classifier-eps1.zip"
    assert archive.file_name(released("PPNB", **LOCAL)) == "people-reports-eps1.zip"
    assert archive.file_name(released("TaxonomyRelease")) == "people-count-tree-eps1.zip"
