"""Reports that are handed on: the two files come back as they were, teach the same, and are refused if they lie."""

import json
from dataclasses import replace
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from tables import categorical
from taken_home import GONE, altered
from variants import alike

from dpcore import datasets
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import DataError, ParameterError, SchemaError
from dpcore.export import collection, make_release
from dpcore.export.collection import Collection, fill_reports, reports_of
from dpcore.mechanisms.randomizers import ERRPH, OLH, OUE, TRR, Warner
from dpcore.methods import METHODS
from dpcore.methods.local.bayes_from_reports import merged_schema
from dpcore.postprocess.reports import Reports

ABOUT = {
    "method": "PPNB", "mode": "corrected", "relation": "replace", "noise": "lots", "guarantee_void": "",
    "epsilon_claimed": 6.0, "epsilon_bound": 60.0,
}  # fmt: skip
WEIRD = ("=SUM(A1)", "nan", "1", "a / b", " / c", "a")
X = Column(name="+x", kind="categorical", categories=WEIRD, missing=True)
Z = Column(name="z", kind="categorical", categories=("b / c", "c", "/ c"))
N = Column(name="n", kind="continuous", lower=-5, upper=5, bins=4)
Y = Column(name="y", kind="categorical", categories=("no", "yes"))
SCHEMA = Schema(columns=(X, Z, N, Y), target="y")


def read(files, **changes):
    words = {name: text.encode() for name, text in {**files, **changes}.items()}
    return Collection.read(words["reports.csv"], words["rules.json"])


def test_every_rule_and_every_report_comes_back():
    bits = np.array([[False] * 6, [True, False, False, False, False, True]])
    uneven = ERRPH(6, p0=0.5, others=(0.1, 0.1, 0.1, 0.1, 0.05, 0.05))
    text = {  # by question: the rule, the reports, and who was asked
        ("y",): (Warner(p=0.3), [0, 1, 1], None),
        ("+x",): (ERRPH(7, epsilon=2), [0, 6, 3], None),
        ("n",): (TRR(lower=-5, upper=5, epsilon=1), [-1e4 / 3, 0.125, 3.0], None),
        ("+x", "z"): (ERRPH(21, epsilon=1), [10, 15], [0, 2]),
        ("z", "y"): (OUE(6, epsilon=1), bits, [0, 1]),
        ("z",): (OLH(3, epsilon=1), [[1, 0, 2], [2**31 - 2, 2**31 - 2, 0]], [1, 2]),
        ("y", "z"): (uneven, [5], [1]),
    }
    channels = {family: channel for family, (channel, _, _) in text.items()}
    values = {family: np.array(reports) for family, (_, reports, _) in text.items()}
    wanted = {family: np.array(who) for family, (_, _, who) in text.items() if who}
    reports = Reports(SCHEMA, 3, channels, values, wanted, target="y")
    found = read(Collection(reports, ABOUT).files())
    assert found.origin == ABOUT
    made = found.reports
    assert (made.people, made.target, made.source, made.schema) == (3, "y", SCHEMA, SCHEMA)
    for family, channel in channels.items():
        np.testing.assert_array_equal(made.values[family], values[family])
        np.testing.assert_array_equal(made.positions(family), reports.positions(family))
        assert alike(made.channels[family], channel)


KINDS = [
    ("PPNB", {"protocol": "OUE", "n_questions": 2, "pairs": False}, ["PPNB"]),
    ("PPNB", {"numbers": "moments", "n_questions": None}, ["PPNB", "DTCRD"]),
    ("DTPD", {"mode": "published", "groups": "each"}, ["DTPD"]),
    ("DTCRD", {}, ["PPNB", "DTCRD"]),
]


@pytest.mark.parametrize(("name", "given", "able"), KINDS)
def test_reports_teach_elsewhere_what_they_taught_here(name, given, able):
    data = datasets.load("sample")
    fitted = METHODS[name](epsilon=6, random_state=1, **given).fit(data.train.head(600), schema=data.schema)
    found = read(Collection(fitted.reports_, {**ABOUT, "method": name}).files())
    assert found.learners == able
    model = found.learn(METHODS[name](mode=fitted.mode))
    rows = data.test.head(500)
    np.testing.assert_allclose(model.predict_proba(rows), fitted.predict_proba(rows), atol=1e-12)
    assert (model.origin["epsilon_claimed"], model.origin["mode"]) == (6, fitted.mode)
    assert (type(model).from_json(model.to_json()).predict(rows) == model.predict(rows)).all()
    with pytest.raises(ParameterError, match="cannot learn from these"):
        found.learn(METHODS["Non-private naive Bayes"]())
    with pytest.raises(ParameterError, match="another class"):
        found.learn(METHODS[name](target="sex"))


@pytest.mark.parametrize("name", ["DTPD", "PPNB"])
def test_a_person_with_several_rows_has_as_many_reports_and_pays_for_all(name):
    sample = datasets.load("sample")
    schema = replace(sample.schema, unit=PrivacyUnit(max_contributions=3, id_column="who"))
    frame = sample.train.head(400).assign(who=[f"{i // 4:03}" for i in range(400)])
    fitted = METHODS[name](epsilon=6, random_state=1).fit(frame, schema=schema)
    release = make_release(fitted, name, data_name="a")
    about = release.origin | {"epsilon_bound": release.ledger.epsilon_nominal}
    files = Collection(release.artifact.reports, about).files()
    persons = [line.split(",")[0] for line in files["reports.csv"].splitlines()[1:]]
    assert persons == [str(i // 3 + 1) for i in range(300)]
    found = read(files)
    assert (found.reports.people, found.reports.source, found.origin["unit"]) == (300, schema, about["unit"])
    assert 3 * found.reports.largest_epsilon() == pytest.approx(about["epsilon_bound"])
    assert found.learn(METHODS[name](mode=fitted.mode)).schema.unit == schema.unit
    less = json.loads(files["rules.json"])
    less["about"]["epsilon_bound"] *= 0.9
    with pytest.raises(SchemaError, match="the file states a smaller epsilon"):
        read(files, **{"rules.json": json.dumps(less)})


def small():
    """Two people; bins of n were put together in pairs before anybody reported."""
    channels = {("y",): ERRPH(2, epsilon=1), ("z",): OUE(3, epsilon=1), ("n",): TRR(lower=-5, upper=5, epsilon=1)}
    values = {("y",): np.array([0, 1]), ("z",): np.eye(3, dtype=bool)[:2], ("n",): np.array([1.0, 2.0])}
    rules = {"+x": np.arange(7), "z": np.arange(3), "n": np.array([0, 0, 1, 1]), "y": np.arange(2)}
    known = {"rows": SCHEMA, "recodings": [*rules.items()], "target": "y"}
    return Collection(Reports(merged_schema(SCHEMA, rules), 2, channels, values, **known), ABOUT).files()


def changed(path, value):
    """Of these files, with one value of the rules changed, or taken out."""
    files = small()
    return read(files, **{"rules.json": altered(files["rules.json"], path, GONE if value is None else value)})


LIES = [
    (("format",), "dpcore model 1"),
    (("class",), "nobody"),
    (("recoded",), []),
    (("questions", 0, "people"), None),
    (("questions", 1, "rule"), "Warner"),
    (("questions", 0, "given"), {"p0": 1.0}),  # true answers
    (("questions", 0, "given"), {"epsilon": "1/0"}),
    (("questions", 0, "given"), {"epsilon": "9" * 5_000}),
    (("questions", 0, "gain"), 0.9),
    (("questions", 0, "epsilon"), 2.0),
    (("questions", 1, "question"), ["z"] * 25),  # 3^25 values
    (("questions", 2, "upper"), 50),
    (("questions", 2, "given"), {"factors": [1.0], "offsets": [0.0]}),
    (("about", "epsilon_bound"), True),
    (("about", "noise"), None),
]


@pytest.mark.parametrize(("path", "value"), LIES)
def test_rules_that_contradict_themselves_are_refused(path, value):
    with pytest.raises(SchemaError, match="no rules"):
        changed(path, value)


def test_an_epsilon_with_an_exponent_is_never_written_out(monkeypatch):
    """Fifteen characters would ask for gigabytes of digits."""
    monkeypatch.setattr(collection, "Fraction", lambda text: pytest.fail(f"{text} was written out"))
    for text in ("1e9999999999", 3):
        with pytest.raises(SchemaError, match="no rules"):
            changed(("questions", 0, "given"), {"epsilon": text})


def test_an_epsilon_that_the_rules_do_not_keep_is_refused():
    assert read(small()).reports.largest_epsilon() == 3
    with pytest.raises(SchemaError, match="can cost epsilon 3, and the file states a smaller epsilon"):
        changed(("about", "epsilon_bound"), 2.9)


@pytest.mark.parametrize(("place", "codes"), [(3, [1, 0]), (1, [0, 2, 1]), (2, [0, 0, 0, 1])])
def test_answers_that_are_no_merged_bins_teach_no_naive_bayes(place, codes):
    """A class turned round, or values thrown together: nothing that this method's people do."""
    assert "PPNB" in read(small()).learners
    found = changed(("recoded", place, "codes"), codes)
    assert found.learners == []
    with pytest.raises(ParameterError, match="cannot learn"):
        found.learn(METHODS["PPNB"]())


def test_a_table_that_is_not_of_these_rules_is_refused():
    files = small()
    assert files["reports.csv"].splitlines() == ["person,y,z,n", "1,no,1,1.0", "2,yes,2,2.0"]
    for cells in ("person,y,z,n\n1,no,1,1", "person,y,z,n\n1,no,1,1\n2,yes,2,", "person,y,z\n1,no,1\n2,yes,2"):
        with pytest.raises(DataError, match=r"that rules.json names|cannot come from the rules"):
            read(files, **{"reports.csv": f"{cells}\n"})
    wanted = reports_of(json.loads(files["rules.json"]))
    for cells in ("maybe,2,2", "yes,4,2", "yes,2 1,2", "yes,2,inf", "yes,2,-99999", "yes,none 1,1"):
        with pytest.raises(DataError, match="cannot come from its rule") as refused:
            fill_reports(wanted, pd.read_csv(StringIO(f"person,y,z,n\n1,no,1,1\n2,{cells}"), dtype=str))
        assert "maybe" not in str(refused.value)
    semicolons = "person;y;z;n\n1;no;1;1,0\n2;yes;none;2,5\n"  # as a spreadsheet in Germany saves it
    assert read(files, **{"reports.csv": semicolons}).reports.values[("n",)].tolist() == [1.0, 2.5]
    with pytest.raises(SchemaError, match="no rules"):
        Collection.read(files["reports.csv"].encode(), b"[]")


ODD = (
    (("y;|\t1", "no", "yes"), ("x;;;", "a", "b")),
    (("person", "no", "yes"), (" x", "a", "b"), ("x", "a", "b"), ("'x", "a", "b")),
    (("y", "no", "yes"), ("x", " '=a", "=a", "'=a ", "a", "+a", " ", "\u00a0", "nan", "2,5")),
)


@pytest.mark.parametrize("columns", ODD)
def test_odd_names_and_labels_come_back(columns):
    """As pairs with the class at an epsilon beyond what lots can tell, and each by itself at a small one."""
    schema = categorical({name: own for name, *own in columns}, target=columns[0][0])
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({column.name: rng.choice(column.labels, 60) for column in schema})
    for epsilon, given in ((40, {}), (0.5, {"pairs": False, "n_questions": None})):
        reports = METHODS["PPNB"](epsilon=epsilon, random_state=0, **given).fit(frame, schema=schema).reports_
        found = read(Collection(reports, {**ABOUT, "epsilon_bound": epsilon}).files()).reports
        assert [own.tolist() for own in found.values.values()] == [own.tolist() for own in reports.values.values()]
        assert found.schema == reports.schema


PAIRED = pd.DataFrame({"y": ["no", "yes"] * 200, "z": ["c", "/ c"] * 200})


def printed(name, **given):
    schema = Schema(columns=(Z, Y), target="y")
    return METHODS[name](mode="published", random_state=1, **given).fit(PAIRED, schema=schema)


def test_reports_that_share_a_lot_and_true_answers_never_leave():
    for fitted, epsilon in ((printed("DTPD", groups="one"), 60.0), (printed("PPNB"), float("inf"))):
        with pytest.raises(ParameterError, match="no finite epsilon"):
            Collection(fitted.reports_, {**ABOUT, "epsilon_bound": epsilon}).files()
