"""How long work tells its watcher how far it is, and how the watcher stops it."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Progress", "no_progress"]

Progress = Callable[[float, str], None]
"""Called with the fraction done and a text; raising inside it cancels the work cleanly."""


def no_progress(fraction: float, text: str) -> None:
    """The callback of somebody who does not watch."""
