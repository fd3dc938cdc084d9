"""The door: queries to private rows, charged to a ledger and answered with noise.

Methods get a `PrivateTable` and no rows. For every query the door computes the sensitivity from the
kind of query, the relation and the public schema. It charges the ledger, and only then draws noise.
Every answer leaves through `Door.answer`, which tables, tree nodes and growing networks call.

A method whose source states other constants passes `claimed_sensitivity`, to which noise is then
scaled, or `claimed_epsilon`. The ledger records both the claim and what the noise proves.
`privacy_costs` has the lemmas.
"""

from dpcore.door.door import Door
from dpcore.door.network_growth import NetworkGrowth
from dpcore.door.nodes import PrivateNodes, Split
from dpcore.door.table import PrivateTable

__all__ = ["Door", "NetworkGrowth", "PrivateNodes", "PrivateTable", "Split"]
