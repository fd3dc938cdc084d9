r"""PPNB: naive Bayes from randomized answers (paper 004); PPNB-LDP; non-private naive Bayes.

PPNB-LDP, the corrected mode, randomizes all answers.

Idea      No one holds the true rows. Each person randomizes their own answers by public rules, and
          sends the reports to a collector. The collector corrects frequencies and moments for the
          randomization, and obtains a naive Bayes classifier.

Steps, as published (mode="published")
  1  Categories: the truth with probability p0, otherwise one of the k values at
     random (ERRPH).                                                              randomize, each
  2  Numbers: y = a x + b, with a and b drawn from sets of normal random numbers
     (TRR).                                                                     unprotected, each
  3  The class is reported truthfully.                                                unprotected
  4  P(c) = s_c / s. P(z | c) = (share of reports of z in class c - p_z) / p0,
     clipped at 0.                                                                post-processing
  5  Normal distributions with mean (mean(y) - mean(b)) / mean(a) and formula 3
     as variance, moved into the public bounds. Formula 3 can be negative, of
     which the paper says nothing. Here a standard deviation is at least a tenth
     of the range, as in corrected mode (or a thousandth,
     least_deviation="thousandth").                                               post-processing

Steps, corrected (mode="corrected", "PPNB-LDP"): all reports of one person cost epsilon
  1  The class by ERRPH.                                                           randomize, e_c
  2  Categories, and the public bins of numbers, by ERRPH, OUE or OLH. Or
     numbers inside public bounds [L, U] with Laplace noise of scale
     (U - L) / e_i (numbers="moments").                                            randomize, e_i
     All columns share epsilon with the class (n_questions=None). Or each person
     reports `n_questions` columns, at random, with a larger share each. Or
     class and column are reported as one value (pairs=True), and the class is
     not reported alone. The default is one pair, which is best on the sample at
     every epsilon. Before that, bins of numbers are merged to as many as the
     noise can distinguish (`resolution.affordable_bins`, from n, epsilon and
     the schema).
  3  The joint marginal of class and value is M_class^-1 O M_value^-T, with O the
     counts of reports: this inverts both channels. Unbiased counts can be
     negative. They are projected, clipped, or replaced by the most likely ones.
     Differences that noise alone explains are shrunk away (`shrink_conditionals`,
     by the public variance).                                                     post-processing

Steps, non-private naive Bayes: the baseline of PPNB, without privacy and without a claim
  1  Everyone reports everything truthfully: p0 = 1, and numbers are not
     transformed.                                                                     unprotected
  2  Steps 4 and 5 as published. With alpha=1 the probabilities are those of
     scikit-learn's CategoricalNB.                                                post-processing

Privacy   Local: the bound holds for everything that a person sends, against every collector.
  Public    the schema, its bounds and bins; the rules; who takes part.
  1, 2      A report's epsilon is the largest log ratio of its probabilities under two values
            (`randomizers`).
  Sum       the class and all columns that a person reports, whatever they are: sequential
            composition for one record. Reports of other people do not depend on this person's row,
            so losses are not added up over people.

What the paper claims, and where it is wrong
  The paper has no epsilon and measures privacy by Breach and BreachWidth (`report_privacy`). (1)
  Breach is not a property of the reports: RRPH with p0 = .5 and Warner's randomizer with p = .75
  are the same randomizer, with Breach .33 and .63. (2) Breach counts only deliberately true
  answers, but a report is right with probability p0 + p_j. (3) The class is not protected at all,
  and numbers by no finite epsilon. (4) A record with r columns yields r reports: their epsilons add
  up. (5) BreachWidth is the width of the prior, as if reports carried no information. (6) Formula 3
  is called unbiased; its bias is -S_A^2 Var(y) / (n A^2 (S_A^2 + A^2)).

Reference  Zhang and Tang, Privacy preserving naive Bayes classification, Chinese Journal of
           Computers 30(8), 2007. Warner, Randomized response, JASA 1965. Wang, Blocki, Li and Jha,
           Locally differentially private protocols for frequency estimation, USENIX Security 2017.
"""

from collections.abc import Sequence
from functools import partial
from itertools import cycle
from math import inf
from typing import Any

import numpy as np

from dpcore.accounting.relation import Epsilon, exact, shares_of
from dpcore.arguments import Progress
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.language import phrase, say
from dpcore.mechanisms.noise import generator
from dpcore.mechanisms.randomizers import ERRPH, OLH, OUE, TRR, Channel, KeepOrDraw, best_channel
from dpcore.methods.local.base import PAGES, REASONS, LocalClassifier, Survey
from dpcore.methods.local.bayes_from_reports import (
    ESTIMATORS,
    LEAST_DEVIATIONS,
    check_channels,
    fit_bayes,
    is_merge_rule,
    merged_schema,
)
from dpcore.methods.parameters import (
    choice,
    controls_of,
    fitted_field,
    flag,
    number,
    numbers,
    presets_of,
    whole,
)
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.postprocess.reports import Item, Questionnaire, Reports
from dpcore.postprocess.resolution import MergeRule, affordable_bins, make_merge_rule
from dpcore.text import number as rounded_up

CHANNELS: dict[str, Any] = {"best": best_channel, "ERRPH": ERRPH, "OUE": OUE, "OLH": OLH}
MOST_ALPHA = 1e6
# a parameter that is the mean and variance of one of the paper's normal distributions
mean_and_variance = partial(
    numbers, minimum=-inf, things=lambda *_: ("mean", "variance"), request=PAGES["requests"]["normal"]
)


def truth_probabilities(p0: float | Sequence[float]) -> tuple[float, ...]:
    """Return the parameter `p0` as a tuple: one probability for all columns, or one for each."""
    return (p0,) if isinstance(p0, int | float) else tuple(p0)


def categorical_columns(schema: Schema, target: str | None) -> list[str]:
    """Return the names of the categorical columns, without the class."""
    return [column.name for column in schema if not column.numeric and column.name != (target or schema.target)]


def answer_epsilon_note(method: Any, schema: Schema) -> str:
    """Return a sentence with the smallest and largest local epsilon of one answer, by column."""
    p0, names = truth_probabilities(method.p0), categorical_columns(schema, method.target)
    if not names or len(p0) not in (1, len(names)):
        return ""  # the run itself is refused if the number of probabilities is wrong
    losses = [float(ERRPH(schema[name].size, p0=p).epsilon) for name, p in zip(names, cycle(p0), strict=False)]
    text = phrase("Local epsilon of one answer: **{least}** to **{most}**, by column. A person's answers add up.")
    return say(text, least=rounded_up(min(losses)), most=rounded_up(max(losses)))


def n_questions_names(method: Any, schema: Schema) -> dict[int, str]:
    """Return the options for the number of columns that each person reports, as texts; 0: all."""
    most = len(schema) - ((method.target or schema.target) is not None)
    some = {m: say("{m:,} of {most:,} columns", m=m, most=most) for m in range(1, min(most - 1, 6) + 1)}
    return {**some, 0: phrase("All columns")}


class PPNB(LocalClassifier):
    """Naive Bayes classifier learned from randomized answers (local DP).

    Zhang and Tang 2007: as published, and corrected (PPNB-LDP). See the module for steps and
    privacy.

    Parameters
    ----------
    p0
        As published: the probability of a deliberately true answer, above 0. One number for all
        categorical columns, or one for each, in the schema's order without the class.
    factors
        As published: mean and variance of the normal distribution from which the 1,000 numbers of
        the set A are drawn.
    offsets
        As published: mean and variance of the normal distribution from which the 1,000 numbers of
        the set B are drawn.
    variance
        The estimator of the variance of numbers; by default 'printed' as published, and 'unbiased'
        in corrected mode.
    least_deviation
        The least standard deviation of noisy numbers by class, as a share of the range. With
        'thousandth', a variance below 0 becomes a spike.
    numbers
        Corrected mode: numbers are reported as public bins, or with Laplace noise ('moments', as in
        the paper). By default as bins.
    protocol
        Corrected mode: the randomizer of columns. 'best' takes OUE where its variance is lower.
    n_questions
        Corrected mode: the number of columns that each person reports, at random; None: all.
    pairs
        Corrected mode: whether class and column are reported as one value. By default True, unless
        numbers are reported with Laplace noise.
    merge
        Corrected mode: whether bins of numbers are merged before people report, to as many as the
        noise can distinguish.
    class_share
        Corrected mode: the class's share of epsilon; by default the same as each column's report.
        Not used with pairs.
    reconstruction
        How distributions are estimated; by default 'shrink' in corrected mode, 'clip' as published.
        'likelihood' is for reports that are values; other reports are projected.
    alpha
        Records added to every value of a column by class: in equal parts, or, with 'shrink', in
        proportion to the value's frequency in all classes together. By default 1 with 'shrink', and
        0 otherwise, as in the paper.

    Attributes
    ----------
    bayes_ : Bayes
        Counts and normal distributions by class.
    """

    reference = phrase("Zhang and Tang 2007")
    best_for = "learning without a trusted collector"
    provable_published = "none (none claimed)"
    presets = presets_of(PAGES, "PPNB")
    controls = controls_of(PAGES["PPNB"], p0={"note": answer_epsilon_note}, n_questions={"names": n_questions_names})
    p0: float | Sequence[float] = numbers(
        default=0.5,
        maximum=1,
        open="(",
        one_for_all=True,
        things=lambda method, schema: categorical_columns(schema, method.target),
        request=PAGES["requests"]["p0"],
    )
    factors: tuple[float, float] = mean_and_variance(default=(1.0, 1.0), fit=lambda a: a[0] != 0 <= a[1])
    offsets: tuple[float, float] = mean_and_variance(default=(0.0, 1.0), fit=lambda b: b[1] >= 0)
    variance: str | None = choice(default=None, options=("unbiased", "printed"))
    least_deviation: str = choice(default="tenth", options=LEAST_DEVIATIONS)
    numbers: str | None = choice(default=None, options=("bins", "moments"))
    protocol: str = choice(default="best", options=CHANNELS)
    n_questions: int | None = whole(default=1, optional=True)
    pairs: bool | None = flag(default=None)
    merge: bool = flag(default=True)
    class_share: float | None = number(default=None, maximum=1, open="()")
    reconstruction: str | None = choice(default=None, options=ESTIMATORS)
    alpha: float | None = number(default=None, maximum=MOST_ALPHA, open=")")
    learning = ("reconstruction", "alpha", "variance", "least_deviation")
    artifacts, predictor = ("bayes",), "bayes"
    bayes_: Bayes = fitted_field()

    def _check(self, schema: Schema) -> None:
        """Raise ParameterError if the schema does not fit, or `pairs` and `numbers` conflict."""
        super()._check(schema)
        if self._paired and self.numbers == "moments":
            raise ParameterError("With 'pairs', numbers must be reported as bins.", "Use numbers='bins'.")

    def _survey(self, table: PrivateTable) -> Survey:
        """Return the questions to people, in corrected mode about columns with merged bins."""
        schema = table.schema
        target = self._target(schema, self.target)
        names = [name for name in schema.names if name != target]
        rules = self._merge_rules(table, target, names)
        merged, paper = merged_schema(schema, rules) if rules else schema, self._published
        questions = self._published_questions(schema, target) if paper else self._questions(merged, target, names)
        numeric: list[Item] = [(name,) for name in names if schema[name].numeric]
        reasons = dict.fromkeys(numeric, REASONS["transformed"]) | {(target,): REASONS["clear"]}
        check_channels(questions.channels, self.reconstruction)
        return questions, reasons, merged, [*rules.items()]

    def incompatibility(self, reports: Reports) -> str:
        """Return why naive Bayes cannot learn from `reports`, or an empty text if it can."""
        target, rules = reports.target, dict(reports.recodings)
        if reports.recodings and (
            [name for name, _ in reports.recodings] != [*reports.source.names]
            or not all(is_merge_rule(rules[column.name], column) for column in reports.source)
            or merged_schema(reports.source, rules) != reports.schema
        ):
            return "The method needs reports of the columns themselves, at most with merged bins."
        label = reports.channels.get((target,))
        items = [item for item in reports.channels if item != (target,)]
        if label is None and all(len(item) == 2 and item[0] == target for item in items):
            return ""
        several = any(len(item) > 1 for item in items)
        if several or not isinstance(label, KeepOrDraw) or (target,) in reports.respondents:
            return "The method needs the class of every person, reported as one of its values."
        return ""

    def _learn(self, progress: Progress) -> None:
        """Estimate distributions by class from the reports."""
        check_channels(self.reports_.channels, self.reconstruction)
        progress(0.5, phrase("Estimating distributions from reports"))
        reconstruction = self.reconstruction or ("clip" if self._published else "shrink")
        self.bayes_ = fit_bayes(
            self.reports_,
            reconstruction=reconstruction,
            alpha=float(reconstruction == "shrink") if self.alpha is None else self.alpha,
            as_published=(self.variance or ("printed" if self._published else "unbiased")) == "printed",
            least=self.least_deviation,
        )

    @property
    def _paired(self) -> bool:
        """Whether class and column are reported as one value."""
        return self.numbers != "moments" if self.pairs is None else self.pairs

    def _merge_rules(self, table: PrivateTable, target: str, names: list[str]) -> dict[str, MergeRule]:
        """Return the public rules that merge bins of numbers before people report, by column.

        `names` are the columns without the class. There are no rules if bins are not to be merged.
        """
        rows, schema = table.public_rows, table.schema
        if self._published or not self.merge or self.numbers == "moments" or not names or not rows:
            return {}
        n_columns = min(self.n_questions or len(names), len(names))
        _, each = self._shares(n_columns, self._paired)
        bins = affordable_bins(rows * n_columns / len(names), float(each), schema[target].size)
        return {column.name: make_merge_rule(column, bins) for column in schema}

    def _published_questions(self, schema: Schema, target: str) -> Questionnaire:
        """Return the paper's questions and randomizers; the sets A and B are drawn publicly."""
        rng = generator(self.random_state, 1)
        channels: dict[Item, Channel] = {}
        truths = cycle(truth_probabilities(self.p0))
        for column in schema:
            if column.name == target:
                channels[(target,)] = ERRPH(column.size, p0=1.0)
            elif column.numeric:
                channels[(column.name,)] = TRR.from_normal(self.factors, self.offsets, rng)
            else:
                channels[(column.name,)] = ERRPH(column.size, p0=next(truths))
        return Questionnaire(channels)

    def _questions(self, schema: Schema, target: str, names: list[str]) -> Questionnaire:
        """Return the questions of corrected mode; a person's reports spend epsilon together.

        `names` are the columns without the class.
        """
        n_columns = min(self.n_questions or len(names), len(names))
        paired = self._paired and bool(names)
        own, each = self._shares(n_columns, paired)
        channels: dict[Item, Channel] = {} if paired else {(target,): ERRPH(schema[target].size, epsilon=own)}
        for name in names:
            column = schema[name]
            low, high = float(column.lower or 0), float(column.upper or 0)
            if self.numbers == "moments" and low < high:
                found: Channel = TRR(lower=low, upper=high, epsilon=each)
            else:
                size = column.size * (schema[target].size if paired else 1)
                found = CHANNELS[self.protocol](size, epsilon=each)
            channels[(target, name) if paired else (name,)] = found
        optional = [item for item in channels if item != (target,)] if n_columns < len(names) else []
        return Questionnaire(channels, optional, n_columns if optional else 0)

    def _shares(self, n_columns: int, paired: bool) -> tuple[Epsilon, Epsilon]:
        """Return the epsilon of the class's report, and of each of a person's `n_columns` reports.

        If class and column are `paired`, the class has no report of its own, and epsilon 0.
        """
        if paired:
            return exact(0), shares_of(self.epsilon, n_columns)[0]
        whole, share = exact(self.epsilon), self.class_share
        if not n_columns:
            return whole, exact(0)
        own = whole / (n_columns + 1) if share is None else whole * exact(share)
        return own, (whole - own) / n_columns


class NonPrivateNaiveBayes(LocalClassifier):
    """Naive Bayes classifier without privacy, as a baseline; `epsilon` has no effect.

    Parameters
    ----------
    mode
        'published' is the only mode.
    numbers
        Numbers are modeled by normal distributions ('moments'), or by the schema's bins.
    alpha
        Records added to every value of a column by class.

    Attributes
    ----------
    bayes_ : Bayes
        Counts and normal distributions by class.
    """

    title = "Non-private naive Bayes"
    best_for = "non-private baseline"
    provable_published = "none"
    mode: str = choice(default="published", options=("published",))
    reference = phrase("Zhang and Tang 2007")
    presets = presets_of(PAGES, "NonPrivateNaiveBayes")
    numbers: str = choice(default="moments", options=("moments", "bins"))
    alpha: float = number(default=1.0, maximum=MOST_ALPHA, open=")")
    artifacts, predictor = ("bayes",), "bayes"
    bayes_: Bayes = fitted_field()

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Learn from the true answers, which are not stored."""
        progress(0.0, phrase("Counting values by class"))
        reports = self._collect(table)  # true answers, not stored
        self.bayes_ = fit_bayes(reports, reconstruction="clip", alpha=self.alpha, as_published=False)

    def _survey(self, table: PrivateTable) -> Survey:
        """Return questions that everyone answers truthfully."""
        channels: dict[Item, Channel] = {}
        for column in table.schema:
            number = self.numbers == "moments" and column.numeric
            truth = TRR(factors=np.ones(1), offsets=np.zeros(1)) if number else ERRPH(column.size, p0=1.0)
            channels[(column.name,)] = truth
        return Questionnaire(channels), dict.fromkeys(channels, REASONS["truth"]), table.schema, ()

    def measurements(self, table: PrivateTable) -> None:
        """Return None, because the baseline adds no noise."""
