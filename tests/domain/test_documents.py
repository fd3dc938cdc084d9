"""JSON from anyone: every reader accepts it, or refuses it with a cause and a remedy."""

import json
from itertools import product

import pytest

from dpcore.dashboard import links
from dpcore.domain.documents import json_value
from dpcore.domain.schema import Schema
from dpcore.errors import DPCoreError, SchemaError
from dpcore.experiment import Config
from dpcore.export.artifacts import Model
from dpcore.postprocess.forest import Forest

HALF = "\ud800"
WRONG = {
    "deep lists": "[" * 3_000 + "]" * 3_000,
    "not so deep": "[" * 60 + "]" * 60,
    "too deep for anybody": "[" * 200_000,
    "more than Python reads": "1" * 5_000,
    "large": "1e999",
    "no number": "NaN",
    "half, written": '["\\ud800"]',
    "half, as it is": f'"{HALF}"',
    "two documents": "{} {}",
}
ENTRANCES = {
    "schema": Schema.from_json,
    "model": Model.from_json,
    "forest": Forest.from_json,
    "sweep": Config.from_json,
    "settings": lambda text: links.settings_of_file(text.encode(errors="surrogatepass")),
}


def test_every_reader_refuses_json_that_is_not_strict():
    for (name, entrance), (kind, text) in product(ENTRANCES.items(), WRONG.items()):
        with pytest.raises(DPCoreError) as caught:
            entrance(text)
        assert caught.value.cause.endswith("."), (name, kind)
        assert caught.value.remedy.endswith("."), (name, kind)
        assert ": " in caught.value.cause  # says what is wrong with the text
    assert [links.link_value(text) for text in WRONG.values()] == list(WRONG.values())  # a link takes it as text
    for text, words in ((b"[1, 2, 3]", "MiB"), (b'"\xe9"', "UTF-8")):
        with pytest.raises(SchemaError, match=words):
            json_value(text, SchemaError, "No", "Yes.", most=5)


def test_json_reads_back_unchanged():
    for text in ('{"a": ["\\ud83d\\ude00", "\\\\ud800", 1e300, -0.0, 12345678901234567890]}', '"x"'):
        for given in (text, text.encode(), b"\xef\xbb\xbf" + text.encode()):
            assert json_value(given, SchemaError, "No", "Yes.") == json.loads(text)
