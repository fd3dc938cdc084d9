"""What a person has at home: the files of a release's zip, read as strictly as they should be."""

import io
import json
import runpy
import zipfile
from html.parser import HTMLParser

from dpcore.export import bundle

__all__ = ["FOR_READERS", "Page", "members", "replayed", "strict", "unpacked"]

FOR_READERS = ["replay.py", "replay.ipynb", "report.html", "card.md", "README.md"]


def members(made, table="csv"):
    with zipfile.ZipFile(io.BytesIO(bundle(made, table=table))) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def unpacked(made, folder, table="csv"):
    for name, raw in members(made, table).items():
        (folder / name).write_bytes(raw)
    return folder


def replayed(made, folder, monkeypatch, capsys, table="csv"):
    """What the zip's script says and makes, run in a folder with the zip's files."""
    monkeypatch.chdir(unpacked(made, folder, table))
    space = runpy.run_path("replay.py")
    return capsys.readouterr().out, space


def strict(raw):
    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(raw.decode("utf-8"), parse_constant=refuse)


class Page(HTMLParser):
    """The tags of a page with their attributes, and its texts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)
