"""The door: private rows behind questions that are charged, answered with noise, and written in a ledger.

Methods get a `PrivateTable` and nothing else. For every question the door computes the sensitivity
from the kind of question, the relation and the public schema; charges the ledger; and only then
draws (`Door.answer`, which tables, nodes and growing networks all ask, and where every answer
leaves). A method whose source states other constants passes `claimed_sensitivity` (noise is then
scaled to the source's constant) or `claimed_epsilon`; the ledger books what is claimed beside what
can be proved of the noise. `prices` has the lemmas.
"""

from dpcore.door.door import Door
from dpcore.door.network_growth import Growth
from dpcore.door.nodes import PrivateNodes, Split
from dpcore.door.table import PrivateTable

__all__ = ["Door", "Growth", "PrivateNodes", "PrivateTable", "Split"]
