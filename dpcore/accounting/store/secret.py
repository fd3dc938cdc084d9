"""The secret that turns what is known of rows into names that tell nothing of them: 32 random bytes in a file."""

import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

NAME, SIZE = "dpcore.secret", 32


def kept_secret(folder: Path, *, make: bool = True) -> bytes:
    """The secret of a folder, made on first use and readable by its owner only.

    OSError if the file can be neither read nor made, or holds something else.
    """
    path, new = folder / NAME, folder / f"{NAME}.{secrets.token_hex(8)}"
    if make and not path.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(secrets.token_bytes(SIZE))
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):
                path.hardlink_to(new)  # whole at once, and never in the place of another process's
        finally:
            new.unlink(missing_ok=True)
    found = path.read_bytes()
    if len(found) != SIZE:
        raise OSError(0, f"{NAME} has another length than {SIZE} bytes")
    return found


def check_of(secret: bytes) -> str:
    """By what a ledger knows its secret again."""
    return hmac.digest(secret, b"dpcore ledger", "sha256").hex()
