"""Which requests pages send: the guard lets through all of them; and the report that people take home sends none."""

import re
from collections import Counter
from http import HTTPStatus

import pandas as pd
import pytest
from playwright.sync_api import Response

from dpcore import datasets, export
from dpcore.methods import METHODS
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
    wanted = " ".join(request for request, _ in seen)
    for needed in ("GET / ", "GET /media/", "PUT /_stcore/upload", "DELETE /_stcore/upload", "GET /static/js/"):
        assert needed in f"{wanted} ", needed  # or this test sees less than it should


DRAWN = (
    "[...document.querySelectorAll('svg[role=img]')].map(s => s.getBoundingClientRect()).map(r => [r.width, r.height])"
)
CUT = """[...document.querySelectorAll('svg[role=img]')].flatMap(svg => {
    const frame = svg.getBoundingClientRect()
    return [...svg.querySelectorAll('text')].filter(text => text.textContent).map(text => {
        const box = text.getBoundingClientRect()
        return [text.textContent, box.width > 0 && box.left >= frame.left - 1 && box.right <= frame.right + 1]
    }).filter(([_, whole]) => !whole)
})"""


def test_the_report_opens_and_prints_without_a_network(context, tmp_path):
    data = datasets.load("sample")
    method = METHODS["PrivBayes refined"](epsilon=1.0).fit(data.train, schema=data.schema)
    text = export.make_report(export.make_release(method, "PrivBayes refined", method.sample(500), data_name="sample"))
    path = tmp_path / "report.html"
    path.write_text(text.html, encoding="utf-8")
    noticed = []
    alone = context.browser.new_context(viewport={"width": 1366, "height": 768}, offline=True)
    try:
        page = alone.new_page()
        page.on("console", lambda message: noticed.append(message.text))
        page.on("pageerror", lambda error: noticed.append(str(error)))
        page.on("request", lambda request: noticed.append(request.url))
        page.goto(path.as_uri())
        sizes = page.evaluate(DRAWN)
        assert len(sizes) == 3
        assert min(width for width, _ in sizes) > 600
        assert min(height for _, height in sizes) > 100
        assert page.evaluate("document.documentElement.scrollWidth") <= 1366
        assert page.evaluate(CUT) == []
        closed = page.locator("details").first
        assert closed.is_visible()
        page.emulate_media(media="print", color_scheme="dark")
        assert not closed.is_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")
        assert noticed == [path.as_uri()]  # itself, and no complaint of a policy that something broke
    finally:
        alone.close()
