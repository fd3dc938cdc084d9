"""How public values are written: epsilons for people."""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dpcore.text import TENTHS, number, percent


def test_numbers_have_three_digits_or_all_digits_of_integers():
    shown = {0.0: "0", math.inf: "∞", 1.0: "1", 0.1 + 0.2: "0.3", Fraction(1, 3): "0.334", 0.0714: "0.0714"}
    shown |= {924.2: "925", 9_452.4: "9,453", 123_456.1: "123,457", 999_999.5: "1e+06", 1_234_567.0: "1.24e+06"}
    assert {epsilon: number(epsilon) for epsilon in shown} == shown


@given(st.floats(1e-300, 1e300))
def test_no_epsilon_looks_smaller_than_it_is(epsilon):
    shown = float(number(epsilon).replace(",", ""))
    assert epsilon * (1 - 1e-7) <= shown <= epsilon * 1.0101


def test_a_share_is_never_rounded_up_to_all():
    shares = [0.0, 0.00049, 0.5, 0.73105, 0.9994, 0.99951, 1.0]
    assert [percent(share) for share in shares[:4]] == ["0%", "0.049%", "50%", "73.1%"]
    assert [percent(share, TENTHS) for share in shares[4:]] == ["99.9%", "over 99.9%", "100.0%"]
    assert percent(1.0, certain=False) == "over 99.9%"
