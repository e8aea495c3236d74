"""Judgments of which a model gave some, and what is remarked of them."""

from typing import Any

GPT = {"judge_model": "gpt-x", "judge_prompt": "graded e66336a1"}
PERSON = {"judge_model": "", "judge_prompt": ""}
ROWS: list[dict[str, Any]] = [
    {"query_id": "q1", "doc_id": "d1", "relevance": 1, **GPT},
    {"query_id": "q1", "doc_id": "d2", "relevance": 0, **PERSON},
    {"query_id": "q2", "doc_id": "d1", "relevance": 2, **GPT},
    {"query_id": "q2", "doc_id": "d3", "relevance": 0, "judge_model": "b, c", "judge_prompt": ""},
]
RUNS = {"a": {"q1": ["d1"], "q2": ["d3"]}, "b": {"q1": ["d2"], "q2": ["d1"]}}
REMARK = (
    "3 of 4 judgments are a model's (gpt-x, prompt graded e66336a1; b, c), and no person checked "
    "them here: cranfield trust says how far they go, --human corrects them."
)
COUNTS = [
    {"model": "gpt-x", "prompt": "graded e66336a1", "judgments": 2},
    {"model": "b, c", "prompt": "", "judgments": 1},
]
