"""Independent marginals: every column by itself. The simplest table there is, and what every other has to beat.

Idea      Measure how frequent every value is, and draw each column on its own. Nothing of what hangs together is kept.

Steps, corrected (the only mode)
  1  A table of every column, epsilon in proportion to the square root of its cells: that makes the sum of all cells'
     absolute errors smallest, and every table's total equally sure.                                              counts
  2  Each table moved to the nearest one without negative cells and with the right total, which is n where it is public
     and the mean of the tables' totals otherwise.                                                       post-processing
  3  Rows: every column drawn from its table, whatever the others are.                                   post-processing

Privacy
  Public    the schema; n under replace.
  1         each table has L1 sensitivity 1 (add_remove) or 2 (replace); sequential.
  Sum       epsilon; with a delta, all that is said here of epsilon holds of rho.

Reference  McKenna, Miklau and Sheldon: Winning the NIST contest, Journal of Privacy and
Confidentiality 11(3), 2021, where one-way margins come first; by themselves they are the field's
usual baseline.
"""

from dpcore.accounting.relation import shares_of
from dpcore.arguments import Progress
from dpcore.door import PrivateTable
from dpcore.language import phrase
from dpcore.methods.base import MOST_DELTA, Measurement, clique, public_total
from dpcore.methods.networks.base import PAGES, NetworkSynthesizer
from dpcore.methods.parameters import choice, number, presets_of


class IndependentMarginals(NetworkSynthesizer):
    """Synthetic rows with every column by itself: the baseline of all others.

    See the module for steps and privacy.

    Parameters
    ----------
    mode
        There is no other.
    """

    reference = phrase("McKenna et al. 2021")
    mode: str = choice(default="corrected", options=("corrected",))
    best_for = "baseline to beat"
    presets = presets_of(PAGES, "IndependentMarginals")
    delta: float = number(default=0.0, most=MOST_DELTA)
    _binary = False

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        self.families_ = [(name,) for name in table.schema.names]
        weights = self._weights(table)
        noisy, losses = self._ask(table, self.families_, self._budget(table), weights=weights)
        total = sum(cells.sum() for cells in noisy) / len(noisy)
        self.rows_ = max(float(public_total(table, total)), 1.0)
        self._keep(self.families_, noisy, losses)

    def measurements(self, table: PrivateTable) -> list[Measurement]:
        sizes, shares = table.schema.sizes, shares_of(self._budget(table), self._weights(table))
        return [clique(sizes, [j], table.cell_variance(share)) for j, share in enumerate(shares)]

    def _weights(self, table: PrivateTable) -> list[float]:
        return [size**0.5 for size in table.schema.sizes]
