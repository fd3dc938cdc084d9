r"""NB-Synth: synthetic data from a naive Bayes model of one class column (paper 000).

Idea      Learn p(c) and p(x_j | c) from the data. Make rows x, and label each by the model.

Steps, as published (mode="published")
  1  Draw S rows x uniformly from the product of the columns' domains (public randomness). The paper
     prints "at random", and a repetition that leaves x out.
  2  Label each row by the exponential mechanism on the score
     q(D, x, c) = log p(c) + sum_j log p(x_j | c), where p is Laplace-smoothed from the true counts.
     The probability is proportional to exp(epsilon q / (2 Dq)), Dq = ceil(log 2N).  choose, S draws
     The paper smooths p(x_j | c) only. Then a class that one person brings is impossible without
     that person, and no epsilon holds. Here p(c) is smoothed as well, which favors the paper.
     (prior="frequency": p(c) as published, N_c / N.  unprotected)
     (variant="Alg1": label by the arg max of q instead, without noise.  unprotected)

Steps, corrected (mode="corrected")
  C1 (default)
  1  A noisy marginal of the class and each other column.                           counts, n tables
  2  Class totals: the inverse-variance mean of the marginals' row sums. Each marginal is moved to
     these totals, projected on non-negative cells with these row sums, and smoothed.
                                                                                     post-processing
  3  x is uniform (x_source="uniform"), or c ~ p(c) first and then x_j ~ p(x_j | c)
     (x_source="model", called C1-gen). Under "uniform" the label is drawn with probability
     proportional to exp(kappa q).                                                   post-processing
  C2 (variant="C2": the paper's algorithm with a proven bound, only to show its privacy loss)
  1  Uniform x; each of S labels by the exponential mechanism at epsilon / S.        choose, S draws

Privacy
  Public    The schema and S. N only where it is public: under replace it is the number of rows.
            Under add_remove the true number is private, and the schema's `max_rows` or the
            parameter `rows` replaces it.
  C1        One marginal has L1 sensitivity 1 (add_remove) or 2 (replace). Each spends epsilon / n;
            sequential composition: epsilon.
  C2        One draw changes the exponent by at most (n+1) ln((1+s)/s) under add_remove, because one
            row changes the score of one class only; twice that under replace (`ClassLogScore`).
            S draws at epsilon / S: epsilon.
            With a delta, C1 and C2 spend shares of rho in the same way.
  Paper     The same loss at the paper's exponent: S epsilon (n+1) ln 2 / (2 Dq), about 13,000
            epsilon on Adult. With prior="frequency" no epsilon holds: the first person of a class
            changes N_c from 0 to 1 and log p(c) from minus infinity to -log N. So the probability
            of that label changes from 0 to a positive number, if epsilon is positive.

What the paper claims, and where it is wrong
  It claims epsilon for the whole release. Its bound Dq is for a smoothing of 1 row. Its proof
  bounds how q changes with the *query* x, but x is published; the change of D must be bounded. It
  also counts S releases as one. Algorithm 1 has no privacy, and the paper claims none. Uniform x is
  no sample of P(X), so marginals of the columns are lost; C1-gen restores them at no privacy loss.

Reference  Chen, Liu, Feng and Zhao, Differential private synthesis dataset releasing algorithm
based on naive Bayes (in Chinese), Computer Science 42(1), 2015.
"""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from dpcore.accounting.relation import Relation
from dpcore.arguments import Floats, Ints, Progress
from dpcore.domain.column import Codes, code_dtype
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.door.privacy_costs import ClaimedValues
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.noise import generator
from dpcore.mechanisms.scores import ClassLogScore, class_log_scores
from dpcore.methods.base import (
    MOST_DELTA,
    PAGES,
    Measurement,
    Synthesizer,
    clique_measurement,
    max_rows_in_memory,
    public_total,
)
from dpcore.methods.parameters import choice, controls_of, fitted_field, number, presets_of, text, whole
from dpcore.postprocess.bayes_net import uniform_codes
from dpcore.postprocess.simplex import combine_row_sums, project, project_rows, spread_difference, systematic_sample
from dpcore.rows import joint_counts

VARIANTS = {"corrected": ("C1", "C2"), "published": ("Alg2", "Alg1")}
LABELS = phrase("The paper counts {size:,} labels as one query. It bounds the change of a new row, not of the data.")
ALGORITHM_1 = phrase("Algorithm 1 assigns labels by a model without noise.")
FREQUENCY = phrase("One person can make a class possible that has frequency 0 without that person.")
LOG_BASES = {"e": 1.0, "2": math.log(2), "10": math.log(10)}


class NaiveBayesSynthesizer(Synthesizer):
    """Synthetic rows from a naive Bayes model of the class.

    Chen et al. 2015: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    variant
        C1 or C2 in corrected mode, Alg2 or Alg1 as published. Default: the first of the two.
    x_source
        How the columns besides the class are sampled: uniformly, or from the model ('model', C1
        only, called C1-gen).
    kappa
        C1 with uniform x: labels from the posterior (exponent 1), from the paper's flatter exponent
        epsilon / (2 Dq) with the paper's sensitivity Dq, or the most probable class.
    target
        The class column; by default the schema's.
    smoothing
        The pseudo-count, positive.
    rows
        S, the number of rows labeled during fit (as published, and C2). By default the data set's
        number of rows N, where N is public.
    log_base
        Base of the logarithm in the score q of a class and in its sensitivity Dq, as published; the
        paper does not name it.
    prior
        Estimate of the class probabilities, as published: 'smoothed' like p(x_j | c), or the
        paper's 'frequency', for which no epsilon can be proved.

    Attributes
    ----------
    tables_ : list of arrays of shape (n_classes, size)
        C1: the noisy marginals of the class with each column, with equal class totals.
    class_totals_ : array of shape (n_classes,)
        C1: estimated rows per class.
    released_codes_ : array of shape (S, d)
        As published, and C2: the released rows.
    """

    reference = phrase("Chen et al. 2015")
    best_for = "quick synthetic data around one target"
    provable_published = "thousands of times epsilon, or none"
    page = "naive_bayes"
    presets = presets_of(PAGES, "NaiveBayesSynthesizer")
    comparison_variants = {  # noqa: RUF012
        "NB-Synth": {"corrected": {"x_source": "model"}, "published": {"variant": "Alg2"}},
        "NB-Synth C1 (random rows)": {"corrected": {}},
    }
    paper = "000"
    controls = controls_of(PAGES["NaiveBayesSynthesizer"])
    delta: float = number(default=0.0, maximum=MOST_DELTA)
    variant: str | None = choice(default=None, options=chain(*VARIANTS.values()))
    x_source: str = choice(default="uniform", options=("uniform", "model"))
    kappa: str = choice(default="posterior", options=("posterior", "published", "argmax"))
    target: str | None = text(default=None)
    smoothing: float = number(default=1.0, open="(")
    rows: int | None = whole(default=None)
    log_base: str = choice(default="e", options=LOG_BASES)
    prior: str = choice(default="smoothed", options=("smoothed", "frequency"))
    tables_: list[Floats] = fitted_field()
    class_totals_: Floats = fitted_field()
    released_codes_: Codes = fitted_field()

    @property
    def _variant(self) -> str:
        """Name of the variant: the parameter, or the default of the mode."""
        return VARIANTS[self.mode][0] if self.variant is None else self.variant

    def implied_parameters(self, rows: int | None) -> dict[str, Any]:
        """Return the number of rows to label during fit, if the variant labels rows in fit."""
        return {} if self._variant == "C1" else {"rows": rows}

    def _check(self, schema: Schema) -> None:
        """Raise ParameterError if the variant contradicts other parameters or the schema."""
        if self._variant not in VARIANTS[self.mode]:
            allowed = " or ".join(VARIANTS[self.mode])
            raise ParameterError(f"The variant {self.variant!r} does not exist in {self.mode} mode.", f"Use {allowed}.")
        if self.prior == "frequency" and self.mode == "corrected":
            raise ParameterError("The prior 'frequency' has no finite epsilon.", "Use prior='smoothed', the default.")
        self._target(schema, self.target)
        if self._variant == "C1":
            return
        if self.x_source == "model":
            raise ParameterError(f"The variant {self._variant} has no x_source='model'.", "Use x_source='uniform'.")
        labeled = self.rows or (schema.max_rows if self.relation == Relation.ADD_REMOVE else 1)
        if labeled is None:
            raise ParameterError(
                "This variant releases as many rows as the data have; under add_remove their number is private.",
                "Set rows=, declare the schema's max_rows, or use the relation replace.",
            )
        if labeled > (most := max_rows_in_memory(schema)):
            words = f"{labeled:,} rows do not fit into memory, but {most:,} rows of this schema do."
            raise ParameterError(words, f"Pass rows={most:_}.")

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Learn the model of variant C1, or release labeled rows in the other variants."""
        schema = table.schema
        self.target_ = self._target(schema, self.target)
        self.features_ = tuple(name for name in schema.names if name != self.target_)
        progress(0.0, phrase("Measuring marginals"))
        if self._variant == "C1":
            self._fit_tables(table)
        else:
            self._fit_labels(table)

    # C1: noisy marginals; all later steps are post-processing

    def _fit_tables(self, table: PrivateTable) -> None:
        """Measure the marginals of the class with each column, and make their totals agree."""
        families: list[tuple[str, ...]] = [(self.target_, feature) for feature in self.features_] or [(self.target_,)]
        noisy = [t.reshape(len(t), -1) for t in table.counts(families, epsilon=self._budget(table))]
        totals = combine_row_sums(noisy)
        self.class_totals_ = totals = project(totals, public_total(table, totals.sum()))
        self.tables_ = [project_rows(spread_difference(t, totals), totals) for t in noisy] if self.features_ else []

    def measurements(self, table: PrivateTable) -> list[Measurement]:
        """Return the marginals of the class with each column; none if rows are labeled in fit."""
        if self._variant != "C1":
            return []
        schema, by_model = table.schema, self.x_source == "model"
        label = schema.index(self._target(schema, self.target))
        others = [j for j in range(len(schema)) if j != label]
        variance = table.cell_variance(self._budget(table) / max(len(others), 1))
        found = [clique_measurement(schema.sizes, (label, j), variance, for_columns=by_model) for j in others]
        return [one._replace(spread=self.smoothing * one.cells) for one in found]

    def _label_exponent(self) -> float:
        """Return the factor of the score when labels are drawn from the released model.

        1 draws from the posterior. The paper's factor is epsilon over twice its sensitivity.
        """
        size = max(float(self.class_totals_.sum()), 1.0)
        return 1.0 if self.kappa == "posterior" else self.epsilon / (2 * self._paper_sensitivity(size))

    # Published mode and C2: S labels, each an answer of the door

    def _fit_labels(self, table: PrivateTable) -> None:
        """Sample uniform rows, and label each by an answer of the door (Alg1, Alg2, C2)."""
        schema, public_rows = table.schema, table.public_rows
        size = self.rows or public_rows or 1  # `_check` refuses where neither is known
        queries = self._uniform_rows(schema, size, generator(self.random_state, 1))
        score = ClassLogScore(self.target_, self.features_, queries, self.smoothing)
        # the score is computed in nats: q in nats is q in a base times the base's logarithm
        sensitivity = LOG_BASES[self.log_base] * self._paper_sensitivity(public_rows or size)
        if self._variant == "C2":
            labels = table.choose(score, [], epsilon=self._budget(table) * Fraction(1, size), draws=size)
        elif self._variant == "Alg1":
            labels = self._noiseless_scores(table, queries, ALGORITHM_1, math.inf).argmax(axis=1)
        elif self.prior == "frequency":
            scores = self.epsilon / (2 * sensitivity) * self._noiseless_scores(table, queries, FREQUENCY, self.epsilon)
            labels = (scores + generator(self.random_state, 2).gumbel(size=scores.shape)).argmax(axis=1)
        else:
            claim: ClaimedValues = {"reason": LABELS.format(size=size)}
            claim |= {"claimed_epsilon": self.epsilon, "claimed_sensitivity": sensitivity}
            labels = table.choose(score, [], epsilon=self.epsilon, draws=size, **claim)
        self.released_codes_ = self._assemble(schema, queries, labels)

    def _noiseless_scores(self, table: PrivateTable, queries: Codes, reason: str, claimed: float) -> Floats:
        """Return scores of uniform rows by noiseless counts, shape (S, n_classes). Not private.

        A score is the log of the joint probability of a class and the row's other values, up to a
        constant. `queries` are the S rows. The ledger gets `reason` and the `claimed` epsilon.
        Minus infinity is replaced by a finite number that is low enough.
        """
        codes, schema = table.read_unprotected(reason, claimed_epsilon=claimed), table.schema
        target = schema.index(self.target_)
        cliques = [(target,), *((target, schema.index(feature)) for feature in self.features_)]
        totals, *tables = joint_counts(codes, schema.sizes, cliques)
        prior = totals + (self.smoothing if self.prior == "smoothed" else 0.0)
        log_prior = np.log(prior, out=np.full(len(prior), -1e300), where=prior > 0)
        return class_log_scores(log_prior, tables, queries, self.smoothing)

    def _paper_sensitivity(self, rows: float) -> int:
        """Return the published sensitivity of the score, ceil(log 2N) for N `rows`."""
        return max(math.ceil(math.log(2 * rows) / LOG_BASES[self.log_base]), 1)

    # Sampling

    def estimated_rows(self) -> int:
        """Return the number of rows to sample by default: estimated, or all released rows."""
        return super().estimated_rows() if self._variant == "C1" else len(self.released_codes_)

    def _sample(self, n: int, rng: np.random.Generator) -> Codes:
        """Return the codes of `n` rows: sampled from the model (C1), or the first released rows."""
        if self._variant != "C1":
            released = len(self.released_codes_)
            if n > released:
                words = f"This release has {released:,} rows, each of which was charged."
                raise ParameterError(words, f"Sample at most {released:,}, or fit again with a larger rows=.")
            return self.released_codes_[:n]
        prior = self.class_totals_ + self.smoothing
        if self.x_source == "model":
            labels = systematic_sample(prior, n, rng)
            rows = self._model_rows(labels, rng)
        else:
            rows = self._uniform_rows(self.schema_, n, rng)
            scores = class_log_scores(np.log(prior), self.tables_, rows, self.smoothing)
            if self.kappa != "argmax":
                scores = self._label_exponent() * scores + rng.gumbel(size=scores.shape)
            labels = scores.argmax(axis=1)
        return self._assemble(self.schema_, rows, labels)

    def _sample_blocks(self, sizes: Iterable[int], rng: np.random.Generator) -> Iterator[Codes]:
        """Yield the codes of blocks of rows; released rows are divided, none occurs twice."""
        if self._variant == "C1":
            return super()._sample_blocks(sizes, rng)
        many = list(sizes)  # blocks of the released rows: no row may be written twice
        return iter(np.split(self._sample(sum(many), rng), np.cumsum(many)[:-1]))

    def _model_rows(self, labels: Ints, rng: np.random.Generator) -> Codes:
        """Return codes of the other columns, sampled from the model by class.

        `labels`, shape (n,), are the classes of the rows. The columns are in the order of
        `features_`.
        """
        largest = max((t.shape[1] for t in self.tables_), default=1)
        rows = np.empty((len(labels), len(self.tables_)), dtype=code_dtype(largest), order="F")
        for code in range(len(self.class_totals_)):
            members = np.flatnonzero(labels == code)
            for j, noisy in enumerate(self.tables_):
                rows[members, j] = systematic_sample(noisy[code] + self.smoothing, len(members), rng)
        return rows

    def _uniform_rows(self, schema: Schema, size: int, rng: np.random.Generator) -> Codes:
        """Return `size` rows of codes, uniform on the product of the domains of `features_`."""
        return uniform_codes([schema[feature].size for feature in self.features_], size, rng)

    def _assemble(self, schema: Schema, rows: Codes, labels: Ints) -> Codes:
        """Return codes in the schema's column order.

        `rows` has the codes of the other columns, in the order of `features_`; `labels` those of
        the class.
        """
        codes = np.empty((len(labels), len(schema)), dtype=code_dtype(max(schema.sizes)), order="F")
        for j, feature in enumerate(self.features_):
            codes[:, schema.index(feature)] = rows[:, j]
        codes[:, schema.index(self.target_)] = labels
        return codes
