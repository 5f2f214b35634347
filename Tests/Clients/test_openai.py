"""The official SDK: what it parses into typed objects, and what it raises."""

import asyncio
import math

import openai
import pytest

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]


@pytest.fixture(scope="session")
def client(base_url):
    return openai.OpenAI(base_url=base_url, api_key="any", max_retries=0)


def test_models(client, model):
    assert [entry.id for entry in client.models.list()] == [model]
    assert client.models.retrieve(model).object == "model"


def test_chat(client, model):
    answer = client.chat.completions.create(model=model, messages=QUESTION, temperature=0)
    choice = answer.choices[0]
    assert choice.finish_reason == "stop"
    assert choice.message.role == "assistant" and choice.message.refusal is None
    assert "Paris" in choice.message.content
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer.usage.prompt_tokens_details.cached_tokens >= 0
    assert answer.usage.completion_tokens_details.reasoning_tokens == 0


def test_raw_response(client, model):
    raw = client.chat.completions.with_raw_response.create(model=model, messages=QUESTION, max_completion_tokens=4)
    assert raw.status_code == 200 and raw.headers["content-type"] == "application/json"
    assert raw.parse().choices[0].finish_reason == "length"


def test_stream_equals_whole(client, model):
    options = dict(model=model, messages=QUESTION, temperature=0)
    whole = client.chat.completions.create(**options).choices[0].message.content
    chunks = list(client.chat.completions.create(**options, stream=True, stream_options={"include_usage": True}))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1]) == whole
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1]].count("stop") == 1
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens > 0
    assert len({chunk.id for chunk in chunks}) == 1


def test_stream_helper(client, model):
    with client.chat.completions.stream(model=model, messages=QUESTION, temperature=0, logprobs=True) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    assert {"chunk", "content.delta", "content.done", "logprobs.content.delta"} <= kinds
    assert "Paris" in final.choices[0].message.content


def test_choices_and_logprobs(client, model):
    answer = client.chat.completions.create(
        model=model, messages=QUESTION, n=3, seed=5, temperature=1, logprobs=True, top_logprobs=4, max_tokens=8)
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    for choice in answer.choices:
        assert bytes(byte for token in choice.logprobs.content for byte in token.bytes).decode() == choice.message.content
        assert all(len(token.top_logprobs) == 4 and token.logprob <= 0 for token in choice.logprobs.content)
    repeated = client.chat.completions.create(model=model, messages=QUESTION, seed=5, temperature=1, max_tokens=8)
    assert repeated.choices[0].message.content == answer.choices[0].message.content


def test_stop_and_logit_bias(client, model):
    stopped = client.chat.completions.create(model=model, messages=QUESTION, temperature=0, stop=["Paris"])
    assert stopped.choices[0].finish_reason == "stop" and "Paris" not in stopped.choices[0].message.content
    free = client.chat.completions.create(model=model, messages=QUESTION, temperature=0)
    first_word = free.choices[0].message.content.split()[0]
    banned = client.post("/../tokenize", body={"content": first_word}, cast_to=object)
    bias = {str(token): -100 for token in banned["tokens"]}
    biased = client.chat.completions.create(model=model, messages=QUESTION, temperature=0, logit_bias=bias)
    assert biased.choices[0].message.content != free.choices[0].message.content


def test_many_at_once(base_url, model):
    async def ask(client):
        stream = await client.chat.completions.create(model=model, messages=QUESTION, temperature=0, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    async def ask_all():
        async with openai.AsyncOpenAI(base_url=base_url, api_key="any") as client:
            return await asyncio.gather(*(ask(client) for _ in range(8)))

    answers = asyncio.run(ask_all())
    assert len(set(answers)) == 1 and "Paris" in answers[0]


def test_leaving_a_stream(client, model):
    stream = client.chat.completions.create(model=model, messages=QUESTION, stream=True)
    next(iter(stream))
    stream.close()
    test_chat(client, model)


def test_completions(client, model):
    answer = client.completions.create(
        model=model, prompt=["Hello", "Good"], n=2, max_tokens=4, echo=True, logprobs=2, temperature=1)
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    assert [choice.text.split()[0][:4] for choice in answer.choices] == ["Hell", "Hell", "Good", "Good"]
    logprobs = answer.choices[0].logprobs
    assert logprobs.token_logprobs[0] is None and all(value <= 0 for value in logprobs.token_logprobs[1:])
    assert len(logprobs.tokens) == len(logprobs.text_offset) == len(logprobs.top_logprobs)
    chunks = list(client.completions.create(model=model, prompt="Hello", max_tokens=4, stream=True))
    assert chunks[-1].choices[0].finish_reason in ("stop", "length")


def test_embeddings(client, model):
    # The SDK asks for base64 by itself, and decodes it.
    encoded = client.embeddings.create(model=model, input=["one", "two"])
    floats = client.embeddings.create(model=model, input=["one", "two"], encoding_format="float")
    assert len(encoded.data) == 2
    for one, other in zip(encoded.data, floats.data):
        assert one.embedding == pytest.approx(other.embedding, abs=1e-6)
        assert math.hypot(*one.embedding) == pytest.approx(1, abs=1e-4)
    assert len(client.embeddings.create(model=model, input="one", dimensions=8).data[0].embedding) == 8


def test_responses(client, model):
    first = client.responses.create(model=model, input="What is the capital of France?", temperature=0)
    assert first.status == "completed" and "Paris" in first.output_text
    assert first.usage.total_tokens == first.usage.input_tokens + first.usage.output_tokens
    second = client.responses.create(model=model, input="Hello", previous_response_id=first.id)
    assert second.previous_response_id == first.id
    assert second.usage.input_tokens > client.responses.create(model=model, input="Hello").usage.input_tokens
    assert client.responses.retrieve(first.id).output_text == first.output_text
    client.responses.delete(first.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(first.id)


def test_response_stream(client, model):
    with client.responses.stream(model=model, input="What is the capital of France?", temperature=0) as stream:
        events = list(stream)
        final = stream.get_final_response()
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[0].type == "response.created" and events[-1].type == "response.completed"
    deltas = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert deltas == final.output_text and "Paris" in deltas
    cut = client.responses.create(model=model, input="Hello", max_output_tokens=1)
    assert cut.incomplete_details.reason == "max_output_tokens"


def test_errors(client, model):
    with pytest.raises(openai.NotFoundError) as unknown:
        client.chat.completions.create(model="gpt-4o", messages=QUESTION)
    assert unknown.value.code == "model_not_found" and unknown.value.param == "model"
    with pytest.raises(openai.BadRequestError) as long:
        client.chat.completions.create(model=model, messages=[{"role": "user", "content": "word " * 100_000}])
    assert long.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError) as tools:
        client.chat.completions.create(
            model=model, messages=QUESTION, tools=[{"type": "web_search", "function": {"name": "f", "parameters": {}}}])
    assert tools.value.param == "tools[0].type" and tools.value.type == "invalid_request_error"
