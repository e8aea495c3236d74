"""Swaps and judgments are not all tried where the answer is the same."""

from typing import Any

import pytest
from helpers.folders import DEMO_QRELS, DEMO_RUNS
from helpers.profile import sample_cases

from cranfield import Measure, definitions, read_qrels, read_run
from cranfield.data.judging import Judging
from cranfield.explanation.scene import Scene
from cranfield.extensions.whatif import swaps as whatif

QRELS = read_qrels(DEMO_QRELS)


RUNS = [read_run(path) for path in DEMO_RUNS]


CUT_MEASURES = [
    Measure(definition.name) @ k
    for definition in definitions()
    for k in (1, 3, 8)
    if definition.cutoff != "none" and definition.cutoff_kind == "depth"
]


@pytest.mark.parametrize("judged_only", [False, True])
def test_below_the_cutoff_only_the_first_of_a_kind_need_be_tried(
    monkeypatch: pytest.MonkeyPatch, judged_only: bool
) -> None:
    """What is reported of swaps and judgments is the same where every one of them is tried."""
    judging = Judging(judged_only=judged_only)
    cases = sample_cases([(run, query) for run in RUNS[:2] for query in ("q03", "q17")])
    scenes = [Scene.of(QRELS, run, query, judging) for run, query in cases]
    measures = [measure for measure in CUT_MEASURES if _takes(measure, scenes[0])]
    assert len(measures) > 40

    def list_answers() -> list[Any]:
        return [
            (whatif.find_best_swap(scene, measure), whatif.find_judgments(scene, measure))
            for scene in scenes
            for measure in measures
        ]

    quick = list_answers()
    assert sum(swap is not None for swap, _ in quick) > 40
    monkeypatch.setattr(whatif, "_find_last_rank", lambda scene, measure: None)
    assert list_answers() == quick


def _takes(measure: Any, scene: Scene) -> bool:
    try:
        measure.values(scene.judged)
    except Exception:  # noqa: BLE001 - judgments in groups, say
        return False
    return not measure.definition.is_text
