"""Source: bytes with a name, which can be read from the start as often as needed."""

import contextlib
import io
import os
import stat
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

from cranfield.errors import InputError

_COMPRESSED_SUFFIXES = {".gz", ".bz2", ".xz", ".zst", ".lz4"}
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
_BZ2_BLOCKS = {b"1AY&SY", b"\x17rE8P\x90"}
_RUN_SUFFIXES = {".run", ".txt", ".trec", ".res", ".tsv"}


class Source:
    """A file by its path, or the standard input as `-`; compressed or not.

    What can be read only once (a pipe, the standard input) is copied to a temporary file first,
    so that an error found late can still show its line.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.name = "standard input" if self.path == "-" else self.path
        self._copy: str | None = None
        self._lock = threading.Lock()

    @property
    def stem(self) -> str:
        """The file's name without what only says how it is stored: the name of a run."""
        if self.path == "-":
            return "stdin"
        name = os.path.basename(self.path)
        root, suffix = os.path.splitext(name)
        if suffix.lower() in _COMPRESSED_SUFFIXES:
            name = root
        root, suffix = os.path.splitext(name)
        return root if suffix.lower() in _RUN_SUFFIXES and root else name

    @property
    def size(self) -> int | None:
        """How many bytes are stored, None where that is not known."""
        try:
            status = os.stat(self._copy or self.path)
        except OSError:
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def _open_stored(self) -> IO[bytes]:
        """Open the bytes as they are stored."""
        with self._lock:
            try:
                if self._copy is None and self._read_once():
                    self._copy = self._to_temporary_file()
                return open(self._copy or self.path, "rb", buffering=0)
            except InputError:
                raise
            except (OSError, ValueError) as error:  # ValueError: a null byte in the path
                reason = getattr(error, "strerror", None) or error
                raise InputError(f"cannot be read: {reason}", source=self.name) from None

    @contextlib.contextmanager
    def open(self, progress: Callable[[int], None] | None = None) -> Iterator[IO[bytes]]:
        """Open the bytes, decompressed; a broken or unreadable file is an InputError.

        `progress` hears how many of the stored bytes were read, whenever some were.
        """
        try:
            with self._open_stored() as stored:
                start = stored.read(10)
                stored.seek(0)
                heard = stored if progress is None else cast(IO[bytes], _Heard(stored, progress))
                kind = next((k for m, k in _MAGIC.items() if start.startswith(m)), None)
                if start.startswith(b"BZh") and start[4:] in _BZ2_BLOCKS:  # text may begin so, too
                    kind = "bz2"
                yield heard if kind is None else _decompressed(heard, kind)
        except InputError:
            raise
        except (OSError, EOFError) as error:
            raise InputError(f"cannot be read: {error}", source=self.name) from None
        except Exception as error:
            # zlib.error, lzma.LZMAError: each decompressor has an error of its own.
            if type(error).__module__ not in {"zlib", "_lzma", "lzma"}:
                raise
            raise InputError(f"cannot be decompressed: {error}", source=self.name) from None

    def _read_once(self) -> bool:
        return self.path == "-" or not stat.S_ISREG(os.stat(self.path).st_mode)

    def _to_temporary_file(self) -> str:
        if self.path != "-" and stat.S_ISDIR(os.stat(self.path).st_mode):
            raise InputError("is a directory, not a file", source=self.name)
        import shutil
        import tempfile

        if self.path == "-" and sys.stdin is None:
            raise InputError("is closed", source=self.name)

        handle, copy = tempfile.mkstemp(prefix="cranfield-")
        weakref.finalize(self, _remove, copy)
        with os.fdopen(handle, "wb") as target:
            if self.path == "-":
                shutil.copyfileobj(sys.stdin.buffer, target)
            else:
                with open(self.path, "rb") as pipe:
                    shutil.copyfileobj(pipe, target)
        return copy


class _Heard(io.RawIOBase):
    """A file that tells how many bytes are read from it."""

    def __init__(self, file: IO[bytes], hear: Callable[[int], None]) -> None:
        self._file = file
        self._hear = hear

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        n: int = self._file.readinto(buffer)  # type: ignore[attr-defined] # a raw file has it
        self._hear(n)
        return n


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _decompressed(stored: IO[bytes], kind: str) -> IO[bytes]:
    if kind == "gzip":
        import gzip

        return cast(IO[bytes], gzip.open(stored))
    if kind == "bz2":
        import bz2

        return cast(IO[bytes], bz2.open(stored))
    if kind == "xz":
        import lzma

        return cast(IO[bytes], lzma.open(stored))
    import pyarrow as pa

    return cast(IO[bytes], pa.CompressedInputStream(pa.PythonFile(stored), kind))
