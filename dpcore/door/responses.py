"""Randomized answers: what each record reports of itself, and what that costs it.

The only neighbors are tables in which one record has other values (replace): who takes part is
seen. A record's reports depend on its own values and on its own lots, so another record changes
nothing, and one that changes costs the sum of its reports' local epsilons (sequential composition,
for one record).

Asked by lot      If each person answers m of r questions, drawn by lots that do not look at values, the reports of one
                  record cost at most the m dearest together: parts formed by labels compose in parallel.
Together          Answers that share one lot (kept all, or changed all) are one report of all their columns. Only two
                  records that agree everywhere, or nowhere, are ever hidden among each other: no finite epsilon.
Again             A person who reports the same answer twice, with fresh lots, pays twice (an average of many reports is
                  the truth); so each `randomize` is charged anew. Whoever wants to be asked again keeps the report.
"""

from collections.abc import Collection, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.ledger import Entry
from dpcore.accounting.relation import Epsilon, Relation, exact
from dpcore.arguments import Floats, Ints
from dpcore.domain.schema import Schema
from dpcore.door.prices import QueryClaim
from dpcore.errors import ParameterError
from dpcore.mechanisms.noise import Noise
from dpcore.mechanisms.randomizers import TRR, CategoryChannel, Channel, UniformDraws
from dpcore.postprocess.reports import Item, Questionnaire, Reports
from dpcore.rows import Rows


def check(questions: Questionnaire, schema: Schema, numbered: Collection[int], relation: Relation) -> None:
    """Refuse, before anything is charged, questions that nobody can answer."""
    if relation is not Relation.REPLACE:
        raise ParameterError("Randomized answers hide what people say, not who they are.", "Use replace.")
    for family, channel in questions.channels.items():
        sizes = [schema[name].size for name in family]
        if isinstance(channel, CategoryChannel) and channel.size != np.prod(sizes):
            raise ParameterError(
                f"The randomizer of {describe_family(family)} has another number of values.", "Correct it."
            )
        if not isinstance(channel, CategoryChannel | TRR):
            raise ParameterError(
                f"There is no randomizer for {describe_family(family)}.", "Use a channel of this package."
            )
        if isinstance(channel, TRR) and (len(family) != 1 or schema.index(family[0]) not in numbered):
            raise ParameterError(
                f"{describe_family(family)} is not a number to be randomized.", "Use its values or bins."
            )


def entries(questions: Questionnaire, claimed: Epsilon | None, reasons: Mapping[Item, str]) -> list[Entry]:
    """What the reports of one record cost."""
    channels, optional = questions.channels, questions.optional
    tied = [group for group in questions.together if len(group) > 1]
    listed = {*optional, *(family for group in tied for family in group)}
    found = [
        entry(describe_family(family), [channel], exact(channel.epsilon), claimed, reasons.get(family, ""))
        for family, channel in channels.items()
        if family not in listed
    ]
    for group in tied:
        name = ", ".join(map(describe_family, group)) + ", kept or changed together"
        reason = " ".join(dict.fromkeys(reasons.get(family, "") for family in group))
        found.append(entry(name, [channels[family] for family in group], inf, claimed, reason))
    if optional:
        dearest = sorted((exact(channels[family].epsilon) for family in optional), reverse=True)[: questions.asked]
        what = f"{questions.asked} of {len(optional)} answers, by lot"
        found.append(entry(what, [channels[family] for family in optional], sum(dearest, exact(0)), claimed, ""))
    return found


def entry(name: str, channels: Sequence[Channel], bound: Epsilon, claimed: Epsilon | None, reason: str) -> Entry:
    """One question to everybody."""
    only = channels[0] if len(channels) == 1 else None
    width = only.upper - only.lower if isinstance(only, TRR) else 1.0
    mechanism = " and ".join(dict.fromkeys(channel.mechanism for channel in channels))
    mechanism += "" if only else ", several"
    scale = only.scale if isinstance(only, TRR) else np.nan
    claim = QueryClaim(claimed_epsilon=claimed, reason=reason)
    return claim.entry(f"report of {name}", mechanism, width, scale, paid=bound, bound=bound, draws=1)


def describe_family(family: Item) -> str:
    """A family in words."""
    return " × ".join(family)


def answers(questions: Questionnaire, rows: Rows, schema: Schema, noise: Noise) -> Reports:
    """Everybody's reports."""
    people, optional = len(rows), questions.optional
    chosen: dict[Item, Ints] = {}
    if optional:
        draws = noise.lots(people * len(optional)).reshape(people, len(optional))
        drawn = np.argpartition(draws, questions.asked - 1, axis=1)[:, : questions.asked]
        chosen = {family: np.flatnonzero((drawn == i).any(axis=1)) for i, family in enumerate(optional)}
    shared: dict[Item, UniformDraws] = {}
    for group in questions.together:
        shared |= dict.fromkeys(group, given_draws(noise.lots(people)))
    values: dict[Item, NDArray[Any]] = {}
    for family, channel in questions.channels.items():
        at: Any = chosen.get(family, slice(None))
        positions = [schema.index(name) for name in family]
        if isinstance(channel, TRR):
            values[family] = channel.report(rows.numbers(positions[0])[at], noise.lots, noise.reals)
        elif isinstance(channel, CategoryChannel):
            own = rows.flat_indices(positions)[at]
            values[family] = channel.report(own, shared.get(family, noise.lots))
    return Reports(schema, people, questions.channels, values, chosen, questions.together)


def given_draws(lots: Floats) -> UniformDraws:
    """Lots that were drawn before."""
    return lambda _: lots
