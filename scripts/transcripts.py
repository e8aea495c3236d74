"""The commands on the pages, run on a terminal; writes what they print into the pages.

`python scripts/make_docs.py --transcripts` writes the output of each command again; the tests
compare the pages with it.
"""

import errno
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterable, Iterator
from fcntl import ioctl
from pathlib import Path
from typing import NamedTuple

N_COLUMNS = 80
SHARED_FOLDERS = ("dl19/", "microblog2014/")  # folders of the shared data
CUT_LINE = "..."  # a line of a page, in place of lines that it leaves out
# The progress bar, on a machine that takes longer than a second; erased at the end.
_BAR = re.compile("\x1b\\[\\?25l.*?\x1b\\[\\?25h\r\x1b\\[1A\x1b\\[2K", re.S)
_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.S | re.M)


class PageCommand(NamedTuple):
    """A command of a page, with its output on the page."""

    command: str
    output: str

    @property
    def words(self) -> list[str]:
        """The arguments of the command, which must be cranfield."""
        program, *words = shlex.split(self.command)
        if program != "cranfield":
            raise ValueError(f"{self.command}: only cranfield is run")
        return words

    @property
    def reads_shared_data(self) -> bool:
        """Whether it reads the shared data, not the demonstration."""
        return any(word.startswith(SHARED_FOLDERS) for word in self.words)

    def run(self, folder: Path) -> str:
        """Return what the command prints on a terminal, in a folder, as the page shows it."""
        arguments = [
            str(path.relative_to(folder)) if "*" in word else word
            for word in self.words
            for path in (sorted(folder.glob(word)) if "*" in word else [Path()])
        ]
        printed_text = remove_colours(
            run_on_pty(*arguments, columns=N_COLUMNS, cwd=folder)[1]
        ).rstrip()
        return cut_output(printed_text, self.output)


def cut_output(printed_text: str, shown_text: str) -> str:
    """Return what a command prints, cut as the page shows it.

    Where the page has a line `...`, it has as many lines before the first one and after the last
    one as now; of the lines between two of them, those that are printed still.
    """
    first_part, *later_parts = f"\n{shown_text.rstrip()}\n".split(f"\n{CUT_LINE}\n")
    if not later_parts:
        return printed_text
    lines, last_part = printed_text.split("\n"), later_parts.pop()
    page_lines = [CUT_LINE]
    for part in later_parts:
        page_lines += [part, CUT_LINE] if f"\n{part}\n" in f"\n{printed_text}\n" else []
    n_first_lines, n_last_lines = first_part.count("\n"), last_part.count("\n")
    return "\n".join([*lines[:n_first_lines], *page_lines, *lines[len(lines) - n_last_lines :]])


def run_on_pty(
    *arguments: str, columns: int = N_COLUMNS, cwd: Path | None = None
) -> tuple[int, str]:
    """Run cranfield on a terminal with `columns` columns; return its status and its output."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(  # noqa: S603 - this package
        [sys.executable, "-m", "cranfield", *arguments], stdout=slave, stderr=slave, cwd=cwd
    )
    os.close(slave)
    output = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError as error:
            if error.errno != errno.EIO:  # the error on Linux if the other end is closed
                raise
            break
        if not chunk:
            break
        output += chunk
    os.close(master)
    return process.wait(60), erase_progress(output)


def erase_progress(output: bytes) -> str:
    """Return what stays on a terminal of what was written to it: all but the progress bar."""
    return _BAR.sub("", output.decode().replace("\r\n", "\n"))


def remove_colours(text: str) -> str:
    """Return text without a terminal's colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def _split_commands(block: str) -> Iterator[PageCommand]:
    for part in block.split("$ ")[1:]:
        command, _, output = part.partition("\n")
        yield PageCommand(command, output)


def find_commands(page: str) -> list[PageCommand]:
    """Return the commands in the console blocks of a page's text."""
    return [command for block in _BLOCK.findall(page) for command in _split_commands(block)]


def rewrite_page(page: str, demo_folder: Path, shared_folder: Path | None) -> str:
    """Return a page's text with the present output of its commands, each run in its folder.

    Without a folder of shared data, commands on it are left unchanged.
    """

    def run_again(command: PageCommand) -> str:
        folder = shared_folder if command.reads_shared_data else demo_folder
        if folder is None:
            return f"$ {command.command}\n{command.output}"
        printed_text = command.run(folder)
        blank = "\n" * (command.output.endswith("\n\n"))  # before the next command
        return (
            f"$ {command.command}\n{printed_text}\n{blank}"
            if printed_text
            else f"$ {command.command}\n"
        )

    def rewrite_block(match: re.Match[str]) -> str:
        return "".join(map(run_again, _split_commands(match[0])))

    return _BLOCK.sub(rewrite_block, page)


def rewrite_pages(pages: Iterable[Path]) -> Iterator[Path]:
    """Write the output of their commands into pages; yield those that changed."""
    from cranfield import demo  # here, as tests of the core use the rest of this file

    data_folder = os.environ.get("CRANFIELD_DATA")
    with tempfile.TemporaryDirectory() as folder:
        demo.save(Path(folder) / "demo")
        for path in pages:
            old_text = path.read_text("utf-8")
            new_text = rewrite_page(
                old_text, Path(folder), Path(data_folder) if data_folder else None
            )
            if new_text != old_text:
                path.write_text(new_text, "utf-8")
                yield path
