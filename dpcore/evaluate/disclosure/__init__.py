"""What a release tells about one person's sensitive value.

A target is a real row. An attacker knows some of its columns, the quasi-identifiers, sees the release, and says what
the sensitive column holds. Two things make him right: what is true of people in general, which a good release shows on
purpose, and what the release shows because the target is in the data, which is the loss of privacy. `cap` and
`advantage` measure both together; only `in_out_advantage` tells the second apart, and only it is bounded by epsilon.

Everything here reads the real rows without noise and is therefore never private, whatever the release was. All results
are aggregates; none holds a row. Rows are compared by their codes.
"""

from dpcore.evaluate.disclosure.attacks import ATTACKS, advantage, cap
from dpcore.evaluate.disclosure.membership import in_out_advantage
from dpcore.evaluate.disclosure.padding import padded, risk_by_rows

__all__ = ["ATTACKS", "advantage", "cap", "in_out_advantage", "padded", "risk_by_rows"]
