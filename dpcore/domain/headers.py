"""What a column's header says of it: that it names people, reaches them, numbers rows, holds codes, texts or the class.

A header is public, or as public as the file's first line; it is only ever a hint, which cells have to bear out.
"""

import re

PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W0-9_a-zA-Z]+")
OF_SOMEBODY = (
    "account case client customer employee encounter member order patient person record row student subject user visit"
)
GLUED = re.compile(f"({OF_SOMEBODY.replace(' ', '|')})(id|no|nr|nbr|num|number|key)")

PEOPLE = (
    "citizen client customer donor driver employee guest member participant passenger patient person pupil resident "
    "respondent rider student subject subscriber user voter worker"
)
NUMBERED = "no nr nbr num number key ref reference"  # as the last part of a header
NAME_OF = (
    "name names first last full given family middle patient customer client person user employee member doctor nurse "
    "physician student"
)
LATIN = {  # by any part of a header
    "identifier": "id ids uid uuid guid pid eid ssn mrn nhs nino iban imei passport licence license hash token barcode",
    "contact": "email mail phone telephone tel mobile cellphone fax url ip address street username login handle",
    "person": "surname firstname lastname forename fullname vorname nachname prenom apellido apellidos",
    "code": "zip zipcode postcode postal plz code codes icd icd9 icd10 cpt drg fips naics sic",
    "text": "note notes comment comments remark remarks description text message narrative summary report review "
    "feedback history anamnesis bemerkung bemerkungen",
    "class": "class target label outcome response income churn churned exited default defaulted survived survival died "
    "deceased death mortality readmitted readmission fraud attrition result",  # the likeliest first
}
HAN = {
    "identifier": "编号 序号 证号 身份证 护照 病历号 住院号 门诊号 学号 工号 卡号 账号 帐号 流水号 订单号 号码",
    "contact": "电话 手机 邮箱 地址 住址",
    "person": "姓名 名字",
    "code": "邮编 邮政编码 代码 编码",
    "text": "备注 说明 描述 主诉 病史 意见 评论",
    "class": "类别 标签 结局 结果",
}


def parts(header: str) -> list[str]:
    """The words of a header, in lower case: `patientID`, `patient_id` and `Patient Id` have the same."""
    return [part.lower() for part in PART.findall(header)]


def meant(header: str) -> set[str]:
    """What a header says: some of identifier, numbered, contact, person, code, text, class."""
    said = parts(header)
    several = set(said)
    found = {kind for kind, marks in HAN.items() if any(mark in header for mark in marks.split())}
    found |= {kind for kind, marks in LATIN.items() if several.intersection(marks.split())}
    if any(map(GLUED.fullmatch, said)):
        found.add("identifier")
    if said and said[-1] in NUMBERED.split():
        found.add("numbered")
    if "name" in several and several.issubset(NAME_OF.split()):
        found.add("person")
    if said == ["y"]:
        found.add("class")
    return found


def of_people(header: str) -> bool:
    """Whether a header has a word for people."""
    return not {*PEOPLE.split()}.isdisjoint(parts(header))


def is_name(header: str) -> bool:
    """Whether a header says that its values are names, which several people can share."""
    return "name" in parts(header) or "person" in meant(header)


def is_person_key(header: str) -> bool:
    """Whether a header says that its values reach or number people, and nothing else."""
    words = f"{PEOPLE} {NUMBERED} {LATIN['identifier']}".split()
    return "contact" in meant(header) or {*parts(header)}.issubset(words)


def tells_people(header: str) -> bool:
    """Whether a header says that a value can be a person: an id, a name, a patient, a customer's number."""
    last = (parts(header) or [""])[-1]
    people = of_people(header) and last in f"{PEOPLE} {NUMBERED} {LATIN['code']}".split()
    return people or is_name(header) or "identifier" in meant(header)


def class_rank(header: str) -> int:
    """How likely a header is the class's: 0 is the likeliest."""
    known = LATIN["class"].split()
    return min((known.index(word) for word in parts(header) if word in known), default=len(known))
