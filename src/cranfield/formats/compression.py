"""Compression: decompresses files by their first bytes, and compresses files by their names."""

import contextlib
import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import IO, Any, cast

SUFFIXES = {".gz", ".bz2", ".xz", ".zst", ".lz4"}
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
_BZ2_BLOCKS = {b"1AY&SY", b"\x17rE8P\x90"}  # the begin of a block, or of the end, behind BZh9


def detect_compression(start: bytes) -> str | None:
    """Return the compression of a file that begins with these ten bytes; None without one."""
    if start.startswith(b"BZh") and start[4:] in _BZ2_BLOCKS:  # text may begin with BZh, too
        return "bz2"
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)


class Unclosable(io.RawIOBase):
    """A file that its reader or writer cannot close; reports the number of bytes of each read."""

    def __init__(
        self, file: IO[bytes], report_bytes: Callable[[int], None] = lambda n: None
    ) -> None:
        self._file = file
        self._report_bytes = report_bytes

    def readable(self) -> bool:
        """Return True, for every file."""
        return True

    def writable(self) -> bool:
        """Return True, for every file."""
        return True

    def seekable(self) -> bool:
        """Return True, for every file."""
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a position, and return it."""
        return self._file.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        """Read into the buffer; return the number of bytes."""
        n: int = self._file.readinto(buffer)  # type: ignore[attr-defined] # a raw file has it
        self._report_bytes(n)
        return n

    def write(self, data: Any) -> int:
        """Write; return the number of bytes."""
        return self._file.write(data)


def decompress(file: IO[bytes], kind: str) -> IO[bytes]:
    """Return a decompressed view of a file; `kind` is what `detect_compression` returned."""
    if kind == "gzip":
        import gzip

        # It reads the zeros that may follow byte by byte.
        return cast(IO[bytes], gzip.open(io.BufferedReader(Unclosable(file))))
    if kind == "bz2":
        import bz2

        return cast(IO[bytes], bz2.open(file))
    if kind == "xz":
        import lzma

        return cast(IO[bytes], lzma.open(file))
    import pyarrow as pa

    # Its own read() leaks memory where the bytes cannot be decompressed.
    decompressor = pa.CompressedInputStream(pa.PythonFile(Unclosable(file), "r"), kind)
    return cast(IO[bytes], Unclosable(cast(IO[bytes], decompressor)))


def compress(file: Any, suffix: str) -> AbstractContextManager[Any]:
    """Return a context manager of a file to write, compressed if the suffix of its name says so."""
    if suffix == ".gz":
        import gzip

        return gzip.GzipFile("", "wb", 6, file, mtime=0)  # the same bytes every time
    if suffix == ".bz2":
        import bz2

        return bz2.BZ2File(file, "wb")
    if suffix == ".xz":
        import lzma

        return lzma.LZMAFile(file, "wb")
    if suffix in {".zst", ".lz4"}:
        import pyarrow as pa

        kind = "zstd" if suffix == ".zst" else "lz4"
        compressor: AbstractContextManager[Any] = pa.CompressedOutputStream(
            pa.PythonFile(Unclosable(file), "w"), kind
        )
        return compressor
    return contextlib.nullcontext(file)
