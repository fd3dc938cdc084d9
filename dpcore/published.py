"""The declared schemas of the published data sets, written from their own documentation.

Where a published file departs from its documentation, the comment at the column says so.
"""

from __future__ import annotations

from dpcore.column import Column, Kind
from dpcore.schema import Schema

__all__ = ["adult_schema", "big5_schema"]


def adult_schema() -> Schema:
    """What the documentation of UCI Adult says, with equal-width bins: 15 columns."""
    return Schema(
        columns=(
            _integer("age", 17, 90, "Age in years"),
            _listed(
                "workclass",
                "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked",
                "Kind of employer",
            ),
            _integer("fnlwgt", 0, 1_500_000, "Number of people that the census thinks this row stands for"),
            _listed(
                "education",
                "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-voc Assoc-acdm "
                "Bachelors Masters Prof-school Doctorate",
                "Highest level of education",
                "ordered",
            ),
            _integer("education-num", 1, 16, "The same as a number, 1 = Preschool to 16 = Doctorate"),
            _listed(
                "marital-status",
                "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse",
                "Marital status; AF = armed forces",
            ),
            _listed(
                "occupation",
                "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
                "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv "
                "Armed-Forces",
                "Kind of work",
            ),
            _listed(
                "relationship",
                "Wife Own-child Husband Not-in-family Other-relative Unmarried",
                "Place in the household",
            ),
            _listed("race", "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black", "Race, in the census's words"),
            _listed("sex", "Female Male", "Sex"),
            _integer("capital-gain", 0, 99_999, "Capital gains in dollars"),
            _integer("capital-loss", 0, 4_356, "Capital losses in dollars"),
            _integer("hours-per-week", 1, 99, "Hours of work per week"),
            _listed(
                "native-country",
                "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan "
                "Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal "
                "Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua "
                "Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands",
                "Country of birth, spelled as in the source",
            ),
            _listed("income", "<=50K >50K", "Yearly income above 50,000 dollars or not"),
        ),
        target="income",
        max_rows=30_162,
    )


# ISO 3166-1 alpha-2, then what the provider's address table adds: A1 anonymous proxy, A2 satellite, AP Asia/Pacific,
# EU Europe, O1 other, and "(nu", which is "(null)" cut at three characters: the address was not in the table.
COUNTRIES = """
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD
CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF
GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN
KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA
NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI
SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI
VN VU WF WS YE YT ZA ZM ZW A1 A2 AP EU O1 (nu
"""
TRAITS = {"E": "Extraversion", "N": "Neuroticism", "A": "Agreeableness", "C": "Conscientiousness", "O": "Openness"}


def big5_schema() -> Schema:
    """What the codebook of the Big Five data says: 57 columns, all but age and country as numbered answers."""
    return Schema(
        columns=(
            _answers("race", 0, 13, "Race, as numbered in the codebook; 0 = missed"),
            _integer("age", 13, 100, "Age in years, typed as text; clipped to 13 to 100", clip=True),
            _answers("engnat", 0, 2, "English is the native language: 1 = yes, 2 = no, 0 = missed"),
            _answers("gender", 0, 3, "1 = male, 2 = female, 3 = other, 0 = missed"),
            _answers("hand", 0, 3, "Writing hand: 1 = right, 2 = left, 3 = both, 0 = missed"),
            _answers(
                "source", 1, 6, "How the person came to the test, as numbered in the codebook; the data use 5 too"
            ),
            Column(
                name="country",
                kind="categorical",
                categories=tuple(COUNTRIES.split()),
                missing=True,
                outside="clip",  # codes that were withdrawn since, such as AN, count as missing
                description="Country of the network address, ISO code; (nu = unknown",
            ),
            *(
                _answers(f"{letter}{i}", 0, 5, f"{trait}, item {i}: 1 = disagree to 5 = agree, 0 = missed", "ordered")
                for letter, trait in TRAITS.items()
                for i in range(1, 11)
            ),
        ),
        target="gender",
        max_rows=19_719,
    )


def _integer(name: str, lower: int, upper: int, description: str, *, clip: bool = False) -> Column:
    return Column(
        name=name,
        kind="integer",
        lower=lower,
        upper=upper,
        bins=16,
        outside="clip" if clip else "refuse",
        description=description,
    )


def _listed(name: str, categories: str, description: str, kind: Kind = "categorical") -> Column:
    return Column(name=name, kind=kind, categories=tuple(categories.split()), description=description)


def _answers(name: str, first: int, last: int, description: str, kind: Kind = "categorical") -> Column:
    return _listed(name, " ".join(map(str, range(first, last + 1))), description, kind)
