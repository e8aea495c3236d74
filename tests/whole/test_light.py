"""Nothing heavy is imported before it is needed."""

import pytest
from helpers.commands import HEAVY, loaded_modules

SMALL = (
    "from cranfield import evaluate\n"
    "evaluate({'q1': {'d1': 1}}, {'q1': {'d1': 0.9, 'd2': 0.4}}, 'nDCG@10 AP IAP Bpref P.5,10')\n"
)
FILES = (
    "import sys\n"
    "from pathlib import Path\n"
    "from cranfield import evaluate, demo\n"
    "from cranfield.demo import QRELS, RUNS\n"
    "evaluate(str(QRELS), [str(run) for run in RUNS], 'nDCG@10 AP')\n"
)


def test_the_package_alone_loads_nothing() -> None:
    assert not loaded_modules("import cranfield") & {*HEAVY, "numpy", "pyarrow", "click", "rich"}


@pytest.mark.parametrize("code", [SMALL, FILES], ids=["dicts", "files"])
def test_a_small_evaluation_loads_nothing_heavy(code: str) -> None:
    assert not loaded_modules(code.replace(", demo", "")) & {
        *HEAVY,
        "click",
        "rich",
        "pyarrow.compute",
    }


FRAMES = (
    "import pyarrow as pa\nfrom cranfield import evaluate\n"
    "pairs = pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(bytes(8))])\n"
    "table = pa.table({'query_id': pairs, 'doc_id': pairs, 'score': pairs})\n"
    "evaluate({0: {0: 1}}, table).to_arrow()\n"
)


# What only those need who ask for another tool's numbers, or for judged documents below.
_TOOLS = ("conventions", "rule", "join", "side_by_side")
RARE = {"cranfield.data.unretrieved", *(f"cranfield.extensions.tools.{name}" for name in _TOOLS)}


def test_a_small_evaluation_loads_no_convention() -> None:
    convention_code = SMALL.replace("'nDCG@10 AP IAP", "'AP', convention='sbert') #")
    assert not loaded_modules(SMALL) & RARE
    rule_and_join = {"cranfield.extensions.tools.rule", "cranfield.extensions.tools.join"}
    assert rule_and_join <= loaded_modules(convention_code) & RARE


def test_arrow_in_and_out_loads_no_frame_library() -> None:
    assert not loaded_modules(FRAMES) & {*HEAVY, "click", "rich"}


def test_dicts_need_no_arrow() -> None:
    assert "pyarrow" not in loaded_modules(SMALL)


def test_version_loads_nothing_heavy() -> None:
    code = (
        "import sys; from cranfield.cli import main\n"
        "try: main()\nexcept SystemExit as done: assert done.code == 0"
    )
    assert not loaded_modules(code, "--version") & {*HEAVY, "numpy", "pyarrow", "rich"}


def test_the_command_loads_nothing_heavy_when_piped() -> None:
    code = (
        "import sys; from cranfield.cli import main\nfrom cranfield.demo import QRELS, RUNS\n"
        "sys.argv[1:] = ['evaluate', str(QRELS), str(RUNS[0])]\n"
        "try: main()\nexcept SystemExit as done: assert done.code == 0"
    )
    assert not loaded_modules(code) & {*HEAVY, "rich"}
