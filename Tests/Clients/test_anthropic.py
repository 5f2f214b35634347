"""Anthropic's official SDK against /v1/messages, as its documentation shows it."""

import anthropic
import pytest

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
# The SDK has no argument for what Anthropic's newest models do not take.
GREEDY = {"temperature": 0}
TOOL = {
    "name": "get_weather", "description": "Tells the weather.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


@pytest.fixture
def messages(base_url):
    # The SDK adds /v1 itself.
    client = anthropic.Anthropic(base_url=base_url.removesuffix("/v1"), api_key="any", max_retries=0)
    return client.messages


def test_message(messages, model):
    answer = messages.create(model=model, max_tokens=40, messages=QUESTION, extra_body=GREEDY, system="Be brief.")
    assert answer.type == "message" and answer.role == "assistant" and answer.stop_reason == "end_turn"
    assert "Paris" in answer.content[0].text
    assert answer.usage.input_tokens + answer.usage.cache_read_input_tokens > 0 and answer.usage.output_tokens > 0


def test_limits_and_stop(messages, model):
    cut = messages.create(model=model, max_tokens=1, messages=QUESTION, extra_body=GREEDY)
    assert cut.stop_reason == "max_tokens" and cut.usage.output_tokens == 1
    stopped = messages.create(model=model, max_tokens=40, messages=QUESTION, extra_body=GREEDY, stop_sequences=["Paris"])
    assert stopped.stop_reason == "stop_sequence" and stopped.stop_sequence == "Paris"
    assert "Paris" not in "".join(block.text for block in stopped.content)


def test_stream(messages, model):
    with messages.stream(model=model, max_tokens=40, messages=QUESTION, extra_body=GREEDY) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert "Paris" in text and final.content[0].text == text and final.stop_reason == "end_turn"
    assert final.usage.output_tokens > 0


def test_forced_tool(messages, model):
    """The bundled model cannot call tools; that a call is asked for and comes back is the server's work."""
    answer = messages.create(
        model=model, max_tokens=40, messages=QUESTION, extra_body=GREEDY, tools=[TOOL],
        tool_choice={"type": "tool", "name": "get_weather"})
    call = answer.content[-1]
    assert call.type == "tool_use" and call.name == "get_weather" and call.id


def test_results(messages, model):
    history = QUESTION + [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "get_weather", "input": {"city": "Paris"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "sunny"}]},
    ]
    assert messages.create(model=model, max_tokens=10, messages=history, tools=[TOOL]).type == "message"


def test_count(messages, model):
    short = messages.count_tokens(model=model, messages=QUESTION).input_tokens
    assert 0 < short < messages.count_tokens(model=model, messages=QUESTION, system="Be brief.").input_tokens


def test_errors(messages, model):
    with pytest.raises(anthropic.NotFoundError) as unknown:
        messages.create(model="claude", max_tokens=1, messages=QUESTION)
    assert unknown.value.body["error"]["type"] == "not_found_error"
    with pytest.raises(anthropic.BadRequestError) as image:
        messages.create(model=model, max_tokens=1, messages=[{"role": "user", "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}]}])
    assert image.value.body["error"]["type"] == "invalid_request_error"
