"""The declared schemas of the published data sets, written from their own documentation.

Where a published file departs from its documentation, the comment at the column says so. The taxonomies were written
for this package from what the words mean; no row was looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from dpcore.domain.column import Column, Kind
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy import Taxonomy

Groups: TypeAlias = "dict[str, Groups | str]"
"""Groups in groups, down to texts of values; the values under "" belong to no smaller group."""

WORKCLASS: Groups = {
    "": "Private",
    "Self-employed": "Self-emp-not-inc Self-emp-inc",
    "Government": "Federal-gov Local-gov State-gov",
    "No pay": "Without-pay Never-worked",
}
EDUCATION: Groups = {
    "No college": {
        "No high school diploma": {
            "Up to grade 8": "Preschool 1st-4th 5th-6th 7th-8th",
            "Grades 9 to 12": "9th 10th 11th 12th",
        },
        "": "HS-grad",
    },
    "College": {
        "Below bachelor": {"": "Some-college", "Associate degree": "Assoc-voc Assoc-acdm"},
        "Bachelor or above": {"": "Bachelors", "Graduate degree": "Masters Prof-school Doctorate"},
    },
}
MARITAL_STATUS: Groups = {
    "Married": {
        "Living with spouse": "Married-civ-spouse Married-AF-spouse",
        "Living apart": "Separated Married-spouse-absent",
    },
    "Not married": {"Formerly married": "Divorced Widowed", "": "Never-married"},
}
OCCUPATION: Groups = {
    "Office": {
        "Managers and professionals": "Exec-managerial Prof-specialty Tech-support",
        "Sales and clerks": "Sales Adm-clerical",
    },
    "Manual": {
        "Crafts and machines": "Craft-repair Machine-op-inspct",
        "Transport and handling": "Transport-moving Handlers-cleaners",
        "": "Farming-fishing",
    },
    "Service": {
        "Personal service": "Other-service Priv-house-serv",
        "Protection": "Protective-serv Armed-Forces",
    },
}
RELATIONSHIP: Groups = {
    "Spouse": "Husband Wife",
    "Other family": "Own-child Other-relative",
    "Other place": "Not-in-family Unmarried",
}
NATIVE_COUNTRY: Groups = {  # "South" has lost its second word, most likely Korea; "Hong" is Hong Kong
    "Americas": {
        "Northern America": "United-States Canada Puerto-Rico Outlying-US(Guam-USVI-etc)",
        "Central America": "Mexico Guatemala Honduras El-Salvador Nicaragua",
        "Caribbean": "Cuba Dominican-Republic Haiti Jamaica Trinadad&Tobago",
        "South America": "Columbia Ecuador Peru",
    },
    "Europe": {
        "Britain and Ireland": "England Scotland Ireland",
        "Western Europe": "France Germany Holand-Netherlands",
        "Southern Europe": "Greece Italy Portugal",
        "Eastern Europe": "Hungary Poland Yugoslavia",
    },
    "Asia": {
        "Eastern Asia": "China Hong Japan South Taiwan",
        "Southeastern Asia": "Cambodia Laos Philippines Thailand Vietnam",
        "Southern Asia": "India Iran",
    },
}


def adult_schema() -> Schema:
    """Return what the documentation of UCI Adult says, with equal-width bins.

    Returns
    -------
    Schema
        15 columns, with the target "income".
    """
    return Schema(
        columns=(
            numeric("age", 17, 90, "Age in years"),
            listed("workclass", "", "Kind of employer", WORKCLASS),
            numeric("fnlwgt", 0, 1_500_000, "Number of people that the census thinks this row stands for"),
            listed("education", "", "Highest level of education", EDUCATION, "ordered"),
            numeric("education-num", 1, 16, "The same as a number, 1 = Preschool to 16 = Doctorate"),
            listed(
                "marital-status",
                "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse",
                "Marital status; AF = armed forces",
                MARITAL_STATUS,
            ),
            listed(
                "occupation",
                "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
                "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv "
                "Armed-Forces",
                "Kind of work",
                OCCUPATION,
            ),
            listed(
                "relationship",
                "Wife Own-child Husband Not-in-family Other-relative Unmarried",
                "Place in the household",
                RELATIONSHIP,
            ),
            listed("race", "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black", "Race, in the census's words"),
            listed("sex", "Female Male", "Sex"),
            numeric("capital-gain", 0, 99_999, "Capital gains in dollars"),
            numeric("capital-loss", 0, 4_356, "Capital losses in dollars"),
            numeric("hours-per-week", 1, 99, "Hours of work per week"),
            listed(
                "native-country",
                "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan "
                "Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal "
                "Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua "
                "Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands",
                "Country of birth, spelled as in the source",
                NATIVE_COUNTRY,
            ),
            listed("income", "<=50K >50K", "Yearly income above 50,000 dollars or not"),
        ),
        target="income",
        max_rows=30_162,
    )


# ISO 3166-1 alpha-2 by the regions of UN M49, then what the provider's address table adds: A1 anonymous proxy, A2
# satellite, AP Asia/Pacific, EU Europe, O1 other, and "(nu", which is "(null)" cut at three characters: the address was
# not in the table.
NO_COUNTRY = "A1 A2 AP EU O1 (nu"
COUNTRIES: Groups = {
    "Africa": {
        "Northern Africa": "DZ EG EH LY MA SD TN",
        "Eastern Africa": "BI DJ ER ET IO KE KM MG MU MW MZ RE RW SC SO SS TF TZ UG YT ZM ZW",
        "Middle Africa": "AO CD CF CG CM GA GQ ST TD",
        "Southern Africa": "BW LS NA SZ ZA",
        "Western Africa": "BF BJ CI CV GH GM GN GW LR ML MR NE NG SH SL SN TG",
    },
    "Americas": {
        "Northern America": "BM CA GL PM US",
        "Central America": "BZ CR GT HN MX NI PA SV",
        "Caribbean": "AG AI AW BB BL BQ BS CU CW DM DO GD GP HT JM KN KY LC MF MQ MS PR SX TC TT VC VG VI",
        "South America": "AR BO BR BV CL CO EC FK GF GS GY PE PY SR UY VE",
    },
    "Asia": {
        "Central Asia": "KG KZ TJ TM UZ",
        "Eastern Asia": "CN HK JP KP KR MN MO TW",
        "Southeastern Asia": "BN ID KH LA MM MY PH SG TH TL VN",
        "Southern Asia": "AF BD BT IN IR LK MV NP PK",
        "Western Asia": "AE AM AZ BH CY GE IL IQ JO KW LB OM PS QA SA SY TR YE",
    },
    "Europe": {
        "Eastern Europe": "BG BY CZ HU MD PL RO RU SK UA",
        "Northern Europe": "AX DK EE FI FO GB GG IE IM IS JE LT LV NO SE SJ",
        "Southern Europe": "AD AL BA ES GI GR HR IT ME MK MT PT RS SI SM VA",
        "Western Europe": "AT BE CH DE FR LI LU MC NL",
    },
    "Oceania and Antarctica": {
        "": "AQ",
        "Australia and New Zealand": "AU CC CX HM NF NZ",
        "Melanesia": "FJ NC PG SB VU",
        "Micronesia": "FM GU KI MH MP NR PW UM",
        "Polynesia": "AS CK NU PF PN TK TO TV WF WS",
    },
    "No single country": NO_COUNTRY,
}
TRAITS = {"E": "Extraversion", "N": "Neuroticism", "A": "Agreeableness", "C": "Conscientiousness", "O": "Openness"}


def big5_schema() -> Schema:
    """Return what the codebook of the Big Five data says.

    Returns
    -------
    Schema
        57 columns, all but age and country as numbered answers, with the target "gender".
    """
    return Schema(
        columns=(
            _answers("race", 0, 13, "Race, as numbered in the codebook; 0 = missed"),
            numeric("age", 13, 100, "Age in years, typed as text; clipped to 13 to 100", outside="clip"),
            _answers("engnat", 0, 2, "English is the native language: 1 = yes, 2 = no, 0 = missed"),
            _answers("gender", 0, 3, "1 = male, 2 = female, 3 = other, 0 = missed"),
            _answers("hand", 0, 3, "Writing hand: 1 = right, 2 = left, 3 = both, 0 = missed"),
            _answers(
                "source", 1, 6, "How the person came to the test, as numbered in the codebook; the data use 5 too"
            ),
            listed(
                "country",
                " ".join([*sorted({*_tree(COUNTRIES).leaves} - {*NO_COUNTRY.split()}), NO_COUNTRY]),
                "Country of the network address, ISO code; (nu = unknown",
                COUNTRIES,
                missing=True,
                outside="clip",  # codes that were withdrawn since, such as AN, count as missing
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


def numeric(name: str, lower: float, upper: float, description: str, *, kind: Kind = "integer", **more: Any) -> Column:
    """A column of numbers."""
    return Column(name=name, kind=kind, lower=lower, upper=upper, description=description, origin="document", **more)


def listed(
    name: str, values: str, description: str, groups: Groups | None = None, kind: Kind = "categorical", **more: Any
) -> Column:
    """A column of categories without spaces in them, in this order or, if none is given, in that of their groups."""
    tree = None if groups is None else _tree(groups)
    categories = tree.leaves if tree and not values else tuple(values.split())
    more |= {"description": description, "taxonomy": tree, "origin": "document"}
    return Column(name=name, kind=kind, categories=categories, **more)


def _answers(name: str, first: int, last: int, description: str, kind: Kind = "categorical") -> Column:
    return listed(name, " ".join(map(str, range(first, last + 1))), description, kind=kind)


def _tree(groups: Groups) -> Taxonomy:
    def paths(below: Groups | str, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if isinstance(below, str):
            yield from ((leaf, *above) for leaf in below.split())
            return
        for name, parts in below.items():
            yield from paths(parts, (name, *above) if name else above)

    return Taxonomy(tuple(paths(groups, ("(any)",))))
