"""Ledgers of version 1: no charge is lost, and checksums of rows become keyed ones.

Version 1 kept bounds of void runs as if they held; nothing can be proved of those.
"""

import hmac
import sqlite3
import time
from math import inf

from dpcore.accounting.store.sheet import (
    APPLICATION,
    VERSION,
    Sheet,
    UnreadableError,
    known,
    moment,
    number,
    text,
    whole,
)

PATIENCE = 30.0  # seconds


def renew(c: sqlite3.Connection, secret: bytes) -> Sheet:
    """Bring a file of version 1 up to date, in a transaction that is left open. UnreadableError if it is damaged."""
    leave_log(c)
    c.execute("PRAGMA secure_delete=ON")  # the plain checksums are not to stay in free pages
    c.execute("BEGIN IMMEDIATE")
    versions = [c.execute(f"PRAGMA {it}").fetchone()[0] for it in ("application_id", "user_version")]
    if versions == [APPLICATION, VERSION]:  # another process was quicker
        return Sheet(c)
    if versions != [APPLICATION, 1]:
        raise UnreadableError
    if c.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise UnreadableError
    spent = "claimed, bound, looks, void"
    accounts = c.execute(f"SELECT sha256, relation, name, {spent}, cap FROM accounts ORDER BY rowid").fetchall()
    runs = c.execute(f"SELECT sha256, relation, token, purpose, begun, {spent} FROM runs ORDER BY id").fetchall()
    c.execute("DROP TABLE runs")
    c.execute("DROP TABLE accounts")
    sheet = Sheet.make(c, secret)
    places = {}
    for sha256, relation, name, *paid, cap in accounts:
        limit = None if cap is None else text(number(cap))
        key = hmac.digest(secret, raw(sha256), "sha256").hex()
        places[sha256, relation] = sheet.write(
            "accounts", None, key, str(known(relation)), name, *renewed(*paid), limit
        )
    for sha256, relation, token, purpose, begun, *paid in runs:
        if (sha256, relation) not in places:
            raise UnreadableError
        place = places[sha256, relation]
        sheet.write("runs", None, token, place, purpose, moment(begun).isoformat(), *renewed(*paid))
    sheet.seal()
    return sheet


def renewed(claimed: object, bound: object, looks: object, void: object) -> tuple[str, str, str, int, str]:
    """Claimed, of the noise, proved, looks and void."""
    noise = number(bound)
    return text(number(claimed)), text(noise), text(inf if void else noise), whole(looks), str(void)


def raw(sha256: object) -> bytes:
    """The bytes of a checksum."""
    try:
        return bytes.fromhex(str(sha256))
    except ValueError:
        raise UnreadableError from None


def leave_log(c: sqlite3.Connection) -> None:
    """Fold the write-ahead log into the file; SQLite does not wait by itself for a process that has it open."""
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            c.execute("PRAGMA journal_mode=DELETE")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname not in ("SQLITE_BUSY", "SQLITE_LOCKED") or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
