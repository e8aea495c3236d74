"""Source: bytes with a name, which can be read from the start as often as needed.

And the way back: `written` opens a file to be written, compressed as its name says.
"""

import contextlib
import io
import os
import re
import stat
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, cast

from cranfield.errors import InputError, printable

if TYPE_CHECKING:
    import pyarrow as pa

_COMPRESSED_SUFFIXES = {".gz", ".bz2", ".xz", ".zst", ".lz4"}
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
_BZ2_BLOCKS = {b"1AY&SY", b"\x17rE8P\x90"}
# What the end of a file's name says that the file holds.
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    **dict.fromkeys((".run", ".trec", ".qrels", ".txt", ".res"), "trec"),
}
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class Source:
    """A file by its path or URL, or the standard input as `-`; compressed or not.

    URLs are whatever Arrow's file systems open (`s3://`, `gs://`, `hdfs://`, `file://`). What can
    be read only once (a pipe, the standard input) is copied to a temporary file first, so that an
    error found late can still show its line.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.name = "standard input" if self.path == "-" else _without_secrets(self.path)
        self._copy: str | None = None
        self._lock = threading.Lock()

    @property
    def stem(self) -> str:
        """The file's name without what only says how it is stored: the name of a run."""
        if self.path == "-":
            return "stdin"
        name = os.path.basename(self.name.partition("?")[0] if self.is_url else self.path)
        root, suffix = os.path.splitext(name)
        if suffix.lower() in _COMPRESSED_SUFFIXES:
            name = root
        root, suffix = os.path.splitext(name)
        return root if suffix.lower() in SUFFIXES and root else name

    @property
    def size(self) -> int | None:
        """How many bytes are stored, None where that is not known."""
        if self.is_url:
            return None
        try:
            status = os.stat(self._copy or self.path)
        except OSError:
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    @property
    def suffix(self) -> str:
        """The end of the name that says what the file is, in lower case: `.csv` of `a.CSV.gz`."""
        root, suffix = os.path.splitext(self.path.partition("?")[0] if self.is_url else self.path)
        if suffix.lower() in _COMPRESSED_SUFFIXES:
            suffix = os.path.splitext(root)[1]
        return suffix.lower()

    @property
    def is_url(self) -> bool:
        """Whether it is read by one of Arrow's file systems."""
        return _URL.match(self.path) is not None

    def start(self, n_bytes: int) -> bytes:
        """Return the first so many bytes, decompressed."""
        found = b""
        with self.open() as stream:
            while len(found) < n_bytes and (piece := stream.read(n_bytes - len(found))):
                found += piece
        return found

    @contextlib.contextmanager
    def seekable(self, *, mapped: bool = False) -> "Iterator[pa.NativeFile]":
        """Open the bytes, decompressed, for reading anywhere in them.

        `mapped`: as a map of the file, if that can be: what is read is then not copied.
        """
        import tempfile

        import pyarrow as pa

        copy = None
        with self.open() as stream:
            # Not decompressed: then it is read from where it is.
            if not isinstance(stream, io.FileIO | pa.NativeFile):
                import shutil

                copy = tempfile.TemporaryFile(prefix="cranfield-")  # noqa: SIM115 - closed below
                shutil.copyfileobj(stream, copy)
                copy.seek(0)
        if copy is not None:
            with copy:
                yield pa.PythonFile(copy)
        elif self.is_url:
            with cast("pa.NativeFile", self._open_url()) as file:
                yield file
        else:
            path = self._copy or self.path
            with pa.memory_map(path) if mapped else pa.OSFile(path) as file:
                yield file

    def _open_stored(self) -> IO[bytes]:
        """Open the bytes as they are stored."""
        if self.is_url:
            return self._open_url()
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

    def _open_url(self) -> IO[bytes]:
        import pyarrow as pa
        from pyarrow import fs

        try:
            system, path = fs.FileSystem.from_uri(self.path)
            return cast(IO[bytes], system.open_input_file(path))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._broken("cannot be read", error) from None

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
            raise self._broken("cannot be read", error) from None
        except Exception as error:
            # zlib.error, lzma.LZMAError, ArrowInvalid: each decompressor has an error of its own.
            if type(error).__module__ not in {"zlib", "_lzma", "lzma", "pyarrow.lib"}:
                raise
            raise self._broken("cannot be decompressed", error) from None

    def _broken(self, problem: str, error: Exception) -> InputError:
        return InputError(f"{problem}: {printable(str(error), 300)}", source=self.name)

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


def named(sources: Sequence[Source]) -> str | None:
    """Return what errors call some files that are one table; None for data in memory."""
    if not sources:
        return None
    n_more = len(sources) - 1
    more = "" if n_more == 0 else f" (and {n_more:,} more {'file' if n_more == 1 else 'files'})"
    return f"{sources[0].name}{more}"


def _without_secrets(url: str) -> str:
    """Return a URL without the user and password that it may hold."""
    return re.sub(r"^([A-Za-z][A-Za-z0-9+.-]+://)[^/@?]*@", r"\1", url)


@contextlib.contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file to be written, compressed as its suffix says; `-` is the standard output.

    What is written stands there only when all of it is: an error leaves what was there before.
    """
    path = os.fspath(path)
    try:
        if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
            with _at_once(path) as stored, _compressed(stored, path) as stream:
                yield stream
        elif _URL.match(path):
            from pyarrow import fs

            system, place = fs.FileSystem.from_uri(path)
            with (
                system.open_output_stream(place, compression=None) as stored,
                _compressed(cast(IO[bytes], stored), path) as stream,
            ):
                yield stream
        else:
            with _replacing(path) as stored, _compressed(stored, path) as stream:
                yield stream
    except InputError:
        raise
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"cannot be written: {reason}", source=_without_secrets(path)) from None


@contextlib.contextmanager
def _at_once(path: str) -> Iterator[IO[bytes]]:
    """Write to a temporary file, and copy it to the standard output, a pipe or a device in the end.

    What is written there cannot be taken back.
    """
    import shutil
    import tempfile

    if os.path.isdir(path):
        raise InputError("cannot be written: it is a directory", source=path)
    with tempfile.TemporaryFile(prefix="cranfield-") as copy:
        yield copy
        copy.seek(0)
        if path == "-":
            shutil.copyfileobj(copy, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        else:
            with open(path, "wb") as target:
                shutil.copyfileobj(copy, target)


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[IO[bytes]]:
    """Open a file beside `path`, which takes its place in the end."""
    import secrets

    path = os.path.realpath(path)
    beside = os.path.join(os.path.dirname(path), f".cranfield-{secrets.token_hex(8)}")
    try:
        with open(beside, "xb") as stream:
            yield stream
        if os.path.exists(path):
            os.chmod(beside, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(beside, path)
    except BaseException:
        _remove(beside)
        raise


@contextlib.contextmanager
def _compressed(stored: IO[bytes], path: str) -> Iterator[IO[bytes]]:
    """Compress what is written, if the path's suffix says so."""
    suffix = os.path.splitext(path.partition("?")[0] if _URL.match(path) else path)[1].lower()
    if suffix == ".gz":
        import gzip

        with gzip.GzipFile("", "wb", 6, stored, mtime=0) as packed:  # the same bytes every time
            yield cast(IO[bytes], packed)
    elif suffix == ".bz2":
        import bz2

        with bz2.open(stored, "wb") as packed_bz2:
            yield cast(IO[bytes], packed_bz2)
    elif suffix == ".xz":
        import lzma

        with lzma.open(stored, "wb") as packed_xz:
            yield cast(IO[bytes], packed_xz)
    elif suffix in {".zst", ".lz4"}:
        import pyarrow as pa

        codec = "zstd" if suffix == ".zst" else "lz4"
        target = pa.PythonFile(_KeptOpen(stored), "w")
        with pa.CompressedOutputStream(target, codec) as packed_arrow:
            yield cast(IO[bytes], packed_arrow)
    else:
        yield stored


class _KeptOpen:
    """A file to write into that whoever writes cannot close."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self.write = file.write
        self.flush = file.flush

    def close(self) -> None:
        self.closed = True

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


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

    # Its own read() loses the memory that it was to fill, where the bytes cannot be decompressed.
    unpacked = pa.CompressedInputStream(pa.PythonFile(stored), kind)
    return cast(IO[bytes], _Heard(cast(IO[bytes], unpacked), lambda n: None))
