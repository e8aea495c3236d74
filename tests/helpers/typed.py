"""Commands as they are typed."""

from click.testing import CliRunner

from cranfield.cli import cli

QRELS, BM25, DENSE = "demo/qrels.txt", "demo/bm25.run", "demo/dense.run"


def refusal_text(*arguments: str) -> str:
    """Return what a command says that does nothing, on the standard error."""
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 2
    assert not done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr
