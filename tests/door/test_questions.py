"""Every query of the door: its privacy loss, the scale of its noise, and charging before drawing.

A noise that returns the noiseless values and records its calls stands in for real noise.
"""

import math
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import private_rows
import pytest
from private_rows import ADD, CLAIMING, QUESTIONS, RELATIONS, REPLACE, Broken, BrokenError, door, roots

from dpcore.domain.schema import Schema
from dpcore.door import Door
from dpcore.errors import BudgetError, DPCoreError, ParameterError, SchemaError
from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.scores import Max, MutualInformation

EVERY = [(name, relation) for name in QUESTIONS for relation in RELATIONS]
CLAIMED = [(name, relation) for name in CLAIMING for relation in RELATIONS]


def test_the_bound_follows_from_the_noise_whatever_is_claimed():
    epsilon = Fraction(3, 4)
    for name, relation in EVERY:
        question = QUESTIONS[name]
        for how in ({}, {"claimed_epsilon": Fraction(1, 2)}) if question.claims else ({},):
            table, ask, counted = question.to(relation)
            ask(epsilon, **how)
            entries, claimed = table.ledger.entries, how.get("claimed_epsilon", epsilon)
            expected = zip(question.shares, question.losses[relation], question.draws, strict=True)
            for entry, (share, (sensitivity, scale), draws) in zip(entries, expected, strict=True):
                text = name, relation, entry
                assert (entry.epsilon_bound, entry.epsilon_claimed) == (share * epsilon, share * claimed), text
                assert entry.sensitivity == entry.claimed_sensitivity == pytest.approx(sensitivity), text
                assert entry.scale == pytest.approx(scale / float(epsilon)), text
                assert (entry.mechanism, entry.draws, entry.reason) == (question.mechanism, draws, ""), text
            assert table._door.noise.scales == pytest.approx([entry.scale for entry in entries]), (name, relation)
            totals = table.ledger.totals
            assert (totals.bound, totals.claimed_loss) == (counted * epsilon, counted * claimed), (name, relation)


def test_a_claimed_sensitivity_sets_the_noise_and_the_truth_sets_the_bound():
    """The bound is what the drawn noise buys. A claimed choice is by exp(epsilon q / (2 claimed)) for any score."""
    for name, relation in CLAIMED:
        for claimed in (0.25, 4.0):
            question = QUESTIONS[name]
            table, ask, _ = question.to(relation)
            ask(Fraction(1, 2), claimed_sensitivity=claimed, reason="as printed")
            expected = zip(question.shares, question.losses[relation], strict=True)
            for entry, (share, (sensitivity, scale)) in zip(table.ledger.entries, expected, strict=True):
                text = name, relation, entry
                wide = 2 * sum(question.draws) if question.mechanism == "exponential" else scale / sensitivity
                assert entry.scale == pytest.approx(2 * wide * claimed), text
                assert entry.epsilon_claimed == share / Fraction(2), text
                assert float(entry.epsilon_bound) == pytest.approx(share * scale / (2 * wide * claimed)), text
                assert (entry.sensitivity, entry.claimed_sensitivity) == (pytest.approx(sensitivity), claimed), text
                assert entry.reason == "as printed", text
            assert table._door.noise.scales == [entry.scale for entry in table.ledger.entries], (name, relation)


def test_epsilon_0_gives_no_information():
    """Answers to very different rows are the same, with real noise. Divisions draw places, too: see `test_nodes`."""
    for name, relation in EVERY:
        if name.startswith("division"):
            continue
        for kind in ("laplace", "geometric"):
            found = []
            for other in (False, True):
                table, ask, _ = QUESTIONS[name].to(relation, other=other, noise=make_noise(kind, 3))
                answers = [ask(0) for _ in range(4)]
                if QUESTIONS[name].claims:
                    answers.append(ask(0, claimed_sensitivity=0.5))
                found.append([part for answer in answers for part in parts(answer)])
                assert table.ledger.epsilon_bound == 0, name
                assert table.ledger.entries, name
            for here, there in zip(*found, strict=True):
                assert (np.asarray(here) == there).all(), (name, relation)
                assert QUESTIONS[name].mechanism == "exponential" or not here.any(), (name, relation)


def parts(answer):
    return [part for each in answer for part in parts(each)] if isinstance(answer, list | tuple) else [answer]


def test_an_overdrawn_ledger_draws_nothing_and_counts_nothing(monkeypatch):
    def read(*_, **__):
        pytest.fail("the rows were read")

    claims = {"claimed_epsilon": 0.1}, {"claimed_sensitivity": 1e-3}  # the bound is what the cap counts
    for (name, relation), how in product(EVERY, ({}, *claims)):
        if how and name not in CLAIMING:
            continue
        # The first tables would fit, and are paid all or none; those of nodes are asked one after the other.
        cap = Fraction(7, 8) * (QUESTIONS[name].shares[0] if QUESTIONS[name].of == "nodes" else 1)
        table, ask, counted = QUESTIONS[name].to(relation, cap=cap)
        with monkeypatch.context() as rows:
            rows.setattr("dpcore.rows.Rows.marginals", read)
            rows.setattr("dpcore.door.exact_node_counts.NodeRows._visit_records", read)
            with pytest.raises(BudgetError, match="The query was not answered"):
                ask(Fraction(1, counted), **how)
        assert not table._door.noise.scales, (name, relation, how)
        assert not table.ledger.entries, (name, relation, how)
        assert table.ledger.epsilon_bound == table.ledger.epsilon_claimed == 0, (name, relation, how)


def test_failed_draws_stay_charged():
    for name, question in QUESTIONS.items():
        table, ask, _ = question.to(ADD, noise=Broken(), cap=1)
        with pytest.raises(BrokenError):
            ask(Fraction(1))
        # Tables of nodes are asked one after the other: the first is paid for.
        spent = question.shares[0] if "nodes" in name or "one by one" in name else 1
        assert table.ledger.totals.bound == spent, name


def test_invalid_queries_are_refused_without_a_charge():
    for question in QUESTIONS.values():
        table, ask, _ = question.to(ADD)
        for epsilon in (-0.1, math.nan):
            with pytest.raises(ParameterError, match="negative"):
                ask(epsilon)
        for claimed in (0.0, math.nan, math.inf) if question.claims else ():
            with pytest.raises(ParameterError, match="claimed_sensitivity"):
                ask(1.0, claimed_sensitivity=claimed)
        assert not table.ledger.entries
        assert not table._door.noise.scales
    table = door()
    for candidates, error in (([("a", "y"), ("a", "nobody")], SchemaError), ([], ParameterError)):
        for ask in (table.counts, partial(table.choose, Max()), partial(table.noisy_scores, Max())):
            with pytest.raises(error):
                ask(candidates, epsilon=1.0)
    with pytest.raises(ParameterError):
        table.choose(Max(), [("a", "y")], epsilon=1.0, draws=-1)
    for weights in ([1.0], [1.0, 0.0], [1.0, -1.0], [1.0, math.inf], [1.0, 2.0, 3.0]):
        with pytest.raises((ValueError, DPCoreError), match=r"shares|zip"):
            table.counts([("a",), ("b",)], epsilon=1.0, weights=weights)
    assert not table.ledger.entries
    assert not table._door.noise.scales


def test_no_sensitivity_rests_on_a_bound_on_rows_that_is_missing_or_exceeded():
    """With max_rows = 5 and 6 rows, information would have the sensitivity of 5 and could move by more."""
    informed = ("choice by information", "division by entropy", "a network's family")
    for name, most in product(informed, (None, 5, 6)):
        question = QUESTIONS[name]
        known = private_rows.FOREST if question.of == "nodes" else private_rows.SCHEMA
        schema = Schema(columns=known.columns, max_rows=most)
        table, ask, _ = question.to(ADD, schema=schema)
        if name == "a network's family":
            bits = Schema(columns=private_rows.BITS.columns, max_rows=most)
            growth = table.recode(bits, private_rows.RULES).grow_network(MutualInformation(), bits.names, max_parents=1)
            ask = growth.choose
        if most == 6:
            ask(epsilon=1)
            continue
        with pytest.raises(ParameterError, match="max_rows"):
            ask(epsilon=1)
        assert not table.ledger.entries, name
        if question.of == "table":
            table.choose(Max(), [("a", "y")], epsilon=1)  # needs no bound
            question.to(REPLACE, schema=schema)[1](epsilon=1)  # n is public there


def test_every_answer_goes_through_the_function_that_replay_replaces(monkeypatch):
    seen, answer = [], Door.answer
    monkeypatch.setattr(Door, "answer", lambda door, *wanted: seen.append(wanted[0]) or answer(door, *wanted))
    expected = {"fake": "counts", "k-norm": "histograms", "exponential": "choose", "laplace": "noisy_scores"}
    for name, question in QUESTIONS.items():
        for part in (False, True):
            table, ask, _ = question.to(ADD, paper=True)
            if part and question.of == "table":
                question.ask(table.partition_by("y")[0], 1)
            else:
                ask(1)
            # Tables of nodes are one question each.
            times = len(question.shares) if question.of == "nodes" else 1
            assert seen == [expected[question.mechanism]] * times, name
            seen.clear()
    door(paper=True).read_unprotected("as printed", claimed_epsilon=1.0)
    roots(paper=True)[1].find_pure("because")
    assert seen == ["unprotected"] * 2
