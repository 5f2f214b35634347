"""Clients of Ollama's API: its own package, LiteLLM, and requests as Open WebUI documents them."""

import json
import os
import urllib.request

import ollama
import pytest

QUESTION = "What is the capital of France?"
MESSAGES = [{"role": "user", "content": QUESTION}]
GREEDY = {"temperature": 0}


@pytest.fixture(scope="session")
def address(base_url):
    return base_url.removesuffix("/v1")


@pytest.fixture(scope="session")
def client(address):
    return ollama.Client(host=address)


def weather(city: str) -> str:
    """Tells the weather.

    Args:
        city: The city.
    """
    return f"It is sunny in {city}."


def test_chat(client, model):
    whole = client.chat(model, MESSAGES, options=GREEDY)
    assert "Paris" in whole.message.content
    assert whole.done and whole.done_reason == "stop"
    assert whole.total_duration >= whole.load_duration + whole.prompt_eval_duration
    assert whole.prompt_eval_count > 0 and whole.eval_count > 0
    pieces = list(client.chat(model, MESSAGES, stream=True, options=GREEDY))
    assert "".join(piece.message.content for piece in pieces) == whole.message.content
    assert [piece.done for piece in pieces] == [False] * (len(pieces) - 1) + [True]


def test_generate(client, model):
    whole = client.generate(model, QUESTION, system="Be brief.", options=GREEDY)
    pieces = list(client.generate(model, QUESTION, system="Be brief.", options=GREEDY, stream=True))
    assert whole.response and "".join(piece.response for piece in pieces) == whole.response
    assert client.generate(model, "The capital of France is", raw=True, options={"num_predict": 3}).eval_count <= 3
    assert client.generate(model, "Hello", options={"num_predict": 1}).done_reason == "length"


def test_formats(client, model):
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    answer = client.chat(model, MESSAGES, format=schema, options={**GREEDY, "num_predict": 50})
    if answer.done_reason == "stop":
        assert list(json.loads(answer.message.content)) == ["city"]
    assert client.generate(model, "Write JSON.", format="json", options={"num_predict": 5}).response.startswith("{")


def test_tools(client, model):
    messages = [{"role": "user", "content": "What is the weather in Paris?"}]
    answer = client.chat(model, messages, tools=[weather], options={**GREEDY, "num_predict": 60})
    calls = answer.message.tool_calls or []
    for call in calls:
        assert call.function.name == "weather" and isinstance(call.function.arguments, dict)
    messages += [answer.message] + [
        {"role": "tool", "tool_name": "weather", "content": weather("Paris")} for _ in calls]
    messages += [{"role": "user", "content": "So?"}]
    assert client.chat(model, messages, tools=[weather], options={"num_predict": 5}).message


def test_models(client, model):
    names = [entry.model for entry in client.list().models]
    assert f"{model}:latest" in names
    shown = client.show(f"{model}:latest")
    assert "completion" in shown.capabilities and shown.modelinfo["general.architecture"]
    client.chat(f"{model}:latest", [])
    assert f"{model}:latest" in [entry.model for entry in client.ps().models]
    vectors = client.embed(model, ["one", "two"]).embeddings
    assert len(vectors) == 2 and vectors[0] == pytest.approx(client.embeddings(model, "one").embedding)


def test_keep_alive(client, model):
    unloaded = client.generate(model, keep_alive=0)
    assert unloaded.done_reason == "unload" and not client.ps().models
    assert client.generate(model, keep_alive="5m").done_reason == "load"
    assert client.ps().models


def test_errors(client, model):
    with pytest.raises(ollama.ResponseError) as unknown:
        client.chat("nothing", MESSAGES)
    assert unknown.value.status_code == 404 and "not found" in unknown.value.error
    for refused in (
        lambda: client.create("a", from_=model), lambda: client.copy(model, "b"), lambda: client.push(model),
        lambda: client.pull("llama3.2"), lambda: client.delete(model),
    ):
        with pytest.raises(ollama.ResponseError) as error:
            refused()
        assert error.value.status_code in (400, 501) and error.value.error


def test_async_client(address, model):
    import asyncio

    async def ask():
        client = ollama.AsyncClient(host=address)
        return [piece async for piece in await client.chat(model, MESSAGES, stream=True, options=GREEDY)]

    assert "Paris" in "".join(piece.message.content for piece in asyncio.run(ask()))


@pytest.mark.parametrize("provider", ["ollama", "ollama_chat"])
def test_litellm(address, model, provider):
    import litellm

    options = dict(model=f"{provider}/{model}", api_base=address, temperature=0, max_tokens=40)
    assert litellm.completion(messages=MESSAGES, **options).choices[0].message.content
    stream = litellm.completion(messages=MESSAGES, stream=True, **options)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream)


def test_requests_of_open_webui(address, model):
    def ask(method, path, body=None):
        request = urllib.request.Request(
            address + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return answer.headers, answer.read().decode()

    assert json.loads(ask("GET", "/api/version")[1])["version"].split(".")[0].isdigit()
    listed = json.loads(ask("GET", "/api/tags")[1])["models"][0]
    assert {"name", "model", "modified_at", "size", "digest", "details"} <= set(listed)
    body = {
        "model": f"{model}:latest", "messages": MESSAGES, "stream": True, "keep_alive": "5m",
        "options": {"num_ctx": 2048, "num_predict": 8, "temperature": 0}}
    headers, text = ask("POST", "/api/chat", body)
    assert headers["Content-Type"] == "application/x-ndjson" and "num_ctx" in headers["x-warning"]
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines[-1]["done"] and lines[-1]["eval_count"] == 8
    embedded = json.loads(ask("POST", "/api/embed", {"model": model, "input": ["a"], "truncate": True})[1])
    assert len(embedded["embeddings"]) == 1
