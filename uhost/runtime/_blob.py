"""Weights apart from the code, as a caller may give them."""

from __future__ import annotations

from pathlib import Path

from uhost.errors import ConfigError

Blob = bytes | bytearray | memoryview | str | Path
"""Weights apart from the code, or the file that holds them."""


def read_blob(params: Blob) -> bytes:
    """Returns the bytes of a blob, or of the file at the path given for one.

    Raises `ConfigError` for a file that cannot be read, and for what is neither.
    """
    if isinstance(params, bytes | bytearray | memoryview):
        return bytes(params)
    if not isinstance(params, str | Path):
        raise ConfigError(
            f"weights are bytes or the path of a file, not {type(params).__name__}",
            where="params",
            fix="give what get_params_blob returns, or the path of a file of it",
        )
    try:
        return Path(params).read_bytes()
    except OSError as error:
        raise ConfigError(
            f"the weights cannot be read: {error.strerror}", str(params), "check the path"
        ) from error
