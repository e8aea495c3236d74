"""`cranfield pool QRELS RUN...`."""

from typing import Any

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, data_options, refuse_two_inputs
from cranfield.cli.terminal import Format, form_of, format_option, show
from cranfield.data.judging import Judging
from cranfield.errors import OptionError
from cranfield.pools.pool import NOT_POOLED, PoolSettings, pool
from cranfield.render.shown import FORMS

_READ_BACK = {"csv", "tsv", "jsonl"}


@flags.command("pool")
def command(
    qrels: str = flags.argument(),
    runs: tuple[str, ...] = flags.argument(nargs=-1, required=True, metavar="RUN..."),
    settings: PoolSettings = flags.family(
        PoolSettings,
        k={"names": ("-k", "--depth")},
        n={"names": ("-n",)},
        measure={"names": ("-m", "--measure")},
    ),
    judging: Judging = flags.family(Judging, without=NOT_POOLED, group="Ranking"),
    data: DataOptions = data_options,
    form: Format = format_option,
) -> None:
    """List what people should label: a pool, or a part of it drawn by chance.

    A pool is what any RUN has in its first documents, for each query of QRELS. The file of -o is
    for labelling: fill in its column relevance. With --by chance, QRELS are a model's labels, and
    people's correct them: see --human of `cranfield compare` and `cranfield evaluate`.

    \b
    cranfield pool demo/qrels.txt demo/*.run --by chance -n 200 -o labels.csv
    cranfield pool demo/qrels.txt demo/*.run --by chance --draw queries -n 15
    cranfield pool demo/qrels.txt demo/*.run --depth 20 --unjudged -o labels.csv
    cranfield pool demo/qrels.txt demo/bm25.run demo/tfidf.run --by decide -m P@20
    """  # noqa: D301 - click's mark for lines to keep
    refuse_two_inputs(qrels, *runs)
    if form.formulas == "quoted":
        raise OptionError(
            "--formulas quoted changes ids, and the labels are to be read back: leave it out"
        )
    others = sorted({form_of(one, FORMS) for one in form.outputs} - _READ_BACK)
    if others:
        raise OptionError(
            f"-o: labels are read back from .csv, .tsv and .jsonl, and not from {FORMS[others[0]]}"
        )
    judgments = data.read_qrels(qrels, judging.duplicates)
    chosen: Any = {**settings.unusual(), **judging.unusual()}
    show(pool(judgments, data.read_runs(runs), **chosen), form)
