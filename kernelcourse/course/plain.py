"""Messages between the grader and a sandbox: plain data, over a socket.

multiprocessing's connections wait indefinitely for a slow sender; `wait` here enforces a deadline.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable
from typing import Any

from ..checking.plain import LARGEST, NotPlain, Opaque, Unknown, decode, encode, readable, unknown

__all__ = ["LARGEST", "Channel", "Closed", "NotPlain", "Opaque", "Unknown", "decode", "encode", "readable", "unknown"]

_PARTS = 1_000_000  # brackets and commas in one message: each takes a few bytes here, but a hundred as an object


class Closed(Exception):
    """The other side has closed the connection."""


class Channel:
    """Messages over a socket: four bytes of length, then JSON."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection

    def send(self, message: dict[str, Any]) -> None:
        text = json.dumps(message).encode()
        try:
            self.connection.sendall(struct.pack(">I", len(text)) + text)
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            raise Closed from error

    def receive(self, wait: Callable[[socket.socket], None] = lambda connection: None) -> dict[str, Any]:
        """The next message. `wait` is called before every read and may raise."""
        (length,) = struct.unpack(">I", self._exactly(4, wait))
        if length > LARGEST:
            raise NotPlain("a message that is too long")
        text = self._exactly(length, wait)
        if sum(map(text.count, (b"[", b"{", b","))) > _PARTS:
            raise NotPlain("a message of too many parts")
        try:
            message = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise NotPlain("a message that is not JSON") from error
        if type(message) is not dict:
            raise NotPlain("a message of another kind")
        return message

    def _exactly(self, count: int, wait: Callable[[socket.socket], None]) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            wait(self.connection)
            try:
                part = self.connection.recv(min(count - len(parts), 1 << 20))
            except OSError as error:
                raise Closed from error
            if not part:
                raise Closed
            parts += part
        return bytes(parts)

    def close(self) -> None:
        self.connection.close()
