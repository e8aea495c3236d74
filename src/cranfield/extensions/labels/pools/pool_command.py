"""`cranfield pool QRELS RUN...`: lists what people should label."""

from collections.abc import Mapping
from typing import Any

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, data_options, refuse_two_stdin
from cranfield.cli.terminal import (
    Format,
    doc_texts_option,
    form_of,
    format_options,
    query_texts_option,
    show,
)
from cranfield.data.judging import Judging
from cranfield.errors import OptionError, escape_unprintable
from cranfield.extensions.labels.pools.options import PoolSettings
from cranfield.extensions.labels.pools.pool import NOT_FOR_POOL, pool
from cranfield.extensions.labels.pools.pool_result import Pool
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
    qrels: str = flags.argument(),
    runs: tuple[str, ...] = flags.argument(nargs=-1, required=True, metavar="RUN..."),
    settings: PoolSettings = flags.family_options(
        PoolSettings,
        k={"names": ("-k", "--depth")},
        n={"names": ("-n",)},
        strata={"metavar": "RANK=SHARE,..."},
        measure={"names": ("-m", "--measure"), "metavar": "MEASURE"},
    ),
    judging: Judging = flags.family_options(Judging, without=NOT_FOR_POOL, group="Ranking"),
    query_texts: str | None = query_texts_option,
    doc_texts: str | None = doc_texts_option,
    data: DataOptions = data_options,
    form: Format = format_options(Pool.forms),
) -> None:
    """List what people should label: all of a pool, a part of it, or what is most useful.

    A pool is what any RUN has in its first documents, for each query of QRELS. The file of -o is
    for labelling: fill in its column relevance, and `cranfield collect` checks it; the suffixes
    .label-studio.json and .argilla.json make tasks for these tools. With --by chance, QRELS are a
    model's labels, and people's correct them: see --human of `cranfield evaluate`.

    \b
    cranfield pool demo/qrels.txt demo/*.run --by chance -n 200 -o labels.csv
    cranfield pool demo/qrels.txt demo/*.run --depth 20 --unjudged -o labels.csv
    cranfield pool demo/qrels.txt demo/bm25.run demo/tfidf.run --by decide -m P@20
    cranfield pool demo/qrels.txt demo/*.run --by move-to-front -k 20 -n 50
    """  # noqa: D301 - click's mark for lines to keep
    refuse_two_stdin(qrels, *runs)
    refuse_unreadable_forms(form, Pool.forms)
    judgments = data.read_qrels(qrels, judging.duplicates)
    texts = {"query_texts": query_texts, "doc_texts": doc_texts}
    options: Any = {**settings.changed_options(), **judging.changed_options(), **texts}
    show(pool(judgments, data.read_runs(runs, says_order=True), **options), form)
