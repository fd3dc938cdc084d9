"""What dpcore raises. Every message names a cause and a remedy: never a cell's value, and no number of the rows."""


class DPCoreError(ValueError):
    """Base of all errors that a user can mend.

    Parameters
    ----------
    cause : str
        What is wrong, naming the column or parameter but no private value.
    remedy : str, optional
        What to do about it.
    private : str, optional
        The cause once more, with what depends on the rows: how many they are, or which line. It is
        for the screen of those who may see the rows, which marks it as real data. What is printed
        or logged, such as `str(error)` and a traceback, does not have it.
    """

    def __init__(self, cause: str, remedy: str = "", private: str = "") -> None:
        super().__init__(cause, remedy)
        self.cause, self.remedy, self.private = cause, remedy, private

    def __str__(self) -> str:
        return f"{self.cause} {self.remedy}".strip()


class DataError(DPCoreError):
    """A file or frame cannot be read or does not fit the schema."""


class SchemaError(DPCoreError):
    """A declaration contradicts itself."""


class ParameterError(DPCoreError):
    """A method's parameter is outside what it allows."""


class BudgetError(DPCoreError):
    """A query would cost more than is left of the privacy budget; nothing was drawn."""


class BookError(DPCoreError):
    """The file of what was spent cannot be read or written; nothing was drawn."""


class LimitError(DPCoreError):
    """A server for visitors does not do as much for one of them."""
