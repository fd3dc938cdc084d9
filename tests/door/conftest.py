"""What leaves the door, for tests of who asks it."""

import pytest

from dpcore.door import Door


@pytest.fixture
def seen(monkeypatch):
    """The questions that were answered, in their order."""
    asked, answer = [], Door.answer

    def watched(door, question, entries, draw):
        asked.append(question)
        return answer(door, question, entries, draw)

    monkeypatch.setattr(Door, "answer", watched)
    return asked
