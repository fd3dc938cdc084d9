"""What dpcore raises. Every message names a cause and a remedy, and never a cell's value."""


class DPCoreError(ValueError):
    """Base of all errors that a user can mend.

    Parameters
    ----------
    cause : str
        What is wrong, naming the column or parameter but no private value.
    remedy : str
        What to do about it.
    """

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(cause, remedy)
        self.cause, self.remedy = cause, remedy

    def __str__(self) -> str:
        return f"{self.cause} {self.remedy}".strip()


class DataError(DPCoreError):
    """A file or frame cannot be read or does not fit the schema."""


class SchemaError(DPCoreError):
    """A declaration contradicts itself."""


class ParameterError(DPCoreError):
    """A method's parameter is outside what it allows."""


class BudgetError(DPCoreError):
    """A question would cost more epsilon than is left; nothing was drawn."""


class BookError(DPCoreError):
    """The file of what was spent cannot be read or written; nothing was drawn."""


class LimitError(DPCoreError):
    """A server for visitors does not do as much for one of them."""
