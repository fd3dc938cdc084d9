"""How well releases answer range queries: estimates, their errors beside the true counts, errors by a range's size."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

from dpcore.accounting.relation import Relation
from dpcore.arguments import Floats
from dpcore.domain.range_query import RangeQuery, count_matches, query_names
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.evaluate.learners import TableLike, as_rows, require_rows
from dpcore.evaluate.statistics import Statistics, statistics
from dpcore.methods.base import Synthesizer
from dpcore.postprocess.count_tree import ReleasedTree
from dpcore.rows import Rows

EDGES = (0.0004, 0.002, 0.01, 0.05, 0.25)  # of bins of the share of the domain; the last one has no upper end
BINS = ("<0.04%", "0.04–0.2%", "0.2–1%", "1–5%", "5–25%", "≥25%")
SANE = 0.001  # of the rows: relative errors of smaller counts are measured against this
NEARLY_NORMAL = 1e15  # so many Laplace variables sum to a normal one, as far as 53 bits can tell


def range_answers(release: Synthesizer | pd.DataFrame, queries: Sequence[RangeQuery], schema: Schema) -> Floats:
    """Return a release's estimates of range queries, by post-processing alone.

    A method that releases a tree of counts answers by it: sums of consistent leaves, or of the
    fewest noisy nodes if it was made with consistency=False. Any other method samples rows, and
    `release` may be such rows.

    Parameters
    ----------
    release : Synthesizer or DataFrame
        A fitted method, or its rows.
    queries : sequence of RangeQuery
        The queries.
    schema : Schema
        The schema that it was fitted with.

    Returns
    -------
    float array of shape (len(queries),)
        The estimated number of rows of each query.

    Raises
    ------
    ParameterError
        If the release is of another schema.
    DataError
        If it has no rows, or they do not fit the schema.
    """
    if isinstance(release, Synthesizer) and hasattr(release, "tree_"):
        tree: ReleasedTree = release.tree_
        if tree.schema.columns != schema.columns:
            raise ParameterError("The release is of another schema.", "Use the schema that the method was fitted with.")
        return tree.answers(queries) if getattr(release, "consistency", True) else tree.noisy_answers(queries)[0]
    table = release.sample() if isinstance(release, Synthesizer) else release
    require_rows(table)
    return count_matches(schema.encode(table), schema, queries).astype(float)


def true_answers(rows: Rows, schema: Schema, queries: Sequence[RangeQuery]) -> NDArray[np.int64]:
    """Count the rows that each query matches, shape (len(queries),); rows are read in blocks."""
    truth = np.zeros(len(queries), dtype=np.int64)
    for block in rows.blocks(range(len(schema))):
        truth += count_matches(np.column_stack(block), schema, queries)
    return truth


def uniform_baseline_answers(
    truth: Sequence[float] | NDArray[Any],
    queries: Sequence[RangeQuery],
    schema: Schema,
    *,
    epsilon: float,
    relation: str,
    seed: int,
) -> Floats:
    """Return what a flat histogram over all cells of the domain would answer.

    Not a release: it adds noise to real answers. Such a histogram spends epsilon on Laplace noise
    for every cell, and a query sums K cells, where K may be far more than a machine can hold. The
    sum of K Laplace variables is the difference of two Gamma(K) variables, so that each answer has
    exactly the histogram's distribution (a normal one from K = 1e15 on, where digits end).
    Overlapping queries would share noise; here each has its own, which changes no single error's
    distribution.

    Parameters
    ----------
    truth : array of shape (len(queries),)
        The real rows' answers.
    queries : sequence of RangeQuery
        The queries.
    schema : Schema
        The schema whose domain the histogram covers.
    epsilon : float
        The histogram's epsilon, positive and finite.
    relation : {"add_remove", "replace"}
        The noise of "replace" is twice as large as that of "add_remove".
    seed : int
        The seed of the noise.

    Returns
    -------
    float array of shape (len(queries),)
        The noisy answers.

    Raises
    ------
    ParameterError
        If the answers do not fit the queries, epsilon is out of range, the relation is not known,
        or the domain has too many cells even to count.
    """
    truth = np.asarray(truth, dtype=float)
    if truth.shape != (len(queries),):
        raise ParameterError("The true answers do not fit the queries.", "Give one number for each query.")
    if not 0 < epsilon < np.inf:
        raise ParameterError("`epsilon` must be a finite number above 0.", "Try epsilon=1.0.")
    try:
        cells = np.array([float(cells_covered(query, schema)) for query in queries])
    except OverflowError:
        raise ParameterError("The domain has too many cells even to count.", "Use fewer columns.") from None
    rng = np.random.default_rng(seed)
    few = np.minimum(cells, NEARLY_NORMAL)
    noise = rng.standard_gamma(few) - rng.standard_gamma(few)
    normal = np.sqrt(2 * cells) * rng.standard_normal(len(cells))
    scale = Relation.parse(relation).histogram_l1 / epsilon
    return np.asarray(truth + scale * np.where(cells < NEARLY_NORMAL, noise, normal))


def cells_covered(query: RangeQuery, schema: Schema) -> int:
    """Return how many cells of the domain a query covers."""
    sets = query.code_masks(schema)
    return prod(int(sets[column.name].sum()) if column.name in sets else column.size for column in schema)


def range_queries(
    real: TableLike | Rows,
    answers: Mapping[str, Sequence[float] | NDArray[Any]],
    schema: Schema,
    queries: Sequence[RangeQuery],
) -> pd.DataFrame:
    """Measure how far releases' answers are from the real rows'. Reads real rows: not private.

    Parameters
    ----------
    real : DataFrame, codes of one, Folder, or Rows
        The rows that the releases are of.
    answers : mapping of str to array
        Per release, its estimate of every query; see `range_answers` and
        `uniform_baseline_answers`.
    schema : Schema
        The schema of the rows.
    queries : sequence of RangeQuery
        The queries, 1 or more.

    Returns
    -------
    DataFrame
        One row per release and query: `query` (its number), `name`, `columns` (tuple), `size` (the
        share of the domain's cells), `true`, `release`, `estimate`, `absolute` (error, in rows) and
        `relative` (that divided by the true count, or by .001 of the rows if that is more).

    Raises
    ------
    DataError, ParameterError
        If the data set is empty or does not fit the schema, or queries and answers are none, or do
        not fit each other.
    """
    rows = as_rows(real, schema)
    if not queries or not answers:
        raise ParameterError("There is nothing to compare.", "Give one query and one release or more.")
    truth = true_answers(rows, schema, queries)
    queries_frame = pd.DataFrame(
        {
            "query": range(len(queries)),
            "name": query_names(queries, schema),
            "columns": [tuple(name for name, _ in query.codes) for query in queries],
            "size": [query.size(schema) for query in queries],
            "true": truth,
        }
    )
    frames = []
    for release, given in answers.items():
        estimate = np.asarray(given, dtype=float)
        if estimate.shape != truth.shape or not np.isfinite(estimate).all():
            raise ParameterError("A release's answers do not fit the queries.", "Give one finite number per query.")
        absolute = np.abs(estimate - truth)
        relative = absolute / np.maximum(truth, SANE * len(rows))
        frames.append(queries_frame.assign(release=release, estimate=estimate, absolute=absolute, relative=relative))
    return pd.concat(frames, ignore_index=True)


def one_answer(answers: Sequence[tuple[str, float, float]], true: int) -> Statistics:
    """Return each release's answer to one query with its interval, and the truth.

    `answers` has name, estimate and half of the interval's width for each release. The frame has
    the columns `release`, `estimate`, `low`, `high` and `true`.
    """
    frame = pd.DataFrame(answers, columns=["release", "estimate", "item_marginal"])
    low, high = frame["estimate"] - frame["item_marginal"], frame["estimate"] + frame["item_marginal"]
    return statistics(frame.drop(columns="item_marginal").assign(low=low, high=high, true=true))


def errors_by_query_size(frame: pd.DataFrame) -> Statistics:
    """Average the errors of queries by the share of the domain that they cover.

    Several runs, which a column `repeat` tells apart, give confidence intervals. `EDGES` are the
    edges of the bins of that share; the last bin is 25% and more.

    Parameters
    ----------
    frame : DataFrame
        What `range_queries` gave, perhaps of several runs.

    Returns
    -------
    DataFrame
        One row per release and bin that has queries: `release`, `bin`, `size` (the geometric mean
        of its queries' shares), `queries`, `runs`, `absolute` and `relative` (means of the runs'
        means), and for both `_low` and `_high`: the 95% t-interval of the mean over runs, NaN for a
        single one.

    Raises
    ------
    ParameterError
        If there are no errors in it.
    """
    data = frame.assign(repeat=frame.get("repeat", 0)).dropna(subset=["absolute"])
    if data.empty:
        raise ParameterError("There are no errors to summarize.", "Use the result of range_queries.")
    data["place"], data["size"] = np.digitize(data["size"], EDGES), np.log(data["size"])
    data["order"] = pd.factorize(data["release"])[0]
    keys = ["order", "release", "place"]
    per_run = data.groupby([*keys, "repeat"]).agg(
        {"size": "mean", "query": "size", "absolute": "mean", "relative": "mean"}
    )
    runs = per_run.reset_index().groupby(keys)
    found = runs.agg(size=("size", "mean"), queries=("query", "max"), runs=("query", "size")).reset_index()
    found["size"] = np.exp(found["size"])
    found.insert(2, "bin", [BINS[index] for index in found["place"]])
    width = student.ppf(0.975, found["runs"] - 1) / np.sqrt(found["runs"])
    for error in ("absolute", "relative"):
        mean, half = runs[error].mean().to_numpy(), runs[error].std().to_numpy() * width
        found = found.assign(**{error: mean, f"{error}_low": mean - half, f"{error}_high": mean + half})
    return statistics(found.drop(columns=["order", "place"]))
