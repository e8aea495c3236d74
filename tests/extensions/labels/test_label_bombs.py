"""Small files of labels and nuggets that would fill the memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.bombs import check_bomb

from cranfield.extensions.labels.label_files import read_labels
from cranfield.extensions.labels.nugget_files import read_nuggets


@pytest.mark.parametrize(
    ("name", "read_file", "begin", "filler"),
    [
        ("a.csv", read_labels, "query_id,doc_id,relevance\nq1,d1,1\n", "\r\n"),
        ("a.jsonl", read_nuggets, "", '{"qid": 1}\n'),
    ],
)
def test_a_file_of_labels_that_would_fill_the_memory_is_refused(
    name: str, read_file: Callable[[str], Any], begin: str, filler: str, tmp_path: Path
) -> None:
    check_bomb(name, read_file, begin, filler, tmp_path)
