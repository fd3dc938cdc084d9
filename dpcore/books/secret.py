"""The secret that turns what is known of rows into names that tell nothing of them: 32 random bytes in a file."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

__all__ = ["NAME", "SIZE", "kept_secret"]

NAME, SIZE = "dpcore.secret", 32


def kept_secret(folder: Path) -> bytes:
    """The secret of a folder, made on first use and readable by its owner only.

    Raises
    ------
    OSError
        If the file can be neither read nor made, or holds something else.
    """
    path, new = folder / NAME, folder / f"{NAME}.{secrets.token_hex(8)}"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(secrets.token_bytes(SIZE))
                file.flush()
                os.fsync(file.fileno())
            path.hardlink_to(new)  # whole at once, and never in the place of another process's
        except FileExistsError:
            pass
        finally:
            new.unlink(missing_ok=True)
    found = path.read_bytes()
    if len(found) != SIZE:
        raise OSError(0, f"{NAME} is damaged: put it back from a copy")
    return found
