"""`cranfield demo`."""

from pathlib import Path

import click

from cranfield import demo
from cranfield.cli import flags
from cranfield.cli.terminal import Format, echo, show
from cranfield.measures import parse
from cranfield.scoring.evaluate import evaluate


@flags.command("demo")
def command(
    folder: Path | None = flags.option(
        "--save",
        type=click.Path(file_okay=False, path_type=Path),
        help="Write the collection's files into this folder, to try commands on.",
    ),
) -> None:
    """Evaluate a small collection that comes with the package.

    40 questions that Python programmers ask, the modules of the standard library as documents,
    judged on grades 0 to 3, ranked by four systems.
    """
    if folder is not None:
        for path in demo.save(folder):
            click.echo(f"wrote {path}")
        return
    systems = evaluate(demo.QRELS, demo.RUNS)
    show(systems, Format())
    by = parse("nDCG@10")
    best, second, *_ = sorted(systems.values(), key=lambda scores: -scores[by])
    echo(
        f"\nSeen: for {len(demo.queries())} questions to Python's standard library, {best.name} "
        f"puts the modules that help highest ({by} {best[by]:.3f}; {second.name} "
        f"{second[by]:.3f}).\n"
        "Next: `cranfield demo --save demo` writes the files; then try\n"
        "`cranfield evaluate demo/qrels.txt demo/*.run -q -m nDCG@10`.\n"
    )
