"""A folder of files on this computer: declared, encoded with cancel and resume, released, compared and taken home."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from dpcore.dashboard.sections.intake import SOURCES
from scripts.screenshots import Server, settle, started

pytestmark = pytest.mark.browser

ROWS, KEPT_FROM = 300_000, 16_384
SLOW = f"""
import sys, time
from dpcore.dashboard.__main__ import main
from dpcore.datasets import long_parquet
from dpcore.rows import writing

long_parquet.ROWS = writing.GROUP = {KEPT_FROM}
one_column = writing.coded_cells

def as_from_a_slow_disk(column, cells):
    time.sleep(0.2)
    return one_column(column, cells)

writing.coded_cells = as_from_a_slow_disk
sys.exit(main())
"""


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two Parquet files of 300,000 people, whose towns and ages hang on whether they are ill."""
    folder = tmp_path_factory.mktemp("rows") / "people"
    folder.mkdir()
    rng = np.random.default_rng(3)
    ill = rng.random(ROWS) < 0.3
    frame = pd.DataFrame(
        {
            "town": np.where(ill, rng.choice(["Ulm", "Bonn"], ROWS), rng.choice(["Bonn", "Kiel"], ROWS)),
            "age": np.where(ill, rng.integers(40, 90, ROWS), rng.integers(18, 60, ROWS)),
            "ill": np.where(ill, "yes", "no"),
        }
    )
    frame[:200_000].to_parquet(folder / "2024.parquet", index=False)
    frame[200_000:].to_parquet(folder / "2025.parquet", index=False)
    return folder


@pytest.fixture(scope="module")
def server(program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A dashboard to which reading the rows takes ten seconds, so that somebody can press Cancel."""
    log = tmp_path_factory.mktemp("server") / "server.log"
    with started(log, command=(sys.executable, "-c", SLOW)) as found:
        yield found
    assert "Traceback" not in log.read_text(errors="replace")


@pytest.fixture
def person(visitor, server: Server):
    """The visitor of that dashboard."""
    visitor.address = server.address
    return visitor


def choose_path(person, path: Path) -> None:
    """Type a path in on the page of the data."""
    person.go("data")
    person.pick(SOURCES["folder"])
    box = person.keyed("data.path").get_by_role("textbox")
    box.fill(str(path))
    box.press("Enter")
    settle(person.page, 120)


def test_a_folder_from_its_path_to_a_file_of_synthetic_rows(person, people, tmp_path):
    page = person.page
    person.open()
    choose_path(person, people.parent / "nowhere")
    person.refused("nowhere")
    choose_path(person, people)
    codes = people.with_name("_people.codes")
    expect(page.get_by_text(str(codes))).to_be_visible()
    person.declare()

    encode = person.button("data.encode")
    encode.click()
    expect(page.get_by_text(re.compile(r"[\d,]+ rows encoded, about \d+ seconds left"))).to_be_visible()
    person.cancel_button.click()
    settle(page)
    assert "sample" in person.data_in_use
    expect(encode).to_contain_text(re.compile(r"[\d,]+ rows$"))
    kept = {path.name: path.stat().st_mtime_ns for path in codes.glob("part-*")}
    assert kept

    page.reload()  # another session: it knows what was encoded, and what was declared
    settle(page)
    choose_path(person, people)
    expect(page.get_by_text("Read off your rows")).to_have_count(0)
    encode.click()
    expect(person.button("data.next")).to_be_visible(timeout=240_000)
    assert {name: (codes / name).stat().st_mtime_ns for name in kept} == kept
    found = re.findall(r"people/ · ([\d,]+) rows to learn from, ([\d,]+) to test on", person.data_in_use)
    assert sum(int(number.replace(",", "")) for number in found[0]) == ROWS

    person.press("data.next")
    person.run()
    panel = person.tab("Take home")
    person.number("Rows to write", 250_000)
    place = tmp_path / "synthetic.parquet"
    box = panel.get_by_role("textbox")
    box.fill(str(place))
    box.press("Enter")
    settle(page)
    panel.get_by_role("button", name="Write the rows").click()
    settle(page)
    expect(page.get_by_text(re.compile("250,000 synthetic rows"))).to_be_visible()
    made = pd.read_parquet(place)
    assert len(made) == 250_000
    assert list(made) == ["town", "age", "ill"]
    assert abs((made["ill"] == "yes").mean() - 0.3) < 0.02
    assert person.ledger() == ["1", person.usual, person.usual]

    page.reload()  # the rows outlive a session, and the page says so
    settle(page)
    person.press("dpcore.load_again")
    expect(page.get_by_role("radio", name=SOURCES["folder"])).to_be_checked()
