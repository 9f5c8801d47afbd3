"""Remote procedure calls to the firmware."""

from uhost.rpc._header import protocol_header

__all__ = ["protocol_header"]
