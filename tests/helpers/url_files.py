"""File URLs of a run, in several spellings."""

from pathlib import Path

RUN_TEXT = "q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\n"


def spellings(path: Path) -> list[str]:
    """Return the URLs that name a file of this machine."""
    url = path.as_uri()
    encoded_url = url.replace("file://", "FILE://LocalHost").replace("run", "%72un")
    return [url, url.replace("file://", "file://localhost"), encoded_url]
