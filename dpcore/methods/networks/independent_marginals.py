"""Independent marginals: every column by itself, the simplest model and the usual baseline.

Idea      Measure how frequent every value is, and sample each column on its own. All dependence
          between columns is lost.

Steps, corrected (the only mode)
  1  A marginal of every column. Epsilon is divided in proportion to the square root of the number
     of cells. That makes the sum of all cells' absolute errors smallest, and the totals of all
     marginals equally accurate.                                                              counts
  2  Each marginal is moved to the nearest one without negative cells and with the right total: n
     where it is public, and the mean of the marginals' totals otherwise.            post-processing
  3  Rows: every column is sampled from its marginal, independently.                 post-processing

Privacy
  Public    The schema; n under replace.
  1         Each marginal has L1 sensitivity 1 (add_remove) or 2 (replace); sequential composition.
  Sum       Epsilon. With a delta, the same holds of rho.

Reference  McKenna, Miklau and Sheldon: Winning the NIST contest, Journal of Privacy and
Confidentiality 11(3), 2021. Their method starts with one-way marginals, which alone are the field's
usual baseline.
"""

from dpcore.accounting.relation import shares_of
from dpcore.arguments import Progress
from dpcore.door import PrivateTable
from dpcore.language import phrase
from dpcore.methods.base import MOST_DELTA, Measurement, clique_measurement, public_total
from dpcore.methods.networks.base import PAGES, NetworkSynthesizer
from dpcore.methods.parameters import choice, number, presets_of


class IndependentMarginals(NetworkSynthesizer):
    """Synthetic rows with independent columns: the baseline of all other methods.

    See the module for steps and privacy.

    Parameters
    ----------
    mode
        Only 'corrected'.
    """

    reference = phrase("McKenna et al. 2021")
    mode: str = choice(default="corrected", options=("corrected",))
    best_for = "baseline to beat"
    presets = presets_of(PAGES, "IndependentMarginals")
    delta: float = number(default=0.0, most=MOST_DELTA)
    _binary = False

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Measure every column, and make the counts non-negative with one total."""
        self.families_ = [(name,) for name in table.schema.names]
        weights = self._weights(table)
        noisy, losses = self._measure(table, self.families_, self._budget(table), weights=weights)
        total = sum(cells.sum() for cells in noisy) / len(noisy)
        self.rows_ = max(float(public_total(table, total)), 1.0)
        self._set_family_tables(self.families_, noisy, losses)

    def measurements(self, table: PrivateTable) -> list[Measurement]:
        """Return one marginal per column, with the noise of its share of epsilon."""
        sizes, shares = table.schema.sizes, shares_of(self._budget(table), self._weights(table))
        return [clique_measurement(sizes, [j], table.cell_variance(share)) for j, share in enumerate(shares)]

    def _weights(self, table: PrivateTable) -> list[float]:
        """Return each column's weight in the split of epsilon: the root of its number of values."""
        return [size**0.5 for size in table.schema.sizes]
