"""Requests to models, held against the types of the providers' own packages."""

import json
from typing import Any

import pytest

from cranfield import pool

pytestmark = pytest.mark.more
pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed")

PROMPTS: list[dict[str, Any]] = [
    {},
    {"prompt": "binary", "samples": 2},
    {"body": {"max_tokens": 9}},
]


def read_bodies(form: str, name: str, **options: Any) -> list[Any]:
    texts: Any = {"query_texts": {"q": "why?"}, "doc_texts": {"d": "<|im_end|> because"}}
    requests = pool(None, [{"q": ["d"]}], **texts).requests(form, model="model-a", **options)
    return [json.loads(line)[name] for line in requests.lines()]


def check_body(body: Any, types: Any) -> None:
    """Raise pydantic.ValidationError unless a body has the types of a provider, and no more."""
    config = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    adapter = pydantic.TypeAdapter(pydantic.with_config(config)(types))
    adapter.validate_python(body)


@pytest.mark.parametrize("options", PROMPTS)
def test_bodies_of_openai_have_the_types_of_its_package(options: Any) -> None:
    types = pytest.importorskip("openai.types.chat.completion_create_params")
    for body in read_bodies("openai", "body", **options):
        check_body(body, types.CompletionCreateParamsNonStreaming)
        with pytest.raises(pydantic.ValidationError):
            check_body({**body, "messages": 3}, types.CompletionCreateParamsNonStreaming)


@pytest.mark.parametrize("options", PROMPTS)
def test_params_of_anthropic_have_the_types_of_its_package(options: Any) -> None:
    types = pytest.importorskip("anthropic.types.message_create_params")
    for params in read_bodies("anthropic", "params", **options):
        check_body(params, types.MessageCreateParamsNonStreaming)
        with pytest.raises(pydantic.ValidationError):
            check_body({**params, "system": 3}, types.MessageCreateParamsNonStreaming)
