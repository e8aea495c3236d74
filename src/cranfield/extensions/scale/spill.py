"""Spill: bytes that do not fit in memory, in a file without a name."""

import os
import shutil
import tempfile
import threading
from types import TracebackType
from typing import IO, Self

from cranfield.errors import InputError, OptionError
from cranfield.render.numbers import format_bytes

ByteSpan = tuple[int, int]  # where bytes begin in the file, and their number


class Spill:
    """A file without a name in a folder, to which bytes are written, and read in any order.

    Since it has no name, nothing remains of it however the process ends: its space is free again as
    soon as it is closed. (On Windows it has a name, and is deleted when it is closed.) One thread
    writes; several may read.

    Raises OptionError if no file can be created in the folder.

    >>> with Spill() as spill:
    ...     places = [spill.write(b"first"), spill.write(b"second")]
    ...     [spill.read(place) for place in places[::-1]]
    [b'second', b'first']
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = tempfile.gettempdir() if folder is None else os.fspath(folder)
        self.size = 0  # bytes written
        self._lock = threading.Lock()
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(  # noqa: SIM115 - closed by __exit__
                prefix="cranfield-", dir=self.folder, buffering=0
            )
        except OSError as error:
            reason = error.strerror or error
            raise OptionError(
                f"temp={self.folder!r} (--temp): no temporary file can be made there: {reason}"
            ) from None

    def write(self, payload: bytes) -> ByteSpan:
        """Append some bytes; return their span.

        Raises InputError, with the folder and its free space, if they cannot be written.
        """
        span = self.size, len(payload)
        remaining = memoryview(payload)
        try:
            while remaining:
                remaining = remaining[self._file.write(remaining) :]
        except OSError as error:
            raise self._writing_error(error) from None
        self.size += len(payload)
        return span

    def _writing_error(self, error: OSError) -> InputError:
        reason = error.strerror or str(error)
        try:
            free_space = f"; {format_bytes(shutil.disk_usage(self.folder).free)} are free"
        except OSError:
            free_space = ""
        return InputError(
            f"{reason}, after {format_bytes(self.size)} of temporary files{free_space}; they are "
            "removed",
            source=self.folder,
            hint="Rows are put into buckets, temporary files, which take a quarter to a half of "
            "the size of the input as text. Name a folder with more space, temp='/path' (--temp "
            "DIR), or evaluate in memory: buckets=1 (--buckets 1).",
        )

    def read(self, span: ByteSpan) -> bytes:
        """Return the bytes of a span; in any thread."""
        start, n_bytes = span
        if hasattr(os, "pread"):
            chunks, n_read = [], 0
            while n_read < n_bytes:  # one call returns 2 GB at most
                chunks.append(os.pread(self._file.fileno(), n_bytes - n_read, start + n_read))
                n_read += len(chunks[-1])
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)
        with self._lock:  # Windows
            end = self._file.seek(0, os.SEEK_CUR)
            self._file.seek(start)
            payload = self._file.read(n_bytes)
            self._file.seek(end)
        return payload

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
