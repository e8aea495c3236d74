"""Source: the bytes of a file, which can be read from the start as often as needed.

`open_to_write` opens a file to write, compressed as its name says.
"""

import contextlib
import errno
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, Any, TypeGuard, cast

from cranfield.errors import InputError, escape_unprintable
from cranfield.formats import compression
from cranfield.formats.compression import Unclosable, compress, decompress, detect_compression
from cranfield.formats.pipe import Pipe, PipeReader
from cranfield.formats.url import URL, WEB, WebResponse, file_system, local_path, without_secrets
from cranfield.progress import watch_reading
from cranfield.render.numbers import format_count

if TYPE_CHECKING:
    import pyarrow as pa

Path = str | os.PathLike[str]
File = Path | IO[Any]  # which may be open

_HANDLES = "/proc/self/fd"  # the open files of this process, on Linux

_ALWAYS_ALLOWED = 1 << 22  # decompressed bytes
_MOST_EXPANSION = 200  # decompressed bytes for each stored byte, beyond that

# The size of a file in bytes, when it was last modified, in nanoseconds, and its inode.
Version = tuple[int, int, int]


def is_handle(data: object) -> TypeGuard[IO[Any]]:
    """Tell whether the object is an open file, of bytes or text, or one in memory: a BytesIO."""
    return callable(getattr(data, "read", None))


def is_pipe(file: object) -> bool:
    """Tell whether bytes are read once: of the standard input, a pipe, a device, an open file."""
    if isinstance(file, Source) or not isinstance(file, str | os.PathLike):
        return is_handle(file)
    is_stored = os.path.isfile(file) or os.path.isdir(file) or not os.path.exists(file)
    return os.fspath(file) == "-" or not is_stored


class Source:
    """A file by its path or URL, or the standard input as `-`, or an open file; compressed or not.

    A URL is read by Arrow's file system for it (`s3://`, `gs://`, `hdfs://`, `hf://`), from a web
    server (`https://`, `http://`), or from this machine (`file://`). Bytes that can be read only
    once (a pipe, the standard input, a server's answer) are kept while they are read, so that an
    error found late can still show its line: see `Pipe`.

    All reads return the same bytes, also those of a copy: a file whose size or time of modification
    changes after it was first opened, or copied, or that is replaced, is an InputError. Of a file
    on an Arrow file system, only a change of size is seen.
    """

    def __init__(self, path: Any) -> None:
        file = path if is_handle(path) else os.fspath(path)
        name = getattr(file, "name", "") if is_handle(file) else file
        self.path = name if isinstance(name, str) else ""
        self.name = without_secrets(self.path) or "open file"
        self.name = "standard input" if file == "-" else self.name
        self._pipe = Pipe(partial(_open_once, file, self.name), self.name)
        self._is_pipe: bool | None = is_handle(file) or None  # None: not known yet
        self._version: Version | None = None  # the file's version when it was first opened

    def __fspath__(self) -> str:
        """Return the path: a source, which is read as often as needed, may stand for a file."""
        return self.path

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy, also one in another process, needs to read the same bytes.

        A pipe, or a web server's answer, is read to its end for this. The copy opens a file again,
        and raises an error if the file has changed.
        """
        state = dict(self.__dict__)
        if not self.is_url and self.path not in ("", "-"):
            state["path"] = os.path.abspath(self.path)
        with contextlib.suppress(OSError, ValueError):  # reading it will raise the error
            if self._is_read_once():
                return {**state, "_is_pipe": True}
            file_path = self._find_local_path()
            if self._version is None and file_path is not None:
                state["_version"] = _version_of(os.stat(file_path))
            if state["_version"] is not None:  # the inode differs on other machines
                state["_version"] = (*state["_version"][:2], 0)
        del state["_pipe"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"])  # type: ignore[misc] # sets the pipe, if the state has none
        self.__dict__.update(state)

    @property
    def size(self) -> int | None:
        """The number of stored bytes, None if it is unknown."""
        if self._is_pipe:
            return self._pipe.size
        try:
            status = os.stat(self._find_local_path() or "")
        except (InputError, OSError, ValueError):
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    @property
    def name_parts(self) -> tuple[str, str]:
        """The file's name without its suffix, and the suffix; both without that of compression."""
        path = self._find_local_path() or self.name.partition("?")[0]
        root, suffix = os.path.splitext(os.path.basename(path))
        return os.path.splitext(root) if suffix.lower() in compression.SUFFIXES else (root, suffix)

    @property
    def suffix(self) -> str:
        """The suffix of the format, in lower case: `.csv` for `a.CSV.gz`."""
        return self.name_parts[1].lower()

    @property
    def is_compressed(self) -> bool:
        """Whether the file's name says that it is compressed."""
        return os.path.splitext(local_path(self.path))[1].lower() in compression.SUFFIXES

    @property
    def is_url(self) -> bool:
        """Whether the path is a URL, also one of a file on this machine."""
        return URL.match(self.path) is not None

    def read_start(self, n_bytes: int) -> bytes:
        """Return the first `n_bytes` bytes, decompressed; fewer if there are no more."""
        beginning = b""
        with self.open() as stream:  # a buffer would wait for more of a pipe
            while len(beginning) < n_bytes and (piece := stream.read(n_bytes - len(beginning))):
                beginning += piece
        return beginning

    @contextlib.contextmanager
    def open(self, *, reports_progress: bool = False) -> Iterator[IO[bytes]]:
        """Open the bytes, decompressed; a broken or unreadable file is an InputError.

        `reports_progress`: every byte that is read is reported as progress.
        """
        with (
            watch_reading(self) if reports_progress else contextlib.nullcontext() as report_bytes,
            self._open_checked() as (stored_file, kind),
        ):
            stream = stored_file
            if report_bytes is not None:
                stream = cast(IO[bytes], Unclosable(stored_file, report_bytes))
            yield stream if kind is None else decompress(stream, kind)

    def refuse_expansion(self, n_bytes: int) -> None:
        """Raise InputError if `n_bytes` decompressed bytes are far more than the stored bytes."""
        if n_bytes <= _ALWAYS_ALLOWED:
            return
        n_stored = self._pipe.copy_all() if self._is_pipe else self.size
        if n_stored is not None and n_bytes > _MOST_EXPANSION * n_stored:
            raise InputError(
                f"is {n_bytes // n_stored:,} times as large as the {n_stored:,} bytes that are "
                "stored",
                source=self.name,
                hint="It may be meant to fill the memory. If it is right, decompress it.",
            )

    def digest(self) -> str | None:
        """Return the SHA-256 of the stored bytes; None if they can be read only once."""
        import hashlib

        with contextlib.suppress(InputError, OSError, ValueError):
            if self._is_read_once():
                return None
        with self._open_checked() as (stored_file, _):
            return hashlib.file_digest(stored_file, "sha256").hexdigest()  # type: ignore[arg-type]

    @contextlib.contextmanager
    def open_seekable(self) -> "Iterator[pa.NativeFile]":
        """Open the bytes, decompressed, for reading at any position."""
        import pyarrow as pa

        with self._open_checked() as (stored_file, kind):
            if kind is not None:
                import shutil
                import tempfile

                with tempfile.TemporaryFile(prefix="cranfield-") as copy:
                    shutil.copyfileobj(decompress(stored_file, kind), copy)
                    copy.seek(0)
                    yield pa.PythonFile(copy)
            elif isinstance(stored_file, pa.NativeFile):
                yield stored_file
            elif isinstance(stored_file, io.FileIO):
                # No memory map: reading where another program has cut the file off would end this
                # process.
                with pa.OSFile(path := str(stored_file.name)) as file:
                    if not os.path.samestat(os.stat(path), os.fstat(stored_file.fileno())):
                        raise self.changed_error()
                    yield file
            else:
                yield pa.PythonFile(stored_file)

    @contextlib.contextmanager
    def _open_checked(self) -> Iterator[tuple[IO[bytes], str | None]]:
        """Open the stored bytes; yield them with their compression, None if not compressed.

        Raises InputError if the file has changed, here or when the reading ends, or cannot be read.
        """
        try:
            with self._open_stored() as stored_file:
                version = _find_version(stored_file)
                if version and self._version and _differ(version, self._version):
                    raise self.changed_error()
                self._version = version
                start = stored_file.read(10)
                stored_file.seek(0)
                kind = detect_compression(start)
                try:
                    yield stored_file, kind
                except Exception:
                    if _find_version(stored_file) != version:  # the reason for any other error
                        raise self.changed_error() from None
                    raise
                if _find_version(stored_file) != version:
                    raise self.changed_error()
        except InputError:
            raise
        except (OSError, EOFError) as error:
            raise self._reading_error("cannot be read", error) from None
        except Exception as error:
            # zlib.error, lzma.LZMAError, ArrowInvalid: each decompressor has its own error.
            if type(error).__module__ not in {"zlib", "_lzma", "lzma", "pyarrow.lib"}:
                raise
            raise self._reading_error("cannot be decompressed", error) from None

    def _open_stored(self) -> IO[bytes]:
        """Open the stored bytes, wherever they are; InputError if that is impossible."""
        try:
            if self._is_read_once():
                return cast(IO[bytes], self._pipe.open())
            file_path = self._find_local_path()
            if file_path is not None:
                return open(file_path, "rb", buffering=0)
            system, path = file_system(self.path)
            return cast(IO[bytes], system.open_input_file(path))
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 - fsspec's file systems have their own errors
            raise self._reading_error("cannot be read", error) from None

    def _find_local_path(self) -> str | None:
        """Return the path of the file on this machine, None if it is not on this machine."""
        path = local_path(self.path)
        return None if URL.match(path) else path

    def _is_read_once(self) -> bool:
        """Tell whether the bytes can be read only once; raises InputError for a folder."""
        if self._is_pipe is None:
            file_path = self._find_local_path()
            if self.path == "-" or WEB.match(self.path):
                self._is_pipe = True
            elif file_path is None:
                self._is_pipe = False
            else:
                mode = os.stat(file_path).st_mode
                if stat.S_ISDIR(mode):
                    raise InputError("is a directory, not a file", source=self.name)
                self._is_pipe = not stat.S_ISREG(mode)
        return self._is_pipe

    def _reading_error(self, problem: str, error: Exception) -> InputError:
        """Return an InputError with the reason that another error gives."""
        reason = getattr(error, "strerror", None) or error
        return InputError(f"{problem}: {escape_unprintable(str(reason), 300)}", source=self.name)

    def changed_error(self) -> InputError:
        """Return the error for a file that has changed."""
        return InputError(
            "the file changed while it was read",
            source=self.name,
            hint="Wait until no program writes to it any more, and open it again.",
        )


def _find_version(file: IO[bytes]) -> Version | None:
    """Return the file's version, which changes if the file does; None if it is unknown."""
    if isinstance(file, io.FileIO):
        return _version_of(os.fstat(file.fileno()))
    if isinstance(file, PipeReader):
        return None
    return cast("pa.NativeFile", file).size(), 0, 0  # an object on a server


def _version_of(status: os.stat_result) -> Version:
    return status.st_size, status.st_mtime_ns, status.st_ino


def _differ(version: Version, first_version: Version) -> bool:
    """Tell whether a file has changed; an inode of 0 is that of another machine, and not known."""
    return version[:2] != first_version[:2] or first_version[2] not in (0, version[2])


def _open_once(path: Any, name: str) -> tuple[IO[bytes], Callable[[], None]]:
    """Open bytes that can be read only once; return them and a function to call at the end.

    An open file is read from its beginning, where that can be sought.
    """
    if is_handle(path):
        try:
            if getattr(path, "seekable", bool)():
                path.seek(0)
            is_text = isinstance(path.read(0), str)
            stream = io.BytesIO(path.read().encode("utf-8", "surrogateescape")) if is_text else path
        except ValueError as error:  # it is closed, or cannot be decoded
            raise InputError(f"cannot be read: {error}", source=name) from None
        return stream, lambda: None
    if path == "-":
        if sys.stdin is None:
            raise InputError("is closed", source=name)
        return sys.stdin.buffer, lambda: None
    if WEB.match(path):
        response = WebResponse(path, name)
        return cast(IO[bytes], response), response.close
    stream = open(path, "rb", buffering=0)  # noqa: SIM115 - closed at the end
    return stream, stream.close


def describe_sources(sources: Sequence[Source]) -> str | None:
    """Return the name in errors for the files of one table; None for data in memory."""
    if not sources:
        return None
    n_more = len(sources) - 1
    rest = f" (and {format_count(n_more, 'more file')})" if n_more else ""
    return f"{sources[0].name}{rest}"


@contextlib.contextmanager
def open_to_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write, compressed as its suffix says; `-` is the standard output.

    On this machine, a file appears only when all of it is written: an error leaves an existing file
    as it was.
    """
    path = local_path(os.fspath(path))
    suffix = os.path.splitext(path.partition("?")[0] if URL.match(path) else path)[1].lower()
    if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
        file_context = _open_copy(path)
    elif URL.match(path):
        file_context = _open_upload(path)
    else:
        file_context = _open_replacement(path)
    try:
        with file_context as stored_file, compress(stored_file, suffix) as stream:
            yield stream
    except InputError:
        raise
    except OSError as error:
        if path == "-" and isinstance(error, BrokenPipeError):
            raise  # the reader has closed the pipe: the command ends as other commands do
        reason = error.strerror or error
        raise InputError(f"cannot be written: {reason}", source=without_secrets(path)) from None


@contextlib.contextmanager
def _open_upload(url: str) -> Iterator[IO[bytes]]:
    """Open a file at a URL; Arrow's own compression by the suffix is off."""
    if WEB.match(url):
        raise InputError("cannot be written: it is a web page", source=without_secrets(url))
    system, path_in_system = file_system(url)
    with system.open_output_stream(path_in_system, compression=None) as stored_file:
        yield stored_file


@contextlib.contextmanager
def _open_copy(path: str) -> Iterator[IO[bytes]]:
    """Open a temporary file, and copy it at the end to the standard output, a pipe or a device.

    Bytes that are written there cannot be taken back.
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
def _open_replacement(path: str) -> Iterator[IO[bytes]]:
    """Open a file that replaces the file at `path` at the end.

    Until then it has no name, so that nothing remains of it however the process ends; or, on file
    systems where every file needs a name, it has another name in the same folder.
    """
    import secrets

    path = os.path.realpath(path)
    if os.path.exists(path) and not os.access(path, os.W_OK):  # as a shell's > refuses it
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".cranfield-{secrets.token_hex(8)}")
    descriptor = _open_nameless(folder)
    try:
        with open(temporary, "xb") if descriptor is None else open(descriptor, "w+b") as stream:
            yield stream
            stream.flush()
            if descriptor is not None:
                _give_name(stream, folder, temporary)
        if os.path.exists(path):
            os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _open_nameless(folder: str) -> int | None:
    """Open a new file without a name in a folder: its descriptor; None where that is impossible."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir(_HANDLES):
        with contextlib.suppress(OSError):
            return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    return None


def _give_name(file: IO[bytes], folder: str, path: str) -> None:
    """Give a file without a name the name `path`, in `folder`, or copy it there."""
    import shutil

    handle = os.open(folder, os.O_RDONLY)
    try:  # with a handle to the folder, Python follows the link that leads to the file
        os.link(f"{_HANDLES}/{file.fileno()}", os.path.basename(path), dst_dir_fd=handle)
    except OSError:  # this file system cannot name files later
        file.seek(0)
        with open(path, "xb") as file_copy:
            shutil.copyfileobj(file, file_copy)
    finally:
        os.close(handle)
