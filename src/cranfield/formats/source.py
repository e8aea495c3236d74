"""Source: bytes with a name, which can be read from the start as often as needed.

And the way back: `written` opens a file to be written, compressed as its name says.
"""

import contextlib
import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, Any, cast

from cranfield.errors import InputError, printable
from cranfield.formats.pipe import Pipe, PipeReader
from cranfield.render.numbers import number_of
from cranfield.version import __version__

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
_WEB = re.compile(r"https?://", re.IGNORECASE)
_PATIENCE = 60  # seconds without an answer, after which a web server is taken to give none
_HANDLES = "/proc/self/fd"  # the open files of this process, on Linux
SCHEMES = ("https://", "http://", "s3://", "gs://", "abfs://", "hdfs://", "hf://", "file://")

# The size of a file in bytes, when it was last modified, in nanoseconds, and its inode.
Version = tuple[int, int, int]


class Source:
    """A file by its path or URL, or the standard input as `-`; compressed or not.

    A URL is read by whatever file system Arrow has for it (`s3://`, `gs://`, `hdfs://`, `file://`,
    `hf://`), or from a web server (`https://`, `http://`). What can be read only once (a pipe, the
    standard input, an answer of a server) is kept while it is read, so that an error found late can
    still show its line: see `Pipe`.

    Every reading is of the same bytes, also by a copy: a file whose size or time of modification
    changes after it was first opened, or copied, or that another takes the place of, is an
    InputError.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.name = "standard input" if self.path == "-" else _without_secrets(self.path)
        self._pipe = Pipe(partial(_begin, self.path, self.name), self.name)
        self._is_pipe: bool | None = None  # None: that is not known yet
        self._version: Version | None = None  # of the file, when it was opened first

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy, also one in another process, needs to read the same bytes.

        A pipe, or a web server's answer, is read to its end for it; a file is opened anew, wherever
        the copy is, and refused if it is another than it is now.
        """
        state = dict(self.__dict__)
        if not self.is_url and self.path != "-":
            state["path"] = os.path.abspath(self.path)
        with contextlib.suppress(OSError, ValueError):  # reading it will say why it cannot be
            if self._comes_once():
                return {**state, "_is_pipe": True}
            place = self._place()
            if self._version is None and place is not None:
                state["_version"] = _version_of(os.stat(place))
            if state["_version"] is not None:  # the number of the file is another elsewhere
                state["_version"] = (*state["_version"][:2], 0)
        del state["_pipe"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"])  # type: ignore[misc] # the pipe, if the state has none
        self.__dict__.update(state)

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
        if self._is_pipe:
            return self._pipe.size
        try:
            status = os.stat(self._place() or "")
        except (InputError, OSError, ValueError):
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
        """Whether it is read by one of Arrow's file systems, or from a web server."""
        return _URL.match(self.path) is not None

    def start(self, n_bytes: int) -> bytes:
        """Return the first so many bytes, decompressed."""
        found = b""
        with self.open() as stream:
            while len(found) < n_bytes and (piece := stream.read(n_bytes - len(found))):
                found += piece
        return found

    @contextlib.contextmanager
    def open(self, progress: Callable[[int], None] | None = None) -> Iterator[IO[bytes]]:
        """Open the bytes, decompressed; a broken or unreadable file is an InputError.

        `progress` hears how many of the stored bytes were read, whenever some were.
        """
        with self._stored() as (stored, kind):
            heard = stored if progress is None else cast(IO[bytes], _Heard(stored, progress))
            yield heard if kind is None else _decompressed(heard, kind)

    @contextlib.contextmanager
    def seekable(self) -> "Iterator[pa.NativeFile]":
        """Open the bytes, decompressed, for reading anywhere in them."""
        import pyarrow as pa

        with self._stored() as (stored, kind):
            if kind is not None:
                import shutil
                import tempfile

                with tempfile.TemporaryFile(prefix="cranfield-") as copy:
                    shutil.copyfileobj(_decompressed(stored, kind), copy)
                    copy.seek(0)
                    yield pa.PythonFile(copy)
            elif isinstance(stored, pa.NativeFile):
                yield stored
            elif isinstance(stored, io.FileIO):
                # No map of the file: reading where another program has cut it off would end this
                # process.
                with pa.OSFile(path := str(stored.name)) as file:
                    if not os.path.samestat(os.stat(path), os.fstat(stored.fileno())):
                        raise self.changed()
                    yield file
            else:
                yield pa.PythonFile(stored)

    @contextlib.contextmanager
    def _stored(self) -> Iterator[tuple[IO[bytes], str | None]]:
        """Open the bytes as they are stored; say how they are compressed, None if they are not.

        Raises InputError if the file is another than it was, here or when the reading ends.
        """
        try:
            with self._open_stored() as stored:
                found = _version(stored)
                if found is not None and _is_another(found, self._version or found):
                    raise self.changed()
                self._version = found
                start = stored.read(10)
                stored.seek(0)
                kind = next((k for m, k in _MAGIC.items() if start.startswith(m)), None)
                if start.startswith(b"BZh") and start[4:] in _BZ2_BLOCKS:  # text may begin so, too
                    kind = "bz2"
                try:
                    yield stored, kind
                except Exception:
                    if _version(stored) != found:  # which is the reason for whatever was found
                        raise self.changed() from None
                    raise
                if _version(stored) != found:
                    raise self.changed()
        except InputError:
            raise
        except (OSError, EOFError) as error:
            raise self._broken("cannot be read", error) from None
        except Exception as error:
            # zlib.error, lzma.LZMAError, ArrowInvalid: each decompressor has an error of its own.
            if type(error).__module__ not in {"zlib", "_lzma", "lzma", "pyarrow.lib"}:
                raise
            raise self._broken("cannot be decompressed", error) from None

    def _open_stored(self) -> IO[bytes]:
        """Open the bytes as they are stored."""
        try:
            if self._comes_once():
                return cast(IO[bytes], self._pipe.open())
            place = self._place()
            if place is not None:
                return open(place, "rb", buffering=0)
        except InputError:
            raise
        except (OSError, ValueError) as error:  # ValueError: a null byte in the path
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"cannot be read: {reason}", source=self.name) from None
        return self._open_url()

    def _open_url(self) -> IO[bytes]:
        system, path = file_system(self.path)
        try:
            return cast(IO[bytes], system.open_input_file(path))
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 - those of fsspec have errors of their own
            raise self._broken("cannot be read", error) from None

    def _place(self) -> str | None:
        """Return the path of the file on this machine, None if it is not on this machine."""
        if not self.is_url:
            return self.path
        if self.path.lower().startswith("file:"):
            return file_system(self.path)[1]
        return None

    def _comes_once(self) -> bool:
        """Tell whether the bytes can be read only once."""
        if self._is_pipe is None:
            place = self._place()
            if self.path == "-" or _WEB.match(self.path):
                self._is_pipe = True
            elif place is None:
                self._is_pipe = False
            else:
                mode = os.stat(place).st_mode
                if stat.S_ISDIR(mode):
                    raise InputError("is a directory, not a file", source=self.name)
                self._is_pipe = not stat.S_ISREG(mode)
        return self._is_pipe

    def _broken(self, problem: str, error: Exception) -> InputError:
        return InputError(f"{problem}: {printable(str(error), 300)}", source=self.name)

    def changed(self) -> InputError:
        """Return the error of a file that is another than it was."""
        return InputError(
            "the file changed while it was read",
            source=self.name,
            hint="Wait until no program writes to it any more, and open it anew.",
        )


def _version(file: IO[bytes]) -> Version | None:
    """Return what changes if the file that is read changes, None if that cannot be known."""
    if isinstance(file, io.FileIO):
        return _version_of(os.fstat(file.fileno()))
    if isinstance(file, PipeReader):
        return None
    return cast("pa.NativeFile", file).size(), 0, 0  # an object on a server


def _is_another(found: Version, known: Version) -> bool:
    return found[:2] != known[:2] or (known[2] != 0 and found[2] != known[2])


def _version_of(status: os.stat_result) -> Version:
    return status.st_size, status.st_mtime_ns, status.st_ino


def _begin(path: str, name: str) -> tuple[IO[bytes], Callable[[], None]]:
    """Open what can be read only once; return it and what to call in the end."""
    if path == "-":
        if sys.stdin is None:
            raise InputError("is closed", source=name)
        return sys.stdin.buffer, lambda: None
    if _WEB.match(path):
        answer = _Answer(path, name)
        return cast(IO[bytes], answer), answer.close
    stream = open(path, "rb", buffering=0)  # noqa: SIM115 - closed in the end
    return stream, stream.close


def file_system(url: str) -> tuple[Any, str]:
    """Return the file system that Arrow has for a URL, and the path there.

    Raises InputError if there is none, with what to install or to do.
    """
    import pyarrow as pa
    from pyarrow import fs

    hint: str | None = "Or download the file, and name that."
    try:
        system, path = fs.FileSystem.from_uri(url)
        return system, path
    except ImportError as error:
        reason: Exception = error
        hint = f"To install it: pip install fsspec huggingface_hub. {hint}"
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = error
        if "Unrecognized" in str(error):
            hint = f"These are read: {', '.join(SCHEMES)}. {hint}"
        else:
            hint = None
    problem = f"cannot be opened: {printable(str(reason).splitlines()[0], 300)}"
    raise InputError(problem, source=_without_secrets(url), hint=hint)


class _Answer:
    """What a web server answers to the request for a file."""

    def __init__(self, url: str, name: str) -> None:
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request, urlopen

        self._name = name
        if name != url:
            raise InputError(
                "cannot be read: it holds a user's name or a password",
                source=name,
                hint="Download the file, and name that.",
            )
        try:
            request = Request(url, headers={"User-Agent": f"cranfield/{__version__}"})  # noqa: S310 - see _WEB
            self._answer = urlopen(request, timeout=_PATIENCE)  # noqa: S310 - the same
        except HTTPError as error:
            error.close()
            raise self._broken(f"the server says {error.code} {error.reason}") from None
        except (OSError, HTTPException, ValueError) as error:
            raise self._broken(str(getattr(error, "reason", error))) from None

    def read(self, n_bytes: int) -> bytes:
        from http.client import HTTPException

        try:
            piece: bytes = self._answer.read(n_bytes)
        except (OSError, HTTPException) as error:
            raise self._broken(str(error)) from None
        if not piece and self._answer.length:
            raise self._broken(f"the answer ends {self._answer.length:,} bytes too early")
        return piece

    def close(self) -> None:
        self._answer.close()

    def _broken(self, reason: str) -> InputError:
        return InputError(f"cannot be read: {printable(reason, 300)}", source=self._name)


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
    more = f" (and {number_of(n_more, 'more file')})" if n_more else ""
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
            if _WEB.match(path):
                raise InputError("cannot be written: it is a web page", source=path)
            system, place = file_system(path)
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
    """Open a file that takes the place of `path` in the end.

    Until then it has no name, so that nothing is left of it however the process ends; or, on file
    systems where every file has one, another name beside `path`.
    """
    import secrets

    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    beside = os.path.join(folder, f".cranfield-{secrets.token_hex(8)}")
    nameless = _nameless(folder)
    try:
        with open(beside, "xb") if nameless is None else open(nameless, "w+b") as stream:
            yield stream
            stream.flush()
            if nameless is not None:
                _give_name(stream, folder, beside)
        if os.path.exists(path):
            os.chmod(beside, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(beside, path)
    except BaseException:
        _remove(beside)
        raise


def _nameless(folder: str) -> int | None:
    """Open a new file without a name; None where there can be none."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir(_HANDLES):
        with contextlib.suppress(OSError):
            return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    return None


def _give_name(file: IO[bytes], folder: str, path: str) -> None:
    """Give a file without a name one in `folder`."""
    import shutil

    handle = os.open(folder, os.O_RDONLY)
    try:  # with a handle of the folder, Python follows the link that leads to the file
        os.link(f"{_HANDLES}/{file.fileno()}", os.path.basename(path), dst_dir_fd=handle)
    except OSError:  # this file system makes files without a name, but gives them none
        file.seek(0)
        with open(path, "xb") as named:
            shutil.copyfileobj(file, named)
    finally:
        os.close(handle)


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

        # It asks for the zeros that may follow byte by byte; what holds them ready for it closes
        # what it reads from: here that is not the file.
        ready = io.BufferedReader(_Heard(stored, lambda n: None), io.DEFAULT_BUFFER_SIZE)
        return cast(IO[bytes], gzip.open(ready))
    if kind == "bz2":
        import bz2

        return cast(IO[bytes], bz2.open(stored))
    if kind == "xz":
        import lzma

        return cast(IO[bytes], lzma.open(stored))
    import pyarrow as pa

    # It closes what it reads from: here that is not the file. Its own read() loses the memory that
    # it was to fill, where the bytes cannot be decompressed.
    kept_open = _Heard(stored, lambda n: None)
    unpacked = pa.CompressedInputStream(pa.PythonFile(kept_open), kind)
    return cast(IO[bytes], _Heard(cast(IO[bytes], unpacked), lambda n: None))
