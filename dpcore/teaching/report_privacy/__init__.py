r"""What one report gives away, in the measures that papers use. Public rules in, numbers out; no rows.

Breach (paper 004, section 6.1): "the probability that the original is reconstructed or predicted",
    P(true) P(identified | true) + P(false) P(identified | false) P(restored).
ERRPH tells the truth with probability p_0, which is identified with probability p_0 / (p_0 + p_j) because p_j of the
drawn reports say the same, and what was drawn restores nothing: p_0^2 / (p_0 + p_j); with equal p_j it is
k p_0^2 / ((k - 1) p_0 + 1), and 2 p_0^2 / (1 + p_0) for two values. Warner's truth is identified with probability p,
his lie with 1 - p, and a lie about two values restores the truth: p^2 + (1 - p)^2. The two cross at 1 / sqrt 2 where
p_0 = p. Breach belongs to a rule's words and not to what the rule does: RRPH(1/2) and Warner(3/4) are one channel, and
their Breaches are 1/3 and 5/8. Whoever takes a report for the truth is right with probability 3/4 in both.

The best guess. With a prior pi, the guess that maximizes pi_i P(report | i) is right with probability
sum over reports of max_i pi_i P(report | i); without a report it is max_i pi_i.
    ERRPH, RRPH, Warner: the sum over k reports; with a flat prior and equal p_j it is p_0 + p_j.
    OUE: P(bits | i) is the probability of bits that are all drawn with q, times 1/(2q) if bit i is set and
        1/(2(1 - q)) if not. A set bit speaks for its value, so of the set bits that of the most probable value counts.
        In falling order of pi, it is the r-th with probability (1 - q)^(r - 1) q, and competes with the most probable
        value's own bit if that is not set; with (1 - q)^k no bit is set. The sum of k + 1 terms is exact.
    OLH: given the hash, the sum over the g places of max_i pi_i P(place | hash of i), in mean over hashes. They are
        drawn here: how a hash treats three values depends on the values.

Epsilon bounds the odds of every pair of answers, for every prior: 50:50 becomes at most e^epsilon : 1.

BreachWidth (paper 004, section 6.1): how wide an interval holds x with probability c, from the prior of x alone:
2 Phi^-1((1 + c) / 2) sigma. That claims that y tells nothing. What is left after y is the posterior's, see
`posterior_width`.
"""

from dpcore.teaching.report_privacy.answers import Guess, best_guess, breach, descriptions, measures, percent, sure
from dpcore.teaching.report_privacy.averaging import MOST_REPORTS, averaging
from dpcore.teaching.report_privacy.numbers import breach_width, linear, posterior_width, tail_ratios, width_measures

__all__ = [
    "MOST_REPORTS",
    "Guess",
    "averaging",
    "best_guess",
    "breach",
    "breach_width",
    "descriptions",
    "linear",
    "measures",
    "percent",
    "posterior_width",
    "sure",
    "tail_ratios",
    "width_measures",
]
