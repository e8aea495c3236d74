"""Commands as they are typed."""

from click.testing import CliRunner

from cranfield.cli import cli

QRELS, BM25, DENSE = "demo/qrels.txt", "demo/bm25.run", "demo/dense.run"


def refusal_text(*arguments: str) -> str:
    """Return what a command says that does nothing, on the standard error."""
    invocation = CliRunner().invoke(cli, arguments)
    assert invocation.exit_code == 2
    assert not invocation.stdout
    assert "Traceback" not in invocation.stderr
    return invocation.stderr
