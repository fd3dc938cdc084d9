"""Which requests pages send: the guard lets through all of them, and a file for which there is no room says why."""

import re
from collections import Counter
from http import HTTPStatus

import pandas as pd
import pytest
from playwright.sync_api import Response

from scripts.screenshots import settle

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
    visitor.tab("Marginals")  # charts
    visitor.take_home()
    raw = TABLE.to_csv(index=False).encode()
    visitor.upload("first.csv", raw)
    visitor.press("data.other")
    visitor.load("data.file", "second.csv", raw)  # in place of the first, which the page asks to forget
    visitor.press("data.other")
    visitor.page.get_by_role("button", name="Remove second.csv", exact=True).click()
    settle(visitor.page)
    visitor.open("data/")
    refused = [request for request in seen if request[1] in REFUSED]
    assert refused == []
    asked = " ".join(request for request, _ in seen)
    for needed in ("GET / ", "GET /media/", "PUT /_stcore/upload", "DELETE /_stcore/upload", "GET /static/js/"):
        assert needed in f"{asked} ", needed  # or this test sees less than it should
