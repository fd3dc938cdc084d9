"""What a release tells about one person's sensitive value. Reads real rows: nothing here is private.

A target is a real row. An attacker knows some of its columns, the quasi-identifiers, sees the
release, and says what the sensitive column holds. Two things make him right: what is true of people
in general, which a good release shows on purpose, and what the release shows because the target is
in the data, which is the loss of privacy. `cap` and `advantage` measure both together; only
`in_out_advantage` tells the second apart, and only it is bounded by epsilon.

Targets and synthetic rows fit the schema, and only the named columns are read. Rows are compared by
their codes: numbers match if they are in one bin. Quasi-identifiers are one column or more; None
means all but the sensitive one. An attack is one of `ATTACKS`: a classifier trained on the
synthetic rows, or "match", which answers with the most frequent sensitive value among the matching
rows (among all rows if none matches; the first in the schema if tied). `progress` is called before
every fit; raising inside it cancels. DataError if a data set is empty or does not fit the schema;
ParameterError or SchemaError if a column is not known, is named twice, or is both known and
sensitive, if the attack is not known, and if a number is out of range.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.arguments import Flags, Progress, check_public, no_progress
from dpcore.datasets import Dataset
from dpcore.domain.column import Codes
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.evaluate.distances import row_numbers
from dpcore.evaluate.learners import MODELS, again, fit_predict, require_rows
from dpcore.methods.base import PrivateClassifier, Synthesizer

__all__ = ["advantage", "cap", "in_out_advantage", "pad_rows"]

MATCH = "match"
OWN_ANSWER = "the model's answer"
ATTACKS = (MATCH, *MODELS)
RowIndices = NDArray[np.int64]
Quasi = Sequence[str] | None


def cap(
    targets: pd.DataFrame,
    synthetic: pd.DataFrame,
    schema: Schema,
    sensitive: str,
    quasi_identifiers: Sequence[str],
    *,
    tau: float = 0.8,
) -> float:
    """Return the share of targets whose sensitive value the matching rows agree on. Not private.

    This is the correct attribution probability. A target counts if at least one synthetic row has
    its quasi-identifiers and at least the share `tau` of those rows has its sensitive value. A
    release can score high without any row of the target.

    Parameters
    ----------
    targets : DataFrame
        Real rows, which an attacker asks about.
    synthetic : DataFrame
        The released rows.
    schema : Schema
        The schema of both.
    sensitive : str
        The column that the attacker wants to know.
    quasi_identifiers : sequence of str
        The columns that the attacker knows.
    tau : float, default=0.8
        The share of agreeing rows, in (0, 1].

    Returns
    -------
    float
        The share of targets, in [0, 1].

    Raises
    ------
    ParameterError, SchemaError
        If `tau` is out of range, or a column is not known, named twice, or both known and
        sensitive.
    DataError
        If there are no rows, or they do not fit the schema.
    """
    if not 0 < tau <= 1:
        raise ParameterError("`tau` must be a number in (0, 1].", "Try tau=0.8.")
    targets_coded, known, _ = _encoded((targets, synthetic), schema, sensitive, quasi_identifiers)
    matches = _frequencies(*row_numbers(targets_coded[:, :-1], known[:, :-1]))
    agreeing = _frequencies(*row_numbers(targets_coded, known))
    return float((agreeing / np.maximum(matches, 1) >= tau).mean())


def advantage(
    targets: pd.DataFrame,
    synthetic: pd.DataFrame,
    schema: Schema,
    sensitive: str,
    quasi_identifiers: Sequence[str] | None = None,
    *,
    attack: str = "linear SVM",
) -> float:
    """Return how much better than the best constant answer an attack does. Not private.

    It is (accuracy - majority) / (1 - majority), where the majority is the share of the targets'
    most frequent sensitive value. Raw accuracy would say little: that of a constant answer about a
    binary column is never below one half.

    Parameters
    ----------
    targets, synthetic, schema, sensitive
        As for `cap`.
    quasi_identifiers : sequence of str, optional
        The columns that the attacker knows; by default all but the sensitive one.
    attack : str, default="linear SVM"
        One of `ATTACKS`: a model that learns from the released rows, or "match".

    Returns
    -------
    float
        1: always right. 0: no better than the constant answer. Negative: worse. NaN if all targets
        are alike.

    Raises
    ------
    ParameterError, SchemaError, DataError
        As for `cap`, and if the attack is not known.
    """
    accuracy = correct(targets, synthetic, schema, sensitive, quasi_identifiers, attack).mean()
    majority = np.bincount(schema[sensitive].encode(targets[sensitive])).max() / len(targets)
    return float((accuracy - majority) / (1 - majority)) if majority < 1 else np.nan


def in_out_advantage(
    method: Synthesizer | PrivateClassifier,
    frame: pd.DataFrame,
    targets: pd.DataFrame,
    schema: Schema,
    sensitive: str,
    quasi_identifiers: Sequence[str] | None = None,
    *,
    attack: str = MATCH,
    fits: int = 20,
    rows: int | None = None,
    confidence: float = 0.95,
    progress: Progress = no_progress,
    seed: int = 0,
) -> pd.DataFrame:
    """Estimate how much more often an attack is right about targets that a method learned from.

    It is Pr[attack correct | target in] − Pr[attack correct | target out], the mean over targets,
    where "in" means that the method learned from the target. Not private.

    Every fit learns from `frame` and a random half of the targets, and the attack is asked about
    all of them. Under add_remove a fair coin per target decides whether it is in; under replace one
    per pair (k, m + k) of the 2m targets decides which of the two is in, so that the number of rows
    is constant. Fits come in pairs with opposite coins: each target is in once and out once, and
    the estimate is the mean over pairs of the difference.

    One fit with many targets in serves all of them. For each target, whatever the coins of the
    others, the data sets with it in and with it out are neighbors; its coin is independent of
    theirs and the rows of `frame` never change. The difference is thus an unbiased estimate of the
    targets' mean advantage over the others' random presence, and every epsilon-DP method keeps it
    below (e^ε − 1)/(e^ε + 1). Pairs of fits are independent and alike, hence the t interval. The
    estimate is for these targets and this attack: another attack may do better, so a low value
    proves no privacy.

    Parameters
    ----------
    method : Synthesizer or PrivateClassifier
        Unfitted; every fit is of a clone. A `random_state` s becomes s, s + 1, ... A classifier
        is attacked by its own answer: it predicts its class column, which is the sensitive one,
        from all other columns.
    frame : DataFrame
        The rows that are always in; may not hold the targets.
    targets : DataFrame
        An even number 2m of rows. If the schema's privacy unit names persons, each is of a person
        without other rows; under replace target m + k is taken for other values of the person of
        target k.
    schema : Schema
        The schema of both.
    sensitive : str
        The column that the attacker wants to know.
    quasi_identifiers : sequence of str, optional
        The columns that the attacker knows; by default all but the sensitive one.
    attack : str, default="match"
        One of `ATTACKS`.
    fits : int, default=20
        An even number, 4 or more.
    rows : int, optional
        Synthetic rows per fit; by default what the method gives.
    confidence : float, default=0.95
        The coverage of the interval, in (0, 1).
    progress : callable, optional
        Called before every fit; raising inside it cancels.
    seed : int, default=0
        The seed of the coins, not of the method.

    Returns
    -------
    DataFrame
        One row: `correct_in`, `correct_out` (shares), their difference `advantage`, its interval
        `low` to `high`, `confidence`, `epsilon_nominal` and `epsilon_bound` (what the noise costs,
        and what can be proved, the largest of all fits), `bound` (the limit that the noise sets to
        the advantage of an attacker who does not know the seed; 1 if there is none), `attack`,
        `targets`, `fits` and `note`: why the guarantee is void, if it is.

    Raises
    ------
    ParameterError
        If there are fewer than 4 fits, the number of fits or of targets is odd, the confidence is
        out of range, or the attack is not known.
    DataError, SchemaError
        If rows or columns do not fit the schema.
    """
    if fits < 4 or fits % 2 or len(targets) % 2 or not 0 < confidence < 1:
        raise ParameterError(
            "The numbers of fits and targets must be even, and an interval needs four fits.",
            "Give even numbers, and a confidence between 0 and 1.",
        )
    require_rows(targets)
    m, paired = len(targets) // 2, Relation.parse(method.relation) is Relation.REPLACE
    targets = of_other_persons(targets, frame, schema, paired=paired)
    rng = np.random.default_rng(seed)
    coins = rng.random((fits // 2, m if paired else 2 * m)) < 0.5
    present = np.hstack([coins, ~coins]) if paired else coins
    hits, ledgers = np.empty((fits, 2)), []
    for fit in range(fits):
        progress(fit / fits, f"fit {fit + 1:,} of {fits:,}")
        inside = present[fit // 2] ^ bool(fit % 2)
        copy = again(method, fit)
        known = pd.concat([frame, targets[inside]], ignore_index=True)
        copy.fit(known, schema=schema, ledger=Ledger(copy.relation, delta=copy.delta))
        if isinstance(copy, PrivateClassifier):
            right = copy.predict_proba(targets).argmax(axis=1) == schema[sensitive].encode(targets[sensitive])
        else:
            right = correct(targets, copy.sample(rows), schema, sensitive, quasi_identifiers, attack)
        hits[fit] = right[inside].sum(), right[~inside].sum()
        ledgers.append(copy.ledger_)
    progress(1.0, "done")
    twos = hits.reshape(-1, 2, 2).sum(axis=1) / (2 * m)
    differences = twos[:, 0] - twos[:, 1]
    found, error = differences.mean(), differences.std(ddof=1) / np.sqrt(len(twos))
    half = student.ppf((1 + confidence) / 2, len(twos) - 1) * error
    of_noise = float(max(ledger.totals.nominal for ledger in ledgers))
    columns = {
        "correct_in": twos[:, 0].mean(),
        "correct_out": twos[:, 1].mean(),
        "advantage": found,
        "low": max(found - half, -1.0),
        "high": min(found + half, 1.0),
        "confidence": confidence,
        "epsilon_nominal": of_noise,
        "epsilon_bound": float(max(ledger.totals.bound for ledger in ledgers)),
        "bound": np.tanh(of_noise / 2),
        "attack": OWN_ANSWER if isinstance(method, PrivateClassifier) else attack,
        "targets": 2 * m,
        "fits": fits,
        "note": " ".join(dict.fromkeys(filter(None, (ledger.guarantee_void for ledger in ledgers)))),
    }
    return pd.DataFrame([columns])


def try_in_out(
    method: Synthesizer | PrivateClassifier, data: Dataset, schema: Schema, sensitive: str, most: int, **how: Any
) -> pd.DataFrame:
    """Estimate `in_out_advantage` for at most `most` training rows, which `split_targets` chooses.

    Parameters
    ----------
    method
        As for `in_out_advantage`.
    data : Dataset
        The data set whose training rows are used.
    schema, sensitive
        As for `in_out_advantage`.
    most : int
        The largest number of targets.
    **how
        All else of `in_out_advantage`.

    Returns
    -------
    DataFrame
        As of `in_out_advantage`.

    Raises
    ------
    ParameterError, DataError, SchemaError
        As for `in_out_advantage` and `split_targets`.
    """
    frame, targets = split_targets(data.train_sample, schema, most)
    return in_out_advantage(method, frame, targets, schema, sensitive, **how)


def split_targets(frame: pd.DataFrame, schema: Schema, most: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split a frame at random, with a fixed seed, into rows that are always in and targets.

    A method learns from all rows that are always in, and from some of the targets. If the schema's
    privacy unit names persons, each target is of another person, whose other rows are left out.

    Parameters
    ----------
    frame : DataFrame
        All rows.
    schema : Schema
        Their schema.
    most : int
        The largest number of targets; they are an even number, and a quarter of the persons at
        most.

    Returns
    -------
    frame, targets : DataFrame
        The rows that are always in, and the targets.

    Raises
    ------
    ParameterError
        If there are fewer than eight people.
    """
    persons = np.arange(len(frame)) if schema.persons is None else schema.persons.persons(frame)
    people, first = np.unique(persons, return_index=True)
    count = min(most, len(people) // 4) // 2 * 2
    if count < 2:
        raise ParameterError("There are too few persons to leave some out.", "Use data of eight persons or more.")
    chosen = np.random.default_rng(0).choice(len(people), count, replace=False)
    return frame[~np.isin(persons, people[chosen])], frame.iloc[first[chosen]]


def of_other_persons(targets: pd.DataFrame, frame: pd.DataFrame, schema: Schema, *, paired: bool) -> pd.DataFrame:
    """Return the targets, each of a person who has no other row.

    Parameters
    ----------
    targets : DataFrame
        The targets.
    frame : DataFrame
        The rows that are always in.
    schema : Schema
        The schema of both. If no column of it names persons, the targets are returned as they are.
    paired : bool
        Whether targets k and m + k of 2m are of one person, who is in with one of the two.

    Returns
    -------
    DataFrame
        The targets, in order.

    Raises
    ------
    ParameterError
        If a target is of a person who has other rows.
    """
    unit = schema.persons
    if unit is None:
        return targets
    first = len(unit.persons(targets)) // (1 + paired)
    names = targets[unit.id_column].tolist()[:first]
    named = targets.assign(**{str(unit.id_column): names * (1 + paired)})
    persons = unit.persons(pd.concat([frame, named.head(first)], ignore_index=True))
    mine, others = persons[len(frame) :], persons[: len(frame)]
    if len(np.unique(mine)) < first or np.isin(mine, others).any():
        raise ParameterError("A target is of a person who has other rows.", "Give targets of persons with one row.")
    return named


def pad_rows(frame: pd.DataFrame, schema: Schema, rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return a frame's rows as they are, then uniformly random ones, `rows` in all.

    Every code of a column is equally likely, "missing" included; numbers are then uniform inside
    their bin. The random rows are independent of one another and of the frame, so they dilute every
    dependence between columns. A schema with `max_rows` below `rows` is no longer true of the
    result. If the schema's privacy unit names persons, each random row is of another person.

    Parameters
    ----------
    frame : DataFrame
        The first rows.
    schema : Schema
        Their schema, whose columns are kept.
    rows : int
        The number of rows in all.
    rng : numpy.random.Generator
        The source of the random rows.

    Returns
    -------
    DataFrame
        The rows.

    Raises
    ------
    ParameterError
        If the frame has more rows.
    DataError
        If the frame does not fit the schema.
    """
    schema.encode(frame)
    if rows < len(frame):
        raise ParameterError("`rows` is below the number of rows in the frame.", "Raise `rows`.")
    codes = rng.integers(0, schema.sizes, size=(rows - len(frame), len(schema)), dtype=np.uint32)
    real, random = frame[list(schema.names)], schema.decode(codes, rng)
    if (unit := schema.persons) is not None:
        names = {str(unit.id_column): [f"random row {number:,}" for number in range(len(random))]}
        real, random = real.assign(**{str(unit.id_column): frame[unit.id_column]}), random.assign(**names)
    return pd.concat([real, random], ignore_index=True)


def correct(
    targets: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema, sensitive: str, known: Quasi, attack: str = MATCH
) -> Flags:
    """Return for each target whether an attack is right. Shows single rows: not for display.

    Parameters
    ----------
    targets, synthetic, schema, sensitive, known, attack
        As for `advantage`, whose quasi-identifiers are `known`.

    Returns
    -------
    bool array of shape (m,)
        Whether the attack's answer about each target is right.

    Raises
    ------
    ParameterError
        If the attack is not known; all else as for `advantage`.
    """
    targets_coded, rows, sizes = _encoded((targets, synthetic), schema, sensitive, known)
    if attack not in ATTACKS:
        raise ParameterError(f"The attack {attack!r} is not known.", f"Choose from {', '.join(ATTACKS)}.")
    if attack == MATCH:
        guess: NDArray[Any] = _guess_by_match(targets_coded, rows)
    else:
        guess, _ = fit_predict(attack, rows, targets_coded, sizes, len(sizes) - 1)
    return np.asarray(guess == targets_coded[:, -1])


def _encoded(
    tables: Sequence[pd.DataFrame], schema: Schema, sensitive: str, known: Quasi
) -> tuple[Codes, Codes, tuple[int, ...]]:
    """Encode both tables' quasi-identifiers, then the sensitive column; return their sizes too.

    `known` names the quasi-identifiers, by default all other columns. The sizes are the numbers of
    codes of these columns.
    """
    others = [name for name in schema.names if name != sensitive]
    names = [*(others if known is None else known), sensitive]
    if len(names) < 2:
        raise ParameterError("No quasi-identifier is given.", "Name one quasi-identifier or more.")
    if len(set(names)) < len(names):
        raise ParameterError(
            "A quasi-identifier is named twice, or is the sensitive column.", "Name each column in one role."
        )
    part = schema.select(names)
    require_rows(*tables)
    return part.encode(tables[0]), part.encode(tables[1]), part.sizes


def _frequencies(numbers: RowIndices, known: RowIndices) -> RowIndices:
    """Count how often each row number in `numbers` occurs in `known`; same shape as `numbers`."""
    return np.bincount(known, minlength=int(numbers.max()) + 1)[numbers]


def _guess_by_match(targets: Codes, known: Codes) -> RowIndices:
    """Guess the most frequent sensitive value among the matching rows, or among all if none match.

    `targets` and `known`, the released rows, have codes, those of the sensitive column last.
    """
    (of_target, of_row), values = row_numbers(targets[:, :-1], known[:, :-1]), known[:, -1]
    answers = np.full(max(of_target.max(), of_row.max()) + 1, np.bincount(values).argmax())
    pairs, counts = np.unique(np.column_stack([of_row, values]), axis=0, return_counts=True)
    order = np.lexsort((-pairs[:, 1], counts))  # of equal places, what is written last stays
    answers[pairs[order, 0]] = pairs[order, 1]
    return answers[of_target]


check_public(globals(), __all__)
