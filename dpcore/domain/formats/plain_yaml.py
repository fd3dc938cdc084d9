"""YAML as texts, lists and mappings and nothing else, from anybody."""

from typing import Any

import yaml

from dpcore.domain.documents import DEEPEST
from dpcore.domain.formats.base import REMEDY, WRONG
from dpcore.errors import SchemaError

MOST = 500_000  # characters; its reader takes seconds for more


class Loader(yaml.BaseLoader):
    """All scalars as texts; no names twice, and no references, with which a few lines unfold to gigabytes."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """As of the base; SchemaError for a reference, and for what is nested too deep."""
        if self.check_event(yaml.AliasEvent):
            raise SchemaError(f"{WRONG}: it has references (*).", "Write out what they stand for.")
        self.depth += 1
        if self.depth > DEEPEST:
            raise SchemaError(f"{WRONG}: it is nested too deep.", REMEDY)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """As of the base; SchemaError for a name that stands there twice."""
        names = [key.value for key, _ in node.value]
        if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
            raise SchemaError(f"{WRONG}: a name stands in it twice, or is none.", REMEDY)
        return super().construct_mapping(node, deep)


def loaded(text: str | bytes) -> Any:
    """What a YAML document says; SchemaError if it is none, or not to be taken."""
    if len(text) > MOST:
        raise SchemaError(f"{WRONG}: YAML of more than {MOST:,} characters is not taken.", REMEDY)
    try:
        return yaml.load(text.decode("utf-8-sig") if isinstance(text, bytes) else text, Loader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        raise SchemaError(f"{WRONG}: it is neither JSON nor YAML.", REMEDY) from None
