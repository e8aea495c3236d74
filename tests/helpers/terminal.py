"""A terminal for a command that runs in this process."""

import contextlib
import io
import os
import pty
import struct
import termios
import threading
from fcntl import ioctl
from pathlib import Path

import pytest
from transcripts import erase_progress

from helpers.commands import call_main


def run_on_terminal(
    *arguments: str, columns: int = 100, cwd: Path | None = None
) -> tuple[int, str]:
    """Run cranfield on a terminal, as `transcripts.run_on_pty` does, but in this process."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    terminal_bytes = bytearray()

    def read() -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while chunk := os.read(master, 65536):
                terminal_bytes.extend(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))  # else click asks the terminal of the tests
        output = [os.fdopen(os.dup(slave), "w", 1, "utf-8") for _ in range(2)]
        os.close(slave)
        try:
            with output[0], output[1]:
                stdin = io.TextIOWrapper(io.BytesIO(), "utf-8")
                status = call_main(*arguments, streams=[stdin, *output], cwd=cwd)
        finally:
            reader.join()
            os.close(master)
    return status, erase_progress(bytes(terminal_bytes))
