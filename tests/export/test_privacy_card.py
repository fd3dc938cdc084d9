"""The card: what is protected, whose, from whom, at which price, and what is not; and the README says the same."""

import html
import math
from dataclasses import replace

import pytest
from taken_home import HOSTILE, NO_REPORT, SCHEMA, people, released

from dpcore.domain.schema import Schema
from dpcore.domain.unit import PrivacyUnit
from dpcore.export import archive, privacy_card
from dpcore.text import number

SEVERAL = replace(SCHEMA, unit=PrivacyUnit(max_contributions=3))


def rows(**given):
    return released("NB-Synth", **{"x_source": "model", **given})


def facts(release):
    return dict(privacy_card.card(release).facts)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_a_release_that_keeps_its_promise(relation):
    made = rows(relation=relation)
    told = facts(made)
    assert told["Guarantee"] == "pure differential privacy (no delta) with epsilon 1."
    assert told["Neighboring relation"] == f"{made.ledger.relation.short}. {made.ledger.relation.sentence}"
    assert told["Epsilon claimed by the method's source"] == told["Epsilon that can be proved"] == "1"
    assert "at most 73.1% sure" in told["In odds"]
    assert privacy_card.card(made).void == ""
    assert ("how many" in " ".join(privacy_card.card(made).open)) == (relation == "replace")


def test_a_release_with_a_delta_says_so_wherever_it_says_epsilon():
    made = rows(delta=1e-9)
    told, card = facts(made), privacy_card.card(made)
    assert told["Guarantee"].startswith("zero-concentrated differential privacy with rho 0.015, hence approximate")
    assert told["Guarantee"].endswith("epsilon 1 at delta 1e-09.")
    assert told["Epsilon claimed by the method's source"] == told["Epsilon that can be proved"] == "1 at delta 1e-09"
    assert "pure" not in privacy_card.markdown(card)
    assert made.about["delta"] == 1e-9
    several = facts(rows(delta=1e-9, schema=SEVERAL))
    assert several["Epsilon that can be proved"] == "1 per row, 3.19 per person with 3 rows at delta 1e-09"


def test_teaching_noise_is_called_so():
    assert "can be attacked" in facts(rows(noise="geometric"))["Guarantee"]
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
        ({"schema": SEVERAL}, EXACT, "declared", "one row. One person has 3"),
        (UNPROVED, "exactly sampled noise, but for what the source draws by itself.", "declared", "one row."),
    ],
)
def test_four_lines_say_what_a_release_rests_on_and_none_stands_for_another(given, noise, schema, unit):
    made = released.__wrapped__("NB-Synth", **{"x_source": "model", **given})
    told = facts(made)
    for what, start in zip(GROUNDS, (noise, schema, unit, "none of this version."), strict=True):
        assert told.get(what, "").startswith(start), what
        assert f"- {what}: {told[what]}\n" in archive.readme(made, "csv", NO_REPORT)
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
    found = privacy_card.card(made)
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
    assert not any("True answers" in sentence for sentence in privacy_card.card(made).open)
    printed = privacy_card.card(released("PPNB", **LOCAL, mode="published"))
    assert any("True answers that people hand in as they are: ill" in sentence for sentence in printed.open)
    own = facts(replace(made, class_name="Mine"))  # with a paper's title, and nobody has checked it
    assert "Reference" not in own["Method"]
    assert not own["Trusted party"].startswith("None")


def test_readme_card_and_page_agree_and_names_from_a_file_are_harmless():
    made = rows(data_name=f"{HOSTILE}[x](javascript:1).csv")
    card = privacy_card.card(made)
    text, alone = archive.readme(made, "csv", NO_REPORT), privacy_card.markdown(card)
    whole = html.unescape(privacy_card.html(card))
    for what, about in card.facts:
        assert (f"- {what}: {about}\n" in text) == (what in archive.BRIEF)
        assert f"- **{what}:** {about}\n" in alone
        assert what in whole
        assert about in whole
    for sentence in card.open:
        assert f"- {sentence}\n" in alone
        assert sentence in whole
    assert text.startswith(f"# {card.title}\n")
    assert "<script" not in privacy_card.html(card)
    assert not any(markup in told for told in (text, alone) for markup in ("](", "<script"))
    page = privacy_card.html(privacy_card.Card("t", "", (("<i>", "<b>"),), ("<u>",)))
    assert all(f"&lt;{tag}&gt;" in page and f"<{tag}>" not in page for tag in "ibu")
