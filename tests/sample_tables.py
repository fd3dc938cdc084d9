"""Tables as users upload them: a hospital's visits and a company's customers, of mixed columns."""

import numpy as np
import pandas as pd

import dpcore as dp

__all__ = ["customers", "hospital", "visits"]

WARDS = ["A1", "A2", "B1", "B2", "C1", "ICU"]
DEPARTMENTS = ["Cardiology", "Emergency medicine", "General surgery", "Neurology", "Oncology", "Pediatrics"]
INSURANCE = ["private", "public", "none"]
CODES = [f"{a}{b:02}.{c}" for a in "CIJ" for b in range(30) for c in range(5)]
WORDS = """
    admitted after a fall at home with pain in the left hip no fever stable overnight discharged on request family
    informed follow up in two weeks mild cough blood pressure high tablets changed wound clean reports dizziness
"""


def visits(rows: int = 4_000, seed: int = 0) -> pd.DataFrame:
    """Return visits to a hospital, about two per patient: 13 columns, as read from a CSV."""
    rng = np.random.default_rng(seed)
    patients = rng.permutation(np.r_[np.arange(rows // 2 + 31), rng.integers(0, rows // 2 + 31, rows)][:rows])
    admitted = np.datetime64("2019-01-01") + rng.integers(0, 5 * 365, rows)
    words = WORDS.split()
    notes = [" ".join(rng.choice(words, size)) for size in rng.integers(6, 30, 526)]
    died = rng.random(rows) < 0.07
    frame = pd.DataFrame(
        {
            "visit_id": [f"V{number:06}" for number in rng.permutation(900_000)[:rows]],
            "patient_id": 100_000 + 37 * patients,
            "admitted": admitted.astype(str),
            "discharged": (admitted + rng.integers(0, 21, rows)).astype(str),
            "birth_date": [f"{d:02}/{m:02}/{y}" for d, m, y in rng.integers([1, 1, 1925], [29, 13, 2019], (rows, 3))],
            "sex": rng.choice(["F", "M"], rows),
            "department": rng.choice(DEPARTMENTS, rows),
            "diagnosis_code": rng.choice(CODES, rows),
            "ward": rng.choice(WARDS, rows),
            "bill": np.round(rng.lognormal(7, 1, rows), 2),
            "insurance": rng.choice(INSURANCE, rows),
            "notes": rng.choice(notes, rows),
            "outcome": np.where(died, "died", "discharged"),
        }
    ).astype("str")
    for name, share in (("discharged", 0.02), ("insurance", 0.1), ("notes", 0.3), ("bill", 0.01)):
        frame[name] = frame[name].mask(rng.random(rows) < share)
    return frame


def customers(rows: int = 50_000, seed: int = 0) -> pd.DataFrame:
    """Return customers of a company: 12 columns, as read from a CSV."""
    rng = np.random.default_rng(seed)
    tenure = rng.integers(0, 72, rows)
    frame = pd.DataFrame(
        {
            "customerID": [f"{number % 9_999:04}-{number}" for number in rng.permutation(10**6)[:rows]],
            "signup": (np.datetime64("2024-06-30T08:15") - tenure.astype("timedelta64[D]") * 30).astype(str),
            "plan_id": rng.integers(1, 5, rows),
            "monthly_charge": [f"${charge:,.2f}" for charge in rng.lognormal(4, 1, rows).clip(1, 9_999)],
            "postcode": [f"{code:05}" for code in rng.choice(rng.permutation(99_999)[:800], rows)],
            "tenure": tenure,
            "calls": rng.poisson(2, rows),
            "discount": [f"{percent} %" for percent in rng.integers(0, 40, rows)],
            "phone_service": rng.choice(["yes", "no"], rows),
            "country": "Utopia",
            "satisfaction": rng.normal(0, 1, rows),
            "churned": rng.integers(0, 2, rows),
        }
    ).astype("str")
    frame["calls"] = frame["calls"].mask(rng.random(rows) < 0.05)
    return frame


def hospital(rows: int = 4_000, seed: int = 0) -> tuple[pd.DataFrame, dp.Schema]:
    """Return visits whose diagnosis determines the department, with a declared schema."""
    frame = visits(rows, seed)
    index = {code: DEPARTMENTS[i * len(DEPARTMENTS) // len(CODES)] for i, code in enumerate(CODES)}
    frame["department"] = frame["diagnosis_code"].map(index)

    def listed(name: str, categories: list[str], **more: bool) -> dp.Column:
        return dp.Column(name=name, kind="categorical", categories=tuple(categories), **more)

    columns = (
        dp.Column(name="admitted", kind="date", lower="2019-01-01", upper="2023-12-31", bins="quarter"),
        listed("sex", ["F", "M"]),
        listed("department", DEPARTMENTS),
        listed("diagnosis_code", CODES),
        listed("ward", WARDS),
        dp.Column(name="bill", kind="continuous", lower=0, upper=10_000, bins=16, missing=True, outside="clip"),
        listed("insurance", INSURANCE, missing=True),
        listed("outcome", ["died", "discharged"]),
    )
    return frame, dp.Schema(columns=columns, target="outcome", max_rows=rows)
