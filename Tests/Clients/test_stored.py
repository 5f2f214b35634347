"""OpenAI's stored conversations, responses in the background, and compaction, by the official package."""

import time

import openai
import pytest


@pytest.fixture
def client(base_url):
    return openai.OpenAI(base_url=base_url, api_key="any", max_retries=0)


def wait(client, id):
    for _ in range(600):
        response = client.responses.retrieve(id)
        if response.status not in ("queued", "in_progress"):
            return response
        time.sleep(0.05)
    raise TimeoutError(id)


def test_conversations(client):
    conversation = client.conversations.create(
        metadata={"topic": "demo"}, items=[{"type": "message", "role": "user", "content": "Hello!"}])
    assert conversation.object == "conversation" and conversation.metadata == {"topic": "demo"}
    assert client.conversations.retrieve(conversation.id) == conversation
    assert client.conversations.update(conversation.id, metadata={"a": "b"}).metadata == {"a": "b"}
    added = client.conversations.items.create(
        conversation.id, items=[
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "done"}])
    assert [item.type for item in added.data] == ["message", "function_call", "function_call_output"]
    # The package asks for one page after another.
    items = list(client.conversations.items.list(conversation.id, order="asc", limit=2))
    assert [item.type for item in items] == ["message", "message", "function_call", "function_call_output"]
    assert items[0].content[0].text == "Hello!" and items[1].content[0].type == "output_text"
    assert client.conversations.items.retrieve(items[1].id, conversation_id=conversation.id) == items[1]
    assert client.conversations.items.delete(items[1].id, conversation_id=conversation.id).id == conversation.id
    assert len(list(client.conversations.items.list(conversation.id))) == 3
    assert client.conversations.delete(conversation.id).deleted
    with pytest.raises(openai.NotFoundError):
        client.conversations.retrieve(conversation.id)


def test_response_in_a_conversation(client, model):
    conversation = client.conversations.create()
    options = dict(model=model, conversation=conversation.id, temperature=0, max_output_tokens=24)
    first = client.responses.create(input="What is the capital of France?", **options)
    assert first.conversation.id == conversation.id
    with client.responses.stream(input="And of Italy?", **options) as stream:
        for _ in stream:
            pass
        second = stream.get_final_response()
    items = list(client.conversations.items.list(conversation.id, order="asc"))
    assert [item.role for item in items if item.type == "message"] == ["user", "assistant", "user", "assistant"]
    assert items[-1].content[0].text == second.output_text
    # The same as with the turns in the request.
    whole = client.responses.create(
        model=model, temperature=0, max_output_tokens=24, input=[
            {"role": "user", "content": "What is the capital of France?"},
            {"role": "assistant", "content": first.output_text}, {"role": "user", "content": "And of Italy?"}])
    assert whole.output_text == second.output_text
    count = client.responses.input_tokens.count(model=model, conversation=conversation.id, input="And?")
    assert count.input_tokens > second.usage.input_tokens


def test_background(client, model):
    options = dict(model=model, input="What is the capital of France?", temperature=0, max_output_tokens=32)
    plain = client.responses.create(**options)
    queued = client.responses.create(background=True, **options)
    assert queued.status == "queued" and queued.background
    done = wait(client, queued.id)
    assert done.id == queued.id and done.status == plain.status and done.output_text == plain.output_text
    assert client.responses.cancel(queued.id).status == done.status
    client.responses.delete(queued.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(queued.id)


def test_background_stream_that_is_picked_up_again(client, model):
    stream = client.responses.create(
        model=model, input="Tell me about Paris.", background=True, stream=True, temperature=0, max_output_tokens=64)
    first = []
    for event in stream:
        first.append(event)
        if len(first) == 8:
            break
    stream.close()
    id = first[0].response.id
    rest = list(client.responses.retrieve(id, stream=True, starting_after=first[-1].sequence_number))
    assert [event.sequence_number for event in first + rest] == list(range(len(first) + len(rest)))
    assert rest[-1].type in ("response.completed", "response.incomplete")
    text = "".join(event.delta for event in first + rest if event.type == "response.output_text.delta")
    assert text and text == rest[-1].response.output_text == client.responses.retrieve(id).output_text
    assert [event.type for event in first[:3]] == ["response.created", "response.queued", "response.in_progress"]


def test_background_cancelled(client, model):
    queued = client.responses.create(
        model=model, input="Count from 1 to 1000.", background=True, extra_body={"ignore_eos": True}, temperature=0)
    assert client.responses.cancel(queued.id).status == "cancelled"
    assert client.responses.cancel(queued.id).status == "cancelled"
    assert client.responses.retrieve(queued.id).status == "cancelled"


def test_compaction(client, model):
    compacted = client.responses.compact(
        model=model, input=[
            {"role": "user", "content": "What is the capital of France?"},
            {"role": "assistant", "content": "Paris."}, {"role": "user", "content": "Thanks."}])
    assert compacted.object == "response.compaction" and compacted.usage.output_tokens > 0
    assert [item.type for item in compacted.output] == ["message", "message", "compaction"]
    items = [item.model_dump(exclude_none=True) for item in compacted.output]
    answer = client.responses.create(
        model=model, input=items + [{"role": "user", "content": "And of Italy?"}], max_output_tokens=8)
    assert answer.output_text and answer.usage.input_tokens > 20
