"""Write what type checkers read of the packages that import their names on first use: `python scripts/stubs.py`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import dpcore as dp  # noqa: E402

HEAD = '"""Written by scripts/stubs.py: the names that are imported when they are used."""\n\n# ruff: noqa\n'


def stubs() -> dict[Path, str]:
    """Both stubs by their paths."""
    methods = "\n".join(
        [
            HEAD,
            "from dpcore.methods.base import PrivateEstimator",
            *exported(dp.METHODS.classes),
            "from dpcore.methods.registry import Registry",
            "\nMETHODS: Registry[type[PrivateEstimator]]\n",
        ]
    )
    door = "\n".join([HEAD, *exported({**dp.PLACES, **dp.METHODS.classes}), "\n__version__: str\n"])
    return {ROOT / "dpcore" / "methods" / "__init__.pyi": methods, ROOT / "dpcore" / "__init__.pyi": door}


def exported(places: dict[str, str]) -> list[str]:
    """Lines that import names from their places."""
    lines = []
    for name, place in places.items():
        module, _, inside = place.partition(":")
        above, _, last = f"dpcore.{module}".rpartition(".")
        source, its = (f"dpcore.{module}", inside) if inside else (above, last)
        lines.append(f"from {source} import {its} as {name}")
    return sorted(lines)


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
