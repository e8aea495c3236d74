"""Pipe: keeps bytes that can be read only once, in a file, while they are read, for `Source`."""

import io
import os
import select
import threading
import weakref
from collections.abc import Callable
from typing import IO, Any

from cranfield.errors import InputError

_PIECE_BYTES = 1 << 20

OpenOnce = Callable[[], tuple[IO[bytes], Callable[[], None]]]


class Pipe:
    """The bytes of a pipe, a device or a server, copied into a file without a name.

    They are copied only as far as they are read: an endless device does not fill the disk if its
    first bytes are refused. The file has no name in its folder (but on Windows), so that nothing
    remains of it, however the process ends. Every reader begins at the first byte and has its own
    position; there may be readers in several threads and, once all is copied, in forked processes.

    `open_once` opens the bytes when they are first read: it returns a file, and a function to call
    when no more of it is needed. `name` is for messages.
    """

    def __init__(self, open_once: OpenOnce, name: str) -> None:
        self._open_once = open_once
        self._name = name
        self._stream: IO[bytes] | None = None
        self._file: IO[bytes] | None = None
        self._n_copied = 0
        self._is_complete = False
        self._has_failed = False
        self._process: int | None = None  # the process that copies
        # A lock that another thread held at a fork is never released in the child: each process has
        # its own lock.
        self._locks: dict[int, threading.Lock] = {}

    @classmethod
    def from_bytes(cls, raw: bytes, name: str) -> "Pipe":
        """Return a pipe with these bytes."""
        return cls(lambda: (io.BytesIO(raw), lambda: None), name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Pipe.from_bytes, (self.open().read(), self._name)

    def __deepcopy__(self, memo: object) -> "Pipe":
        return self  # its content never changes

    @property
    def size(self) -> int | None:
        """The number of bytes, None as long as it is unknown."""
        return self._n_copied if self._is_complete else None

    def open(self) -> "PipeReader":
        """Open the bytes for reading from the first one."""
        return PipeReader(self)

    def copy_all(self) -> int:
        """Copy everything; return the number of bytes."""
        while not self._is_complete:
            self._copy_until(self._n_copied + _PIECE_BYTES)
        return self._n_copied

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Read from byte `offset` on; return how many bytes were read, 0 at the end."""
        self._copy_until(offset + len(buffer))
        n = max(0, min(len(buffer), self._n_copied - offset))
        if n == 0 or self._file is None:
            return 0
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [buffer[:n]], offset)
        with self._lock():  # Windows, where nothing is forked
            self._file.seek(offset)
            n_read: int = self._file.readinto(buffer[:n])  # type: ignore[attr-defined] # it has it
            return n_read

    def _lock(self) -> threading.Lock:
        return self._locks.setdefault(os.getpid(), threading.Lock())

    def _copy_until(self, end: int) -> None:
        """Copy until `end` bytes are copied, or all."""
        if self._is_complete or self._n_copied >= end:
            return
        with self._lock():
            if self._process not in (None, os.getpid()):
                raise InputError(
                    "was being read when this process was forked: only the process that began to "
                    "read it can continue",
                    source=self._name,
                    hint="Fork before it is read or after all of it is, or save it in a file.",
                )
            if self._has_failed:
                problem = "can be read only once, and reading it has failed"
                raise InputError(problem, source=self._name)
            self._process = os.getpid()
            if self._stream is None or self._file is None:
                self._file = self._make_file()  # if this fails, the bytes are not opened yet
                weakref.finalize(self, self._file.close)
                self._stream, close = self._open_once()
                weakref.finalize(self, close)
            self._has_failed = True  # unless the following succeeds
            while not self._is_complete and self._n_copied < end:
                piece: bytes | None = self._stream.read(min(_PIECE_BYTES, end - self._n_copied))
                if piece is None:  # opened in non-blocking mode, and there is nothing yet
                    select.select([self._stream], [], [])
                    continue
                try:
                    self._file.seek(self._n_copied)
                    self._file.write(piece)
                    self._file.flush()
                except OSError as error:
                    raise self._keeping_error(error) from None
                self._n_copied += len(piece)
                self._is_complete = not piece
            self._has_failed = False

    def _make_file(self) -> IO[bytes]:
        """Make the file in which the bytes are kept."""
        import tempfile  # takes 5 ms, which a file on disk does not need

        try:
            return tempfile.TemporaryFile(prefix="cranfield-")
        except OSError as error:
            raise self._keeping_error(error) from None

    def _keeping_error(self, error: OSError) -> InputError:
        import tempfile

        return InputError(
            f"cannot be kept while it is read: {error.strerror or error}",
            source=self._name,
            hint="What comes from a pipe or a server is copied to a temporary file in "
            f"{tempfile.gettempdir()}: name a folder with more space, TMPDIR=/path, or save it "
            "in a file yourself.",
        )


class PipeReader(io.RawIOBase):
    """A file that reads from a pipe, starting at its first byte."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._position = 0

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def seekable(self) -> bool:
        """Whether any position can be sought."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte; return its offset. To count from the end, everything is copied first."""
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position}
        self._position = offset + (
            self._pipe.copy_all() if whence == os.SEEK_END else begin[whence]
        )
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Read into the buffer; return how many bytes were read."""
        n = self._pipe.read_into(memoryview(buffer).cast("B"), self._position)
        self._position += n
        return n
