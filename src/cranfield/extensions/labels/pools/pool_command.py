"""`cranfield pool QRELS RUN...`: lists what people should label."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, data_options, refuse_two_stdin
from cranfield.cli.terminal import (
    Format,
    doc_texts_option,
    form_of,
    format_options,
    print_notes,
    query_texts_option,
    show,
)
from cranfield.data.judging import Judging
from cranfield.errors import OptionError, escape_unprintable
from cranfield.extensions.labels.pools.label_checks import read_pool
from cranfield.extensions.labels.pools.options import PoolSettings, RequestSettings
from cranfield.extensions.labels.pools.pool import NOT_FOR_POOL, add_texts, pool
from cranfield.extensions.labels.pools.pool_result import Pool
from cranfield.extensions.labels.pools.requests import REQUEST_FORMS
from cranfield.render.numbers import format_names
from cranfield.render.shown import FORMS, ROW_FORMS


def refuse_unreadable_forms(form: Format, forms: Mapping[str, str] = FORMS) -> None:
    """Raise OptionError for an output of `forms`, {name: suffix}, not to be read as judgments."""
    if form.formulas == "quoted":
        raise OptionError(
            "--formulas quoted changes ids, and the labels are to be read back: leave it out"
        )
    for path in form.outputs:
        name = form_of(path, forms)
        if name in FORMS and name not in ROW_FORMS:
            raise OptionError(
                f"-o {escape_unprintable(path)}: labels are read back from .csv, .tsv and .jsonl, "
                f"and not from {FORMS[name]}; cranfield convert writes these as qrels"
            )


@flags.command("pool")
def command(
    files: tuple[str, ...] = flags.argument(nargs=-1, metavar="QRELS RUN..."),
    no_qrels: bool = flags.option(
        is_flag=True, help="There are no judgments yet: all files are runs, all queries are pooled."
    ),
    pool_file: str | None = flags.option(
        "--from", metavar="FILE", help="Take the pool that is in this file."
    ),
    settings: PoolSettings = flags.family_options(
        PoolSettings,
        k={"names": ("-k", "--depth")},
        n={"names": ("-n",)},
        strata={"metavar": "RANK=SHARE,...", "group": "By chance"},
        draw={"group": "By chance"},
        likely={"group": "By chance"},
        measure={"names": ("-m", "--measure"), "metavar": "MEASURE"},
    ),
    judging: Judging = flags.family_options(Judging, without=NOT_FOR_POOL, group="Ranking"),
    asking: RequestSettings = flags.family_options(RequestSettings),
    query_texts: str | None = query_texts_option,
    doc_texts: tuple[str, ...] = doc_texts_option,
    data: DataOptions = data_options,
    form: Format = format_options(Pool.forms, REQUEST_FORMS),
) -> None:
    """List what people should label: all of a pool, a part of it, or what is most useful.

    A pool is what any RUN has in its first documents, for each query of QRELS. The file of -o is
    for labelling: fill in its column relevance, and `cranfield collect` checks it; the suffixes
    .label-studio.json and .argilla.json make tasks for these tools. With --by chance, QRELS are a
    model's labels, and people's correct them: see --human of `cranfield evaluate`.

    The suffixes .openai.jsonl and .anthropic.jsonl make requests that ask a model for the labels,
    to be sent by another program; `cranfield collect` reads its answers.

    \b
    cranfield pool demo/qrels.txt demo/*.run --by chance -n 200 -o labels.csv
    cranfield pool demo/qrels.txt demo/*.run --depth 20 --unjudged -o labels.csv
    cranfield pool demo/qrels.txt demo/bm25.run demo/tfidf.run --by decide -m P@20
    cranfield pool demo/qrels.txt demo/*.run --by move-to-front -k 20 -n 50
    cranfield pool --from pool.csv --topics queries.tsv --doc-texts corpus.jsonl \\
        --model gpt-x -o requests.openai.jsonl
    """  # noqa: D301 - click's mark for lines to keep
    forms = {**Pool.forms, **REQUEST_FORMS}
    form_of_path = {path: form_of(path, forms) for path in form.outputs}
    refuse_unreadable_forms(form, forms)
    request_paths = [path for path in form.outputs if form_of_path[path] in REQUEST_FORMS]
    if not request_paths:
        names = flags.option_names([asking])
        flags.refuse_options(names, "applies to files of requests: -o requests.openai.jsonl")
    texts = {"query_texts": query_texts, "doc_texts": doc_texts or None}
    options: Any = {**settings.changed_options(), **judging.changed_options(), **texts}
    if pool_file is not None:
        names = flags.option_names([settings, judging, data])
        flags.refuse_options(names, "does not go with --from")
        if files or no_qrels:
            raise OptionError("--from takes the pool of its file: leave QRELS and RUN out")
        label_pool = add_texts(read_pool(pool_file), **texts)
    else:
        qrels, runs = (None, files) if no_qrels else (files[0] if files else None, files[1:])
        if not runs:
            raise click.UsageError("Missing argument 'RUN...'.")
        refuse_two_stdin(*files)
        judgments = None if qrels is None else data.read_qrels(qrels, judging.duplicates)
        label_pool = pool(judgments, data.read_runs(runs, says_order=True), **options)
    options = asking.changed_options()
    requests_of_path = {
        path: label_pool.requests(form_of_path[path], **options) for path in request_paths
    }
    other_paths = tuple(path for path in form.outputs if path not in request_paths)
    notes = tuple(n for n in label_pool.notes if n.code != "to-label" or not request_paths)
    show(replace(label_pool, notes=notes), replace(form, outputs=other_paths))
    for path, requests in requests_of_path.items():
        name = format_names(requests.write(path))
        print_notes(note.add_source(name) for note in requests.notes)
