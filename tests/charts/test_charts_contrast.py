"""Every letter of every chart can be read on a light and on a dark page, measured on the drawn picture."""

import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
import vl_convert
from pictures import PICTURES, frame_of
from PIL import Image
from specs import luminance, rgb

PAGES = {"light": "#ffffff", "dark": "#0e1117"}  # as .streamlit/config.toml has them
LEAST, HERE = 4.5, np.eye(3)
MARK, NUMBER = "{http://www.w3.org/2000/svg}", r"-?[\d.]+(?:e-?\d+)?"


def drawn(name, page):
    """A chart as wide as on a laptop: its texts, and its picture without them."""
    spec = PICTURES[name][1](frame_of(name)).to_dict(validate=False)
    if spec.get("width") == "container":
        spec["width"] = 900
    svg = vl_convert.vegalite_to_svg(spec | {"background": page})
    bare = vl_convert.svg_to_png(re.sub(r"<text.*?</text>", "", svg, flags=re.DOTALL))
    return list(texts(ElementTree.fromstring(svg))), np.asarray(Image.open(io.BytesIO(bare)).convert("RGB"))


def texts(node, at=HERE, seen=1.0):
    """What is written, its color, how opaque it is, and its corners in pixels."""
    for kind, numbers in re.findall(r"(\w+)\(([^)]*)\)", node.get("transform", "")):
        x, y, *_ = [*map(float, re.findall(NUMBER, numbers)), 0.0]
        turn = np.deg2rad(x)
        move = [[1, 0, x], [0, 1, y], [0, 0, 1]]
        turned = [[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]]
        at = at @ np.array({"translate": move, "rotate": turned}[kind])
    seen *= float(node.get("opacity", 1)) * float(node.get("fill-opacity", 1))
    if node.tag == f"{MARK}text":
        lines = ["".join(part.itertext()) for part in node.iter() if part.text]
        high = float(node.get("font-size", "12px").removesuffix("px"))
        wide = 0.5 * high * max(map(len, lines), default=0)
        left = {"middle": -0.5, "end": -1.0}.get(node.get("text-anchor"), 0.0) * wide
        box = np.array([[left, -0.6 * high, 1], [left + wide, -0.1 * high, 1]]) @ at.T
        yield " ".join(lines), node.get("fill"), seen, box[:, :2]
    for child in node:
        yield from texts(child, at, seen)


def contrast(fill, seen, below):
    """Of a color, so opaque, with most of the pixels below it: a line that crosses them is let pass."""
    color = rgb(fill) if fill[0] == "#" else [*map(float, re.findall(NUMBER, fill))]
    one, other = luminance(seen * np.array(color) + (1 - seen) * below) + 0.05, luminance(below) + 0.05
    return np.quantile(np.maximum(one, other) / np.minimum(one, other), 0.3)


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_every_text_of_a_chart_can_be_read_in_both_themes(name):
    for page in PAGES.values():
        written, picture = drawn(name, page)
        assert written
        high, wide, _ = picture.shape
        for words, fill, seen, box in written:
            (left, top), (right, bottom) = np.floor(box.min(axis=0)).astype(int), np.ceil(box.max(axis=0)).astype(int)
            below = picture[max(top, 0) : min(bottom, high), max(left, 0) : min(right, wide)].reshape(-1, 3)
            if words.strip() and seen and len(below):
                assert contrast(fill, seen, below) >= LEAST, (words, fill, page)
