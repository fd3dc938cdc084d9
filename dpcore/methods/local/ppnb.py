r"""PPNB: naive Bayes from randomized answers (paper 004); PPNB-LDP, which randomizes all of them; plain naive Bayes.

Idea      Nobody holds the true rows. Each person randomizes their own answers by public rules and hands in the reports.
          Whoever collects them corrects frequencies and moments for the rules, and has a naive Bayes classifier.

Steps, as printed (mode="published")
  1  Categories: the truth with probability p0, otherwise one of the k values, drawn (ERRPH).           randomize, each
  2  Numbers: y = a x + b with a and b drawn from sets of normal random numbers (TRR).                unprotected, each
  3  The class is handed in as it is.                                                                     unprotected
  4  P(c) = s_c / s. P(z | c) = (share of reports of z in class c - p_z) / p0, clipped at 0.           post-processing
  5  Normal distributions with (mean(y) - mean(b)) / mean(a) and formula 3 as variance, moved into what the public
     bounds allow. Formula 3 can be negative, and the paper says nothing of that: a standard deviation is at least a
     tenth of the range, as in corrected mode (or a thousandth, least_deviation="thousandth").         post-processing

Steps, corrected (mode="corrected", "PPNB-LDP"): epsilon is what all reports of one person cost together
  1  The class by ERRPH.                                                                               randomize, e_c
  2  Categories, and the public bins of numbers, by ERRPH, OUE or OLH. Or numbers inside public bounds [L, U] with
     Laplace noise of scale (U - L) / e_i (numbers="moments").                                        randomize, e_i
     All columns share epsilon with the class (n_questions=None); or each person answers `n_questions` of them, at
     random, with a larger share each; or class and column are reported as one value (pairs=True), with no report of the
     class alone. By default one pair: on the sample it is best at every epsilon. Before that, bins of numbers are
     merged to as many as the noise can tell apart (`resolution.affordable_bins`, from n, epsilon and the schema).
  3  The joint table of class and value is M_class^-1 O M_value^-T, O the table of reports: both channels are undone.
     Unbiased counts are negative at times; they are projected, clipped, or replaced by the most likely ones. What
     noise alone would do as well is shrunk away (`shrink_conditionals`, by the public variance).      post-processing

Steps, plain naive Bayes: what PPNB is measured against. It has no privacy, and none is claimed
  1  Everybody reports everything as it is: p0 = 1, and numbers are not transformed.                       unprotected
  2  Steps 4 and 5 as printed; with alpha=1 the tables are those of scikit-learn's CategoricalNB.      post-processing

Privacy   Local: the bound holds for what leaves each person's hands, whoever collects it.
  Public    the schema, its bounds and bins; the rules; who takes part.
  1, 2      A report's epsilon is the largest log ratio of two values' probabilities for it (`randomizers`).
  Sum       the class and all columns that a person reports, whatever they are: sequential composition for one record.
  Reports of other people do not depend on mine, so nothing is to be added up over people.

What the paper claims, and where it is wrong
  It knows no epsilon and measures privacy by Breach and BreachWidth (`report_privacy`). (1) Breach is not a property of
  what is reported: RRPH with p0 = .5 and Warner's rule with p = .75 are the same rule, with Breach .33 and .63. (2) It
  counts only answers whose sender said the truth on purpose; a report is right with probability p0 + p_j. (3) The
  label is not protected at all, and numbers by no finite epsilon. (4) A record with r attributes gives away r reports:
  their epsilons add up. (5) BreachWidth is the width of the prior: as if reports said nothing. (6) Formula 3 is called
  unbiased; its bias is -S_A^2 Var(y) / (n A^2 (S_A^2 + A^2)).

Reference  Zhang and Tang, Privacy preserving naive Bayes classification, Chinese Journal of Computers 30(8), 2007.
           Warner, Randomized response, JASA 1965. Wang, Blocki, Li and Jha, Locally differentially private protocols
           for frequency estimation, USENIX Security 2017.
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
    FINISHES,
    NARROWEST,
    bayes_of,
    check_channels,
    coarser,
    merges,
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
# one of the paper's normal distributions
mean_and_variance = partial(
    numbers, least=-inf, things=lambda *_: ("mean", "variance"), request=PAGES["requests"]["normal"]
)


def each_p0(given: float | Sequence[float]) -> tuple[float, ...]:
    """The probabilities that were given, one or several."""
    return (given,) if isinstance(given, int | float) else tuple(given)


def categories_of(schema: Schema, target: str | None) -> list[str]:
    """The columns of categories that people are asked, the class left out."""
    return [column.name for column in schema if not column.numeric and column.name != (target or schema.target)]


def of_one(method: Any, schema: Schema) -> str:
    """What one answer gives away."""
    given, names = each_p0(method.p0), categories_of(schema, method.target)
    if not names or len(given) not in (1, len(names)):
        return ""  # or the run is refused
    costs = [float(ERRPH(schema[name].size, p0=p).epsilon) for name, p in zip(names, cycle(given), strict=False)]
    text = phrase("Local epsilon of one answer: **{least}** to **{most}**, by column. A person's answers add up.")
    return say(text, least=rounded_up(min(costs)), most=rounded_up(max(costs)))


def several(method: Any, schema: Schema) -> dict[int, str]:
    """How many columns a person may be asked for; 0: all."""
    most = len(schema) - ((method.target or schema.target) is not None)
    some = {m: say("{m:,} of {most:,}", m=m, most=most) for m in range(1, min(most - 1, 6) + 1)}
    return {**some, 0: phrase("All of them")}


class PPNB(LocalClassifier):
    """Naive Bayes classifier learned from randomized answers (local DP).

    Zhang and Tang 2007: as published, and corrected (PPNB-LDP). See the module for steps and
    privacy.

    Parameters
    ----------
    p0
        As published: the probability of the truth, above 0; one for all columns of categories, or
        one for each, in the schema's order without the class.
    factors
        As published: mean and variance of the normal distribution that 1,000 numbers of the set A
        are drawn from.
    offsets
        As published: mean and variance of the normal distribution that 1,000 numbers of the set B
        are drawn from.
    variance
        Of numbers; by default as printed, if published.
    least_deviation
        Of noisy numbers by class, as a share of the range. A thousandth makes a spike of a variance
        below 0.
    numbers
        Corrected mode: numbers as public bins, or with Laplace noise. By default bins; the paper
        has moments.
    protocol
        Corrected mode: how columns are reported. 'best' has OUE where its variance is lower.
    n_questions
        Corrected mode: how many columns, at random, each person reports; None: all.
    pairs
        Corrected mode: whether class and column are reported as one value. By default they are,
        unless numbers are reported as such.
    merge
        Corrected mode: whether bins of numbers are merged beforehand, to as many as the noise can
        tell apart.
    class_share
        Corrected mode: the class's part of epsilon; by default as much as each report of a column.
        No use with pairs.
    reconstruction
        By default 'shrink' in corrected mode, 'clip' as published. 'likelihood' is for reports that
        are values; others are projected then.
    alpha
        Records added to every value of a column by class: in equal parts, or, with 'shrink', as the
        value is frequent in all classes together. By default 1 with 'shrink', and none otherwise,
        as in the paper.

    Attributes
    ----------
    bayes_ : Bayes
        Counts and normal distributions by class.
    """

    reference = phrase("Zhang and Tang 2007")
    best_for = "learning without a trusted collector"
    provable_published = "none (none claimed)"
    presets = presets_of(PAGES, "PPNB")
    controls = controls_of(PAGES["PPNB"], p0={"note": of_one}, n_questions={"names": several})
    p0: float | Sequence[float] = numbers(
        default=0.5,
        most=1,
        open="(",
        one_for_all=True,
        things=lambda method, schema: categories_of(schema, method.target),
        request=PAGES["requests"]["p0"],
    )
    factors: tuple[float, float] = mean_and_variance(default=(1.0, 1.0), fit=lambda a: a[0] != 0 <= a[1])
    offsets: tuple[float, float] = mean_and_variance(default=(0.0, 1.0), fit=lambda b: b[1] >= 0)
    variance: str | None = choice(default=None, options=("unbiased", "printed"))
    least_deviation: str = choice(default="tenth", options=NARROWEST)
    numbers: str | None = choice(default=None, options=("bins", "moments"))
    protocol: str = choice(default="best", options=CHANNELS)
    n_questions: int | None = whole(default=1, optional=True)
    pairs: bool | None = flag(default=None)
    merge: bool = flag(default=True)
    class_share: float | None = number(default=None, most=1, open="()")
    reconstruction: str | None = choice(default=None, options=FINISHES)
    alpha: float | None = number(default=None, most=MOST_ALPHA, open=")")
    learning = ("reconstruction", "alpha", "variance", "least_deviation")
    artifacts, predictor = ("bayes",), "bayes"
    bayes_: Bayes = fitted_field()

    def _check(self, schema: Schema) -> None:
        super()._check(schema)
        if self._paired and self.numbers == "moments":
            raise ParameterError("With 'pairs', numbers are reported as bins.", "Use numbers='bins'.")

    def _survey(self, table: PrivateTable) -> Survey:
        schema = table.schema
        target = self._target(schema, self.target)
        names = [name for name in schema.names if name != target]
        rules = self._rules(table, target, names)
        n_columns = coarser(schema, rules) if rules else schema
        questions = (
            self._published_questions(schema, target) if self._published else self._questions(n_columns, target, names)
        )
        clear: dict[Item, str] = {(name,): REASONS["transformed"] for name in names if schema[name].numeric}
        clear[target,] = REASONS["clear"]
        check_channels(questions.channels, self.reconstruction)
        return questions, clear, n_columns, [*rules.items()]

    def untold(self, reports: Reports) -> str:
        target, rules = reports.target, dict(reports.recoded)
        if reports.recoded and (
            [name for name, _ in reports.recoded] != [*reports.source.names]
            or not all(merges(rules[column.name], column) for column in reports.source)
            or coarser(reports.source, rules) != reports.schema
        ):
            return "They are not of the columns, but of other things made of them."
        label = reports.channels.get((target,))
        n_columns = [family for family in reports.channels if family != (target,)]
        if label is None and all(len(family) == 2 and family[0] == target for family in n_columns):
            return ""
        if (
            not isinstance(label, KeepOrDraw)
            or (target,) in reports.asked
            or any(len(family) > 1 for family in n_columns)
        ):
            return "They do not tell everybody's class, as one of its values."
        return ""

    def _learn(self, progress: Progress) -> None:
        check_channels(self.reports_.channels, self.reconstruction)
        progress(0.5, phrase("reconstructing"))
        reconstruction = self.reconstruction or ("clip" if self._published else "shrink")
        self.bayes_ = bayes_of(
            self.reports_,
            reconstruction=reconstruction,
            alpha=float(reconstruction == "shrink") if self.alpha is None else self.alpha,
            as_published=(self.variance or ("printed" if self._published else "unbiased")) == "printed",
            least=self.least_deviation,
        )

    @property
    def _paired(self) -> bool:
        return self.numbers != "moments" if self.pairs is None else self.pairs

    def _rules(self, table: PrivateTable, target: str, names: list[str]) -> dict[str, MergeRule]:
        """How the bins of numbers are merged before anybody reports; from public numbers alone."""
        rows, schema = table.public_rows, table.schema
        if self._published or not self.merge or self.numbers == "moments" or not names or not rows:
            return {}
        n_columns = min(self.n_questions or len(names), len(names))
        _, each = self._shares(n_columns, self._paired)
        bins = affordable_bins(rows * n_columns / len(names), float(each), schema[target].size)
        return {column.name: make_merge_rule(column, bins) for column in schema}

    def _published_questions(self, schema: Schema, target: str) -> Questionnaire:
        """The paper's rules; the sets A and B are public lots."""
        rng = generator(self.random_state, 1)
        channels: dict[Item, Channel] = {}
        truths = cycle(each_p0(self.p0))
        for column in schema:
            if column.name == target:
                channels[(target,)] = ERRPH(column.size, p0=1.0)
            elif column.numeric:
                channels[(column.name,)] = TRR.from_normal(self.factors, self.offsets, rng)
            else:
                channels[(column.name,)] = ERRPH(column.size, p0=next(truths))
        return Questionnaire(channels)

    def _questions(self, schema: Schema, target: str, names: list[str]) -> Questionnaire:
        """What is asked in corrected mode: reports of one person cost epsilon together."""
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
        optional = [family for family in channels if family != (target,)] if n_columns < len(names) else []
        return Questionnaire(channels, optional, n_columns if optional else 0)

    def _shares(self, asked: int, paired: bool) -> tuple[Epsilon, Epsilon]:
        """What the class's report costs, and each other one."""
        if paired:
            return exact(0), shares_of(self.epsilon, asked)[0]
        whole, share = exact(self.epsilon), self.class_share
        if not asked:
            return whole, exact(0)
        own = whole / (asked + 1) if share is None else whole * exact(share)
        return own, (whole - own) / asked


class NonPrivateNaiveBayes(LocalClassifier):
    """Naive Bayes classifier without privacy, as a baseline; `epsilon` has no effect.

    Parameters
    ----------
    mode
        There is no other.
    numbers
        Normal distributions, or the schema's bins.
    alpha
        Records added to every cell of the counts by class.

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
    alpha: float = number(default=1.0, most=MOST_ALPHA, open=")")
    artifacts, predictor = ("bayes",), "bayes"
    bayes_: Bayes = fitted_field()

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        progress(0.0, phrase("counting"))
        reports = self._collect(table)  # not kept
        self.bayes_ = bayes_of(reports, reconstruction="clip", alpha=self.alpha, as_published=False)

    def _survey(self, table: PrivateTable) -> Survey:
        channels: dict[Item, Channel] = {}
        for column in table.schema:
            number = self.numbers == "moments" and column.numeric
            truth = TRR(factors=np.ones(1), offsets=np.zeros(1)) if number else ERRPH(column.size, p0=1.0)
            channels[(column.name,)] = truth
        return Questionnaire(channels), dict.fromkeys(channels, REASONS["truth"]), table.schema, ()

    def measurements(self, table: PrivateTable) -> None:
        return None
