"""URLs: Arrow's file systems for them, and the answers of web servers, for `Source`."""

import os
import re
from typing import Any

from cranfield.errors import InputError, escape_unprintable
from cranfield.version import __version__

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
WEB = re.compile(r"https?://", re.IGNORECASE)
_FILE = re.compile(r"file://(?:localhost)?(/[^?#]*)", re.IGNORECASE)
_TIMEOUT = 60  # seconds to wait for a web server's answer
_RETRY_LIMIT = "retry_limit_seconds"  # of Google's storage, which else tries for 15 minutes
SCHEMES = ("https://", "http://", "s3://", "gs://", "abfs://", "hdfs://", "hf://", "file://")


def without_secrets(url: str) -> str:
    """Return a URL without the user and password that it may hold."""
    return re.sub(r"^([A-Za-z][A-Za-z0-9+.-]+://)[^/@?]*@", r"\1", url)


def local_path(path: str) -> str:
    """Return the path of a file on this machine for its `file://` URL; else the path, or URL.

    Raises InputError for a null byte, which no file's name holds.

    >>> local_path("file:///runs/my%20run.csv"), local_path("a.run"), local_path("s3://bucket/a.run")
    ('/runs/my run.csv', 'a.run', 's3://bucket/a.run')
    """
    match, local = _FILE.match(path), path
    if match is not None:
        from urllib.parse import unquote

        local = unquote(match[1], errors="surrogateescape")
        local = local[1:] if os.name == "nt" and local[2:3] == ":" else local  # of /C:/a.run
    if "\0" in local:
        raise InputError("is no file's name: it holds a null byte", source=without_secrets(path))
    return local


def real_path(path: str) -> str:
    """Return the path of the file that a path or a `file://` URL leads to, without links."""
    return os.path.realpath(local_path(path))


def file_system(url: str) -> tuple[Any, str]:
    """Return Arrow's file system for a URL, and the path in it.

    Raises InputError if it cannot be opened; for an unknown scheme, or one for which a package is
    missing, a hint says what to do.
    """
    import pyarrow as pa
    from pyarrow import fs

    hint: str | None = "Or download the file, and give its path."
    try:
        uri = url
        if re.match("gc?s://", url, re.IGNORECASE) and _RETRY_LIMIT not in url:
            uri += f"{'&' if '?' in url else '?'}{_RETRY_LIMIT}={_TIMEOUT // 3}"
        system, path = fs.FileSystem.from_uri(uri)
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
    problem = f"cannot be opened: {escape_unprintable(str(reason).splitlines()[0], 300)}"
    raise InputError(problem, source=without_secrets(url), hint=hint)


class WebResponse:
    """A web server's answer to the request for a file.

    `name` is the URL without its secrets, for errors; InputError if the URL holds secrets.
    """

    def __init__(self, url: str, name: str) -> None:
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request, urlopen

        self._name = name
        if name != url:
            raise InputError(
                "cannot be read: it holds a user's name or a password",
                source=name,
                hint="Download the file, and give its path.",
            )
        try:
            request = Request(url, headers={"User-Agent": f"cranfield/{__version__}"})  # noqa: S310 - see WEB
            self._answer = urlopen(request, timeout=_TIMEOUT)  # noqa: S310 - the same
        except HTTPError as error:
            error.close()
            raise self._reading_error(f"the server says {error.code} {error.reason}") from None
        except (OSError, HTTPException, ValueError) as error:
            raise self._reading_error(str(getattr(error, "reason", error))) from None

    def read(self, n_bytes: int) -> bytes:
        """Return up to `n_bytes` bytes; none at the end. InputError if it ends too early."""
        from http.client import HTTPException

        try:
            piece: bytes = self._answer.read(n_bytes)
        except (OSError, HTTPException) as error:
            raise self._reading_error(str(error)) from None
        if not piece and self._answer.length:
            raise self._reading_error(f"the answer ends {self._answer.length:,} bytes too early")
        return piece

    def close(self) -> None:
        """Close the connection."""
        self._answer.close()

    def _reading_error(self, reason: str) -> InputError:
        return InputError(f"cannot be read: {escape_unprintable(reason, 300)}", source=self._name)
