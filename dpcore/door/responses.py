"""Randomized response: the reports that each row makes about itself, and their privacy loss.

Neighboring data sets differ in the values of one row (replace): participation is not hidden. The
reports of a row depend on its own values and its own random draws, so other rows change nothing.
One changed row costs the sum of its reports' local epsilons (sequential composition, for one row).

At random  If each person answers m of r queries, drawn without looking at values, the reports of
           one row cost at most the m largest epsilons: parts formed by labels compose in parallel.
Together   Answers that share one draw (all kept, or all changed) are one report of all their
           columns. Only two rows that agree in all columns, or in none, are hidden from each other:
           no finite epsilon.
Again      A person who reports one answer twice, with fresh draws, is charged twice, since the mean
           of many reports is the truth. So each `randomize` is charged anew. To answer again for
           free, a person keeps the first report.
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
from dpcore.door.privacy_costs import QueryClaim
from dpcore.errors import ParameterError
from dpcore.mechanisms.noise import Noise
from dpcore.mechanisms.randomizers import TRR, CategoryChannel, Channel, UniformDraws
from dpcore.postprocess.reports import Item, Questionnaire, Reports
from dpcore.rows import Rows


def check_questionnaire(
    questions: Questionnaire, schema: Schema, numbered: Collection[int], relation: Relation
) -> None:
    """Raise ParameterError if the randomizers of a questionnaire do not fit the schema.

    Called before anything is charged. `numbered` has the positions of columns of which the rows
    keep numbers, not only codes. Only the relation "replace" is allowed.
    """
    if relation is not Relation.REPLACE:
        raise ParameterError("Randomized answers do not hide who takes part.", "Use the relation replace.")
    for clique, channel in questions.channels.items():
        name, sizes = describe_clique(clique), [schema[column].size for column in clique]
        if isinstance(channel, CategoryChannel) and channel.size != np.prod(sizes):
            raise ParameterError(f"The randomizer of {name} has a wrong number of values.", "Match its columns.")
        if not isinstance(channel, CategoryChannel | TRR):
            raise ParameterError(f"The randomizer of {name} is unknown.", "Use one of dpcore.mechanisms.")
        if isinstance(channel, TRR) and (len(clique) != 1 or schema.index(clique[0]) not in numbered):
            raise ParameterError(f"{name} is not a column of numbers.", "Randomize values or bins.")


def report_entries(questions: Questionnaire, claimed: Epsilon | None, reasons: Mapping[Item, str]) -> list[Entry]:
    """Return the ledger entries for the randomized reports of one row.

    `claimed` is the epsilon that the source claims per report. `reasons` say, by set of columns,
    why the claim differs from the bound.
    """
    channels, optional = questions.channels, questions.optional
    tied = [group for group in questions.together if len(group) > 1]
    listed = {*optional, *(clique for group in tied for clique in group)}
    found = [
        report_entry(describe_clique(own), [one], exact(one.epsilon), claimed, reasons.get(own, ""))
        for own, one in channels.items()
        if own not in listed
    ]
    for group in tied:
        name = ", ".join(map(describe_clique, group)) + ", kept or changed together"
        reason = " ".join(dict.fromkeys(reasons.get(clique, "") for clique in group))
        found.append(report_entry(name, [channels[one] for one in group], inf, claimed, reason))
    if optional:
        own, name = [channels[one] for one in optional], f"{questions.n_optional} of {len(optional)} answers, at random"
        largest = sorted((exact(one.epsilon) for one in own), reverse=True)[: questions.n_optional]
        found.append(report_entry(name, own, sum(largest, exact(0)), claimed, ""))
    return found


def report_entry(name: str, channels: Sequence[Channel], bound: Epsilon, claimed: Epsilon | None, reason: str) -> Entry:
    """Return the ledger entry for one randomized report, or for several with one charge.

    `channels` are the randomizers of the reports, `bound` is the proven epsilon, `claimed` the
    source's, and `reason` says why they differ.
    """
    only = channels[0] if len(channels) == 1 else None
    width = only.upper - only.lower if isinstance(only, TRR) else 1.0
    mechanism = " and ".join(dict.fromkeys(one.mechanism for one in channels)) + ("" if only else ", several")
    scale = only.scale if isinstance(only, TRR) else np.nan
    claim = QueryClaim(claimed_epsilon=claimed, reason=reason)
    return claim.entry(f"report of {name}", mechanism, width, scale, spent=bound, bound=bound, draws=1)


def describe_clique(clique: Item) -> str:
    """Return the names of a set of columns as one text, such as "age × sex"."""
    return " × ".join(clique)


def draw_reports(questions: Questionnaire, rows: Rows, schema: Schema, noise: Noise) -> Reports:
    """Return the randomized reports of all rows.

    Each row answers `questions.n_optional` optional queries, chosen at random, and all other
    queries.
    """
    people, optional = len(rows), questions.optional
    chosen: dict[Item, Ints] = {}
    if optional:
        draws = noise.uniforms(people * len(optional)).reshape(people, len(optional))
        drawn = np.argpartition(draws, questions.n_optional - 1, axis=1)[:, : questions.n_optional]
        chosen = {own: np.flatnonzero((drawn == i).any(axis=1)) for i, own in enumerate(optional)}
    shared: dict[Item, UniformDraws] = {}
    for group in questions.together:
        shared |= dict.fromkeys(group, fixed_draws(noise.uniforms(people)))
    values: dict[Item, NDArray[Any]] = {}
    for clique, channel in questions.channels.items():
        at: Any = chosen.get(clique, slice(None))
        positions = [schema.index(name) for name in clique]
        if isinstance(channel, TRR):
            values[clique] = channel.report(rows.numbers(positions[0])[at], noise.uniforms, noise.reals)
        elif isinstance(channel, CategoryChannel):
            own = rows.flat_indices(positions)[at]
            values[clique] = channel.report(own, shared.get(clique, noise.uniforms))
    return Reports(schema, people, questions.channels, values, chosen, questions.together)


def fixed_draws(draws: Floats) -> UniformDraws:
    """Return a source of random draws that always returns `draws`."""
    return lambda _: draws
