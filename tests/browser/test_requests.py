"""Which requests pages send: the guard lets through all of them, and a file for which there is no room says why."""

import re
from collections import Counter
from http import HTTPStatus
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Response, expect

from scripts.screenshots import COMMAND, settle, started

pytestmark = pytest.mark.browser

TABLE = pd.DataFrame({"city": ["Ulm", "Bonn"] * 40, "age": [*range(30, 70)] * 2, "ill": ["no", "no", "yes", "no"] * 20})
REFUSED = (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.MISDIRECTED_REQUEST)
# Streamlit's page looks for its server below a deep link first.
PROBE = re.compile(r"/\w+/_stcore/(health|host-config)")


def test_no_request_of_a_page_is_refused(visitor):
    """A page that needs an address which the guard does not let through stays empty, or loses a chart or a file."""
    seen: Counter[tuple[str, int]] = Counter()

    def answered(response: Response) -> None:
        address = response.url.removeprefix(visitor.address)
        if not PROBE.fullmatch(address):
            seen[f"{response.request.method} {address}", response.status] += 1

    visitor.page.on("response", answered)
    visitor.try_now()
    visitor.tab("Columns")  # charts
    visitor.take_home()
    raw = TABLE.to_csv(index=False).encode()
    visitor.upload("first.csv", raw)
    visitor.load("data.file", "second.csv", raw)  # in place of the first, which the page asks to forget
    visitor.page.get_by_role("button", name="Remove second.csv", exact=True).click()
    settle(visitor.page)
    visitor.open("data/")
    refused = [request for request in seen if request[1] in REFUSED]
    assert refused == []
    asked = " ".join(request for request, _ in seen)
    for needed in ("GET / ", "GET /media/", "PUT /_stcore/upload", "DELETE /_stcore/upload", "GET /static/js/"):
        assert needed in f"{asked} ", needed  # or this test sees less than it should


def test_a_file_for_which_there_is_no_room_says_why_and_a_replaced_one_always_has_room(
    visitor, program, tmp_path: Path
):
    raw = b"no table" * 120_000  # nearly the largest that is taken, and read at once
    options = ["--server.maxUploadSize", "1", "--server.enableXsrfProtection", "false"]
    with started(tmp_path / "log", command=[*COMMAND, *options]) as server:
        visitor.address = server.address
        sent = []
        visitor.page.on("request", lambda request: request.method == "PUT" and sent.append(request.url))
        visitor.open("data")
        visitor.upload("0.csv", raw)
        for place in range(1, 10):  # more than a session may hold at a time
            visitor.load("data.file", f"{place}.csv", raw)
            expect(visitor.page.get_by_role("button", name=f"Remove {place}.csv", exact=True)).to_be_visible()
        fill = """async ([address, size]) => {
            for (let place = 0; place < 6; place++) {
                const form = new FormData();
                form.append('file', new Blob(['a'.repeat(size)]), 'a.csv');
                await fetch(address + place, {method: 'PUT', body: form});
            }
        }"""
        visitor.page.evaluate(fill, [sent[-1], len(raw)])
        drop = visitor.keyed("data.file")
        late = {"name": "late.csv", "mimeType": "text/csv", "buffer": raw}
        drop.locator("input[type=file]").set_input_files(late)  # `load` would wait for an upload that never begins
        expect(drop).to_contain_text("There is no room for another upload. Remove a file")
        assert len(sent) == 16
