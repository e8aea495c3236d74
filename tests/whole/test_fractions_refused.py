"""Agreement and trec_eval take whole grades only, and name the first of the others."""

from pathlib import Path
from typing import Any

import pytest
from helpers.commands import invoke
from helpers.fractions import QRELS, RUN

import cranfield
from cranfield import InputError, Qrels, Run


def test_agreement_and_trec_eval_refuse_them_with_the_first(tmp_path: Path) -> None:
    whole_grades: Any = {"q1": {"a": 1, "b": 0}}
    for pair in ((whole_grades, QRELS), (QRELS, whole_grades)):
        with pytest.raises(InputError, match=r"'q1', document 'a': the grade 0\.9 is not a whole"):
            cranfield.agreement(*pair)
    with pytest.raises(InputError, match=r"round\(grade\)"):
        cranfield.agreement(QRELS, confusion={(1, 1): 1})
    Qrels(QRELS).write(tmp_path / "a.qrels")
    Run(RUN).write(tmp_path / "a.run")
    process = invoke("trec-eval", str(tmp_path / "a.qrels"), str(tmp_path / "a.run"))
    assert process.exit_code != 0
    assert "the grade 0.9 is not a whole number: trec_eval would cut off" in process.stderr
