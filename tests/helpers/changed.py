"""Which files of the repository a change touches, as git tells."""

import subprocess
from pathlib import Path


def changed_files(root: Path) -> set[Path] | None:
    """Return the files that this branch changed since it left `main`, and files new to git.

    None where git cannot tell: without git, without the repository, without such a branch.
    """
    for branch in ("origin/main", "main"):
        base = _git(root, "merge-base", "HEAD", branch)
        if base is not None:
            break
    else:
        return None
    file_lists = (
        _git(root, "diff", "--name-only", base.strip()),
        _git(root, "ls-files", "--others", "--exclude-standard"),
    )
    if None in file_lists:
        return None
    return {root / name for names in file_lists for name in (names or "").splitlines()}


def _git(root: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(root), *arguments]
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return process.stdout if process.returncode == 0 else None
