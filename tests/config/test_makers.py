"""Who makes a model, by its name."""

import pytest

from lotbench.config.makers import makers
from lotbench.config.model_names import related


@pytest.mark.parametrize(
    ("name", "maker"),
    [
        ("claude", "Anthropic"), ("anthropic/claude-3-5-sonnet-20241022", "Anthropic"),
        ("openrouter/anthropic/claude-3.5-sonnet", "Anthropic"), ("gpt-4o-mini", "OpenAI"),
        ("gpt-oss-120b", "OpenAI"), ("o3-mini-high", "OpenAI"), ("chatgpt-4o-latest", "OpenAI"),
        ("gemini/gemini-2.0-flash", "Google"), ("google/gemma-3-27b-it", "Google"),
        ("hf:Qwen/Qwen2.5-7B-Instruct+runs/adapter", "Alibaba"),
        ("qwq-32b@http://localhost:8000/v1", "Alibaba"),
        ("meta-llama/Llama-3.1-8B@http://localhost:8000/v1", "Meta"),
        ("deepseek/deepseek-chat", "DeepSeek"), ("mistral-large-2411", "Mistral"),
        ("microsoft/phi-4", "Microsoft"), ("amazon/nova-pro-v1", "Amazon"), ("grok-2", "xAI"),
        ("HuggingFaceTB/SmolLM2-360M-Instruct", "Hugging Face"), ("glm-4-plus", "Zhipu"),
        ("moonshotai/kimi-k2", "Moonshot"), ("o3:online", "OpenAI"), ("molmo-7b-d", "Allen AI"),
        ("vicuna-13b", "Meta"), ("opus4", "Anthropic"), ("gpt", "OpenAI"),
        ("glm", "Zhipu"), ("phi", "Microsoft"), ("command", "Cohere"), ("aya", "Cohere"),
    ],
)  # fmt: skip
def test_a_name_tells_its_maker(name: str, maker: str) -> None:
    assert makers(name) == {maker}


@pytest.mark.parametrize(
    "name", ["people", "human:anna", "python:claude_like", "dolphin-7b", "some-lab/star-1", ""]
)
def test_a_name_that_tells_no_maker_has_none(name: str) -> None:
    assert makers(name) == frozenset()


def test_a_distillation_has_two_makers_and_where_a_model_is_asked_for_is_none() -> None:
    assert makers("deepseek-r1-distill-qwen-32b") == {"DeepSeek", "Alibaba"}
    assert makers("openai/llama-3-8b") == makers("langchain:openai:llama-3-8b") == {"Meta"}
    assert not related("langchain:ollama:one-7b", "langchain:ollama:other-7b")
    assert makers("claude") == makers("anthropic/claude-sonnet-4") != makers("gpt-4o")
    assert not makers("people")
