"""What a column's header says of it: that it names people, reaches them, numbers rows, holds codes, texts or the class.

A header is public, or as public as the file's first line; it is only ever a hint, which cells have to bear out.
"""

import re
import unicodedata

PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W0-9_a-zA-Z]+")
HOLDERS = (  # people, and what has several of them or several rows
    "account acct beneficiary borrower case citizen client customer donor driver employee guest household "
    "inpatient insured investigator learner member participant passenger patient person policyholder proband pupil "
    "resident respondent rider seller student subject subscriber taxpayer tenant user voter worker "
    "applicant athlete caller child clerk doctor father mother nurse owner pensioner physician pilot player prisoner "
    "runner speaker swimmer teacher trainee veteran victim "
    "alumno alumna cuenta cliente caso empleado hogar paciente persona profesor socio usuario vecino "  # Spanish
    "client compte eleve employe etudiant foyer individu locataire membre sujet salarie "  # French
    "befragte befragter haushalt konto kunde mandant mieter mitarbeiter mitglied patientin person proband schueler "
    "schuler schulerin studierende teilnehmer versicherte versicherter"
)
OF_SOMEBODY = f"{HOLDERS} emp encounter fam family hh hous order pat pt record resp row stud subj unit usubj visit"
NUMBER_OF = "(s|n|en|in|innen)?(id|no|nr|nbr|num|number|nummer|key|code)"
GLUED = re.compile(f"({OF_SOMEBODY.replace(' ', '|')}){NUMBER_OF}|id({HOLDERS.replace(' ', '|')}|hous|hh)")
THINGS = (  # that have names, and are no people
    "area brand building category center city clinic company continent country course department district file group "
    "hospital island item job model municipality office plant product program project province region route school "
    "series site species state station store study table town type unit variable ward zone"
)
NUMBERED = "no nr nbr num number key ref reference"  # as the last part of a header
NAME_OF = (
    "name names first last full given family middle patient customer client person user employee member doctor nurse "
    "physician student"
)
LATIN = {  # by any part of a header
    "identifier": "id ids uid uuid guid pid eid ssn mrn nhs nino iban imei passport licence license hash token barcode "
    "seqn pidp serialno",
    "contact": "email mail phone telephone tel mobile cellphone fax url ip address street username login handle",
    "person": "surname firstname lastname forename fullname vorname nachname prenom apellido apellidos",
    "code": "zip zipcode postcode postal plz code codes icd icd9 icd10 cpt drg fips naics sic",
    "text": "note notes comment comments remark remarks description text message narrative summary report review "
    "feedback history anamnesis bemerkung bemerkungen",
    "moment": "date datetime time timestamp ts epoch created updated seen birth dob fecha datum zeit",
    "class": "class target label outcome response income churn churned exited default defaulted survived survival died "
    "deceased death mortality readmitted readmission fraud attrition result",  # the likeliest first
}
HAN = {
    "holder": "患者 病人 客户 用户 会员 学生 学员 员工 教师 老师 居民 受访者 住户 户主 参保人 患儿",
    "identifier": "编号 序号 证号 身份证 护照 病历号 住院号 门诊号 学号 工号 卡号 账号 帐号 流水号 订单号 号码",
    "contact": "电话 手机 邮箱 地址 住址",
    "person": "姓名 名字",
    "code": "邮编 邮政编码 代码 编码",
    "text": "备注 说明 描述 主诉 病史 意见 评论",
    "moment": "日期 时间",
    "class": "类别 标签 结局 结果",
}
LAST = {  # by the last part of a header; the third are groups, which whole numbers may stand for
    "holder": HOLDERS,
    "numbered": NUMBERED,
    "coded": "branch category cause cluster county country department dept diagnosis district group "
    "grp inst institution occupation province region sector site state status tract type ward zone",
}


def parts(header: str) -> list[str]:
    """The words of a header, in lower case and without accents: `patientID` and `Patient Id` have the same."""
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", header) if not unicodedata.combining(sign))
    return [part.lower() for part in PART.findall(plain)]


def meant(header: str) -> set[str]:
    """What a header says: some of the kinds in `LATIN` and `LAST`."""
    said = parts(header)
    several, last = set(said), {word.removesuffix("s") for word in said[-1:]} | {*said[-1:]}
    found = {kind for kind, marks in HAN.items() if any(mark in header for mark in marks.split())}
    found |= {kind for kind, marks in LATIN.items() if several.intersection(marks.split())}
    if any(map(GLUED.fullmatch, said)):
        found.add("identifier")
    found |= {kind for kind, marks in LAST.items() if last & {*marks.split()}}
    if any(part.endswith("code") for part in said):
        found.add("code")
    if "name" in several and several.issubset(NAME_OF.split()):
        found.add("person")
    if said == ["y"]:
        found.add("class")
    return found


def of_people(header: str) -> bool:
    """Whether a header has a word for people."""
    words = {word.removesuffix("s") for word in parts(header)}
    return not {*HOLDERS.split()}.isdisjoint(words) or "holder" in meant(header)


def is_name(header: str) -> bool:
    """Whether a header says that its values are names, which several people can share."""
    said = {*parts(header)}
    return ("name" in said and said.isdisjoint(THINGS.split())) or "person" in meant(header)


def is_person_key(header: str) -> bool:
    """Whether a header says that its values reach or number people, and nothing else."""
    words = f"{HOLDERS} {NUMBERED} {LATIN['identifier']}".split()
    return "contact" in meant(header) or {*parts(header)}.issubset(words)


def tells_people(header: str) -> bool:
    """Whether a header says that a value can be a person: an id, a name, a patient, a customer's number."""
    last = (parts(header) or [""])[-1]
    numbered = of_people(header) and last in f"{NUMBERED} {LATIN['code']}".split()
    return numbered or is_name(header) or not meant(header).isdisjoint(("holder", "identifier"))


def class_rank(header: str, values: int) -> tuple[bool, bool, int]:
    """How likely a column is the class, the lowest first: by a whole header, with two values."""
    known, said = LATIN["class"].split(), parts(header)
    return len(said) > 1, values > 2, min((known.index(word) for word in said if word in known), default=len(known))


RANGES: dict[str, tuple[float, float, int]] = {  # limits that everyone knows, and bins; 0 where few fill them
    "month mo mon monat mes mois 月 月份": (1, 12, 12),
    "day dom mday tag dia jour 日": (1, 31, 31),
    "yday doy": (1, 366, 61),
    "week kw woche semana semaine 周": (1, 53, 53),
    "quarter qtr": (1, 4, 4),
    "weekday dow wday": (1, 7, 7),
    "hour hr stunde hora heure 小时": (0, 23, 24),
    "minute min second sec": (0, 59, 12),
    "percent pct percentage prozent porcentaje pourcentage 百分比": (0, 100, 20),
    "latitude lat": (-90, 90, 18),
    "longitude lon lng long": (-180, 180, 18),
    "angle bearing heading azimuth": (0, 360, 18),
    "age alter edad": (0, 119, 0),
}
LEAST_COVERED = 0.5  # of the range


def limits(header: str) -> tuple[float, float, int] | None:
    """The limits that everyone knows of what a header names, the widest of several, and a number of bins."""
    said = {*parts(header)}
    found = [known for words, known in RANGES.items() if not said.isdisjoint(words.split())]
    return max(found, key=lambda known: known[1] - known[0], default=None)


def public_range(header: str, low: float, high: float) -> tuple[float, float, int] | None:
    """The limits of what a header names, and a number of bins, if numbers between two ends fill half of them."""
    first, last, bins = limits(header) or (0, 0, 0)
    fills = bins and first <= low and high <= last and (high - low) / (last - first) >= LEAST_COVERED
    return (float(first), float(last), bins) if fills else None
