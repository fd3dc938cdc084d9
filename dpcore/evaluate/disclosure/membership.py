"""How much more often an attack succeeds because its target is in the data."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import t as student
from sklearn.base import clone

from dpcore.accounting.relation import Relation
from dpcore.arguments import Progress, no_progress
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.evaluate.disclosure.attacks import MATCH, correct
from dpcore.evaluate.learners import require_rows
from dpcore.methods.base import Synthesizer


def in_out_advantage(
    method: Synthesizer,
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
    """Pr[attack correct | target in] − Pr[attack correct | target out], the mean over targets. Not private.

    Every fit learns from `frame` and a random half of the targets, and the attack is asked about all of them.
    Under add_remove a fair coin per target decides whether it is in; under replace one per pair (k, m + k) of the 2m
    targets decides which of the two is in, so that the number of rows is constant. Fits come in twos with opposite
    coins: each target is in once and out once, and the estimate is the mean over twos of the difference.

    One fit with many targets in serves all of them. For each target, whatever the coins of the others, the tables with
    it in and with it out are neighbors; its coin is independent of theirs and the rows of `frame` never change. The
    difference is thus an unbiased estimate of the targets' mean advantage over the others' random presence, and every
    epsilon-DP method keeps it below (e^ε − 1)/(e^ε + 1). Twos are independent and alike, hence the t interval. It
    speaks of these targets and this attack: another attack may do better, so a low value proves no privacy.

    Parameters
    ----------
    method : Synthesizer
        Unfitted; fitted clones are asked. A `random_state` s becomes s, s + 1, ...
    frame : DataFrame
        The rows that are always in; may not hold the targets.
    targets : DataFrame
        An even number 2m of real rows.
    schema, sensitive, quasi_identifiers, attack
        As for `advantage`.
    fits : int
        An even number, 4 or more.
    rows : int, optional
        Synthetic rows per fit; by default what the method gives.
    confidence : float
        Of the interval, in (0, 1).
    progress : callable
        Called before every fit; raising inside it cancels.
    seed : int
        Of the coins, not of the method.

    Returns
    -------
    DataFrame
        One row: `correct_in`, `correct_out` (shares), their difference `advantage`, its interval `low` to `high`,
        `confidence`, `epsilon_of_noise` and `epsilon_bound` (what the noise costs, and what can be proved, the largest
        of all fits), `bound` (the limit that the noise sets to the advantage of whoever does not know the seed; 1 if
        there is none), `attack`, `targets`, `fits` and `note`: why the guarantee is void, if it is.

    Raises
    ------
    DataError, ParameterError, SchemaError
        As for `advantage`, and if `fits`, `confidence` or the number of targets is out of range.
    """
    if fits < 4 or fits % 2 or len(targets) % 2 or not 0 < confidence < 1:
        raise ParameterError(
            "Fits and targets come in twos, and an interval needs four fits.",
            "Give even numbers, and a confidence between 0 and 1.",
        )
    require_rows(targets)
    m, paired = len(targets) // 2, Relation.parse(method.relation) is Relation.REPLACE
    rng = np.random.default_rng(seed)
    hits, bounds, notes = np.empty((fits, 2)), [], []
    inside = np.zeros(2 * m, dtype=bool)
    for fit in range(fits):
        progress(fit / fits, f"fit {fit + 1:,} of {fits:,}")
        if fit % 2:
            inside = ~inside
        else:
            coins = rng.random(m if paired else 2 * m) < 0.5
            inside = np.concatenate([coins, ~coins]) if paired else coins
        copy = clone(method)
        if method.random_state is not None:
            copy.set_params(random_state=method.random_state + fit)
        copy.fit(pd.concat([frame, targets[inside]], ignore_index=True), schema=schema)
        right = correct(targets, copy.sample(rows), schema, sensitive, quasi_identifiers, attack, seed)
        hits[fit] = right[inside].sum(), right[~inside].sum()
        bounds.append(copy.ledger_.totals)
        notes.append(copy.ledger_.void)
    progress(1.0, "done")
    twos = hits.reshape(-1, 2, 2).sum(axis=1) / (2 * m)
    differences = twos[:, 0] - twos[:, 1]
    found, error = differences.mean(), differences.std(ddof=1) / np.sqrt(len(twos))
    half = student.ppf((1 + confidence) / 2, len(twos) - 1) * error
    of_noise = float(max(totals.of_noise for totals in bounds))
    columns = {
        "correct_in": twos[:, 0].mean(),
        "correct_out": twos[:, 1].mean(),
        "advantage": found,
        "low": max(found - half, -1.0),
        "high": min(found + half, 1.0),
        "confidence": confidence,
        "epsilon_of_noise": of_noise,
        "epsilon_bound": float(max(totals.bound for totals in bounds)),
        "bound": np.tanh(of_noise / 2),
        "attack": attack,
        "targets": 2 * m,
        "fits": fits,
        "note": " ".join(dict.fromkeys(filter(None, notes))),
    }
    return pd.DataFrame([columns])
