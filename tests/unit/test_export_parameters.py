"""The file of parameters: TVM's format, byte by byte, and the way back."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from uhost.errors import ConfigError
from uhost.runtime.export.parameters import decode_params, encode_params


def test_the_bytes_of_one_array() -> None:
    expected = (
        struct.pack("<QQ", 0xF7E58D4F05049CB7, 0)
        + struct.pack("<QQ", 1, 1)
        + b"w"
        + struct.pack("<Q", 1)
        + struct.pack("<QQ", 0xDD5E40F096B4A13F, 0)
        + struct.pack("<iiiBBH", 1, 0, 2, 0, 16, 1)  # cpu 0, rank 2, int16, one lane
        + struct.pack("<qqq", 1, 2, 4)
        + struct.pack("<hh", -1, 2)
    )
    assert encode_params({"w": np.array([[-1, 2]], np.int16)}) == expected


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float32", "bool"])
def test_every_type_comes_back(dtype: str) -> None:
    arrays = {
        "größe/a;b": np.arange(6).reshape(1, 2, 3).astype(dtype),
        "scalar": np.array(1, dtype),
        "empty": np.zeros((0, 4), dtype),
    }
    found = decode_params(encode_params(arrays), "")
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert np.array_equal(found[name], array)


def test_damaged_bytes_are_refused() -> None:
    content = encode_params({"w": np.arange(100, dtype=np.int32)})
    for wrong in (b"", b"text", content[:60], content[:100], b"\0" + content[1:]):
        with pytest.raises(ConfigError, match="the file of parameters is damaged"):
            decode_params(wrong, "w.params")
