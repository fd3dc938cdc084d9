"""The report that people take home: it opens without a network, shows all its charts, and prints."""

import pytest

from dpcore import datasets, export
from dpcore.methods import METHODS

pytestmark = pytest.mark.browser
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
    told = export.make_report(export.make_release(method, "PrivBayes refined", method.sample(500), data_name="sample"))
    path = tmp_path / "report.html"
    path.write_text(told.html, encoding="utf-8")
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
