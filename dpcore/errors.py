"""Exceptions of dpcore. Each message names a cause and a remedy, and no private value.

No message contains a cell's value or a number that depends on the rows.
"""


class DPCoreError(ValueError):
    """Base class of all errors that a user can correct.

    Parameters
    ----------
    cause : str
        What is wrong, naming the column or parameter but no private value.
    remedy : str, optional
        What to do about the cause.
    private : str, optional
        The cause with private details, such as the number of rows or a line number. A screen shows
        this text, marked as real data, only to those who may see the rows. `str(error)` and
        tracebacks leave it out.
    """

    def __init__(self, cause: str, remedy: str = "", private: str = "") -> None:
        super().__init__(cause, remedy)
        self.cause, self.remedy, self.private = cause, remedy, private

    def __str__(self) -> str:
        """Return cause and remedy in one text, without private details."""
        return f"{self.cause} {self.remedy}".strip()


class DataError(DPCoreError):
    """A file or frame cannot be read or does not fit the schema."""


class SchemaError(DPCoreError):
    """A schema or column is declared with contradictory values."""


class ParameterError(DPCoreError):
    """A method's parameter is outside its allowed values."""


class BudgetError(DPCoreError):
    """A query would exceed the privacy budget; it was refused before any noise was drawn."""


class LedgerError(DPCoreError):
    """The ledger file cannot be read or written; no noise was drawn."""


class LimitError(DPCoreError):
    """A public server refuses a request that exceeds what one visitor may use."""
