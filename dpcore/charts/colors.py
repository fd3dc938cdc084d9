"""Colors that can be seen on light and dark pages, and shapes that tell series apart without them."""

from typing import Any

import altair as alt

REAL, RELEASED, CLAIMED, NEUTRAL = "#808080", "#1f77d4", "#c2571a", "#787878"
# Letters as dark or as bright as the theme's, which marks and subtitles do not take from it by themselves.
INK = alt.ExprRef("luminance(background) < 0.2 ? '#f5f5f5' : '#1a1a1a'")
FADED = alt.ExprRef("luminance(background) < 0.2 ? '#b4bac4' : '#5a606a'")
MIDDLE = 0.179  # the luminance on which black and white letters have the same contrast
SERIES = [CLAIMED, RELEASED, "#2a8a4a", "#a05ab4", "#d13b6a", "#0d8a94", "#8d7316", "#6b6be0", "#c43bc4", "#96705c"]
SERIES += ["#6f8f1a"]  # the first color and shape are for a claim
TINTS = ["rgba(31, 119, 212, 0.06)", "rgba(31, 119, 212, 0.8)"]  # from pale, on any page, to strong
STRIPES, BREAK = 48, (39, 40)
_STAR = "M0,-1L.29,-.4L.95,-.31L.48,.15L.59,.81L0,.5L-.59,.81L-.48,.15L-.95,-.31L-.29,-.4Z"
_SAW = "M-1,-.9L0,-.35L1,-.9L1,.9L0,.35L-1,.9Z"
SHAPES = ["circle", "diamond", "triangle-up", "square", "triangle-down", "cross", "triangle-right", "triangle-left"]
_CROSSED = "M-1,-.6L-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0Z"
SHAPES += [_STAR, _SAW, _CROSSED]


def hatched(color: str) -> dict[str, Any]:
    """Upright stripes with a break near the end: a bar that goes on without limit. Slanted ones, a canvas misplaces."""
    stops, clear = [], "rgba(128, 128, 128, 0)"
    for stripe in range(STRIPES):
        start, end = stripe / STRIPES, (stripe + 0.45) / STRIPES
        own = clear if stripe in BREAK else color
        stops += [{"offset": at, "color": look} for at, look in ((start, own), (end, own), (end, clear))]
        stops.append({"offset": (stripe + 1) / STRIPES, "color": clear})
    return {"gradient": "linear", "x1": 0, "y1": 0, "x2": 1, "y2": 0, "stops": stops}
