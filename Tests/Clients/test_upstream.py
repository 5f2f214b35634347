"""What goes to the upstream, what comes back, and OpenAI's own SDK on top of it."""

import json

import openai
import pytest

from conftest import start_with_upstream
from fake_upstream import (
    ASK, CHAT, DONE, KEY, STREAM, STREAM_HEAD, FakeUpstream, chunk, delta, event, failure, stream, whole)
from support import MODEL_NAME, Shim, all_at_once, wait_until

MESSAGES = ASK["messages"]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def test_only_the_body_goes_up(pair):
    shim, upstream = pair
    body = json.dumps(ASK | {"extra": [1.10, "é", 2**60]}).encode()
    answer = shim.post(
        "/v1/chat/completions?secret=1", body, {"Authorization": "Bearer client-key", "Cookie": "a=b", "X-Secret": "s"})
    assert answer.status == 200 and answer.json == CHAT and answer.headers["x-engine"] == "upstream"
    asked, = upstream.requests
    assert (asked.method, asked.path) == ("POST", "/v1/chat/completions")
    # What was read is sent, encoded anew.
    assert json.loads(asked.body) == json.loads(body)
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert not {"cookie", "x-secret"} & set(asked.headers) and "client-key" not in str(asked.headers)


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_streams_come_byte_for_byte(pair, line_end):
    shim, upstream = pair
    text = (b": hello\n\n" + delta("a") + delta("é") + DONE).replace(b"\n", line_end)
    upstream.answer = stream(*(text[index:index + 7] for index in range(0, len(text), 7)))
    answer = shim.post("/v1/chat/completions", STREAM)
    assert answer.status == 200 and answer.headers["x-engine"] == "upstream"
    assert answer.headers["content-type"].startswith("text/event-stream")
    # A line feed that may follow the last carriage return is nobody's business.
    assert answer.body.rstrip(b"\n") == text.rstrip(b"\n")


def test_nothing_after_done(pair):
    shim, upstream = pair
    upstream.then_stall(STREAM_HEAD + chunk(delta("a") + DONE + delta("b")))
    assert shim.post("/v1/chat/completions", STREAM).body == delta("a") + DONE


def test_models(pair):
    shim, _ = pair
    assert [model["id"] for model in shim.request("GET", "/v1/models").json["data"]] == [MODEL_NAME, "big-one"]
    assert shim.request("GET", "/v1/models/big-one").status == 200


def test_official_sdk(pair):
    shim, upstream = pair
    client = openai.OpenAI(base_url=shim.url, api_key="any", max_retries=0)

    def chat(**more):
        return client.chat.completions.create(model="big-one", messages=MESSAGES, **more)

    raw = client.chat.completions.with_raw_response.create(model="big-one", messages=MESSAGES)
    assert raw.headers["x-engine"] == "upstream" and raw.parse().choices[0].message.content == "From above"
    upstream.answer = stream(delta("a"), delta("b"), DONE)
    assert "".join(piece.choices[0].delta.content for piece in chat(stream=True)) == "ab"
    # However a stream breaks, the SDK's user hears of it, after what came before.
    for ending, code in [(b"", "upstream_error"), (event({"error": {"message": "died", "code": "why"}}), "why"),
                         (event(b'{"a":"\xff"}'), "upstream_error")]:
        upstream.answer = stream(delta("a"), ending) if ending else STREAM_HEAD + chunk(delta("a"))
        pieces = []
        with pytest.raises(openai.APIError) as error:
            pieces.extend(piece for piece in chat(stream=True))
        assert error.value.code == code
    for status, kind in [("429 No", openai.RateLimitError), ("400 No", openai.BadRequestError),
                         ("401 No", openai.InternalServerError), ("500 No", openai.InternalServerError)]:
        upstream.answer = failure(status, "words", Retry_After=7)
        with pytest.raises(kind) as error:
            chat()
        if kind is openai.RateLimitError:
            assert error.value.response.headers["retry-after"] == "7"
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model=MODEL_NAME, messages=MESSAGES, extra_body={"max_tokens": -2})


def test_official_sdk_elsewhere(pair):
    shim, upstream = pair
    client = openai.OpenAI(base_url=shim.url, api_key="any", max_retries=0)
    upstream.answer = whole({"object": "list", "model": "e", "data": [{"index": 0, "embedding": [0.5, 1.5]}]})
    assert client.embeddings.create(model="e", input="x", encoding_format="float").data[0].embedding == [0.5, 1.5]
    upstream.answer = whole({"id": "c", "choices": [{"index": 0, "text": "more", "finish_reason": "stop"}]})
    assert client.completions.create(model="c", prompt="x").choices[0].text == "more"
    upstream.answer = whole({"created": 1, "data": [{"b64_json": PIXEL}]})
    assert client.images.generate(model="i", prompt="x").data[0].b64_json == PIXEL
    part = {"type": "output_text", "text": "yes", "annotations": []}
    upstream.answer = whole({"id": "r", "output": [{"type": "message", "role": "assistant", "content": [part]}]})
    assert client.responses.create(model="r", input="x").output_text == "yes"


def test_stream_of_responses(pair):
    shim, upstream = pair
    client = openai.OpenAI(base_url=shim.url, api_key="any", max_retries=0)
    created, completed = ({"type": f"response.{what}", "sequence_number": 0, "response": {"id": "r", "output": []}}
                          for what in ("created", "completed"))
    upstream.answer = stream(event(created), event(completed))
    assert len(list(client.responses.create(model="r", input="x", stream=True))) == 2
    # It ends, but nothing in it has said so.
    upstream.answer = stream(event(created))
    answer = shim.post("/v1/responses", {"model": "r", "input": "x", "stream": True})
    assert json.loads(answer.events[-1])["type"] == "error"


def test_dalle(pair):
    shim, upstream = pair
    url = "https://images.example/1.png"
    upstream.answer = whole({"data": [{"url": url, "revised_prompt": "x"}]})
    answer = shim.post("/dalle", {"prompt": "a cat"})
    assert answer.status == 200 and answer.json == {"url": url} and answer.headers["x-engine"] == "upstream"
    assert upstream.requests[-1].path == "/v1/images/generations"
    assert upstream.requests[-1].json == {
        "prompt": "a cat", "model": "dall-e-3", "n": 1, "quality": "hd", "response_format": "url",
        "size": "1024x1024", "style": "natural"}
    upstream.answer = whole({"data": [{"b64_json": PIXEL}]})
    fields = {
        "prompt": "x", "model": "m", "n": 1, "quality": "q", "response_format": "b64_json", "size": "s", "style": "t"}
    assert shim.post("/dalle", fields).json == {"url": f"data:image/png;base64,{PIXEL}"}
    assert upstream.requests[-1].json == fields
    for wrong in ({"prompt": None}, {"n": 2}, {"n": "1"}, {"size": 3}):
        answer = shim.post("/dalle", fields | wrong)
        assert answer.status == 400 and answer.error["param"] == next(iter(wrong))
    images = {"data": [{"url": url}, {"b64_json": PIXEL}]}
    upstream.answer = whole(images)
    body = {"prompt": "a cat", "n": 2, "size": "256x256", "response_format": "b64_json", "unknown": True}
    assert shim.post("/v1/images/generations", body).json == images
    assert upstream.requests[-1].json == body


@pytest.mark.parametrize("garbage", [
    {}, {"data": None}, {"data": []}, {"data": [{}]}, {"data": [{"url": 3}]}, {"data": [{"url": ""}]},
    {"data": [{"url": "javascript:alert(1)"}]}, {"data": [{"b64_json": "PGh0bWw+"}]}])
def test_no_image(pair, garbage):
    shim, upstream = pair
    upstream.answer = whole(garbage)
    answer = shim.post("/dalle", {"prompt": "a cat"})
    assert answer.status == 502 and answer.error["code"] == "upstream_error"


@pytest.mark.parametrize("image", [PIXEL, f"data:image/png;base64,{PIXEL}", "https://images.example/a.png"])
def test_vision(pair, image):
    shim, upstream = pair
    for field, model, asked in [
            ("prompt", None, "big-one"), ("question", "imageReader", "imageReader"), ("prompt", MODEL_NAME, "big-one")]:
        answer = shim.post("/vision", {field: "What?", "image": image, "model": model})
        assert answer.status == 200 and answer.json == {"role": "assistant", "content": "From above"}
        assert upstream.requests[-1].json["model"] == asked
    (text, picture), = (message["content"] for message in upstream.requests[-1].json["messages"])
    assert text == {"type": "text", "text": "What?"}
    assert picture["image_url"]["url"] == (image if ":" in image else f"data:image/png;base64,{image}")


@pytest.mark.parametrize("body, param", [
    ({"prompt": "x"}, "image"), ({"image": PIXEL}, "prompt"), ({"prompt": "x", "image": "nonsense"}, "image"),
    ({"prompt": "x", "image": "file:///etc/passwd"}, "image"), ({"prompt": "x", "image": "data:text/html,x"}, "image"),
    ({"prompt": "x", "image": {"url": "https://images.example/a.png"}}, "image")])
def test_no_vision(pair, body, param):
    shim, upstream = pair
    answer = shim.post("/vision", body)
    assert answer.status == 400 and answer.error["param"] == param and not upstream.requests
    assert shim.post("/vision", b"--x--", {"Content-Type": "multipart/form-data; boundary=x"}).status == 415


def test_pictures_in_a_chat(pair):
    shim, upstream = pair
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    parts = [{"type": "text", "text": "x"}, picture]
    body = {"model": MODEL_NAME, "messages": [{"role": "user", "content": parts}]}
    assert shim.post("/v1/chat/completions", body).headers["x-engine"] == "upstream"
    assert upstream.requests[-1].json == body | {"model": "big-one"}


def test_without_an_upstream(tmp_path):
    with Shim(tmp_path) as shim:
        for path, body in [("/dalle", {"prompt": "x"}), ("/vision", {"prompt": "x", "image": PIXEL}),
                           ("/v1/images/generations", {"prompt": "x"})]:
            answer = shim.post(path, body)
            assert answer.status == 501 and answer.error["code"] == "upstream_not_configured"
            assert "--upstream" in answer.error["message"]
        answer = shim.post("/v1/chat/completions", ASK)
        assert answer.status == 404 and answer.error["code"] == "model_not_found"
        assert answer.headers["x-engine"] == "local"


def test_help_when_busy_or_too_small(tmp_path):
    with FakeUpstream() as upstream, start_with_upstream(
            tmp_path, upstream.url, "--upstream-when", "busy,too-long") as shim:
        long = {"model": MODEL_NAME, "messages": [{"role": "user", "content": "word " * 5000}]}
        answer = shim.post("/v1/chat/completions", long)
        assert answer.status == 200 and answer.headers["x-engine"] == "upstream"
        assert upstream.requests[-1].json == long | {"model": "big-one"}
        assert shim.post("/chatgpt-simple", {"prompt": "word " * 5000}).json["content"] == "From above"
        wait_until(lambda: '"passed_over":"too-long"' in shim.log)
        crowd = {"model": MODEL_NAME, "messages": MESSAGES, "n": 4, "temperature": 1, "max_tokens": 60}
        answers = all_at_once(230, lambda: shim.post("/v1/chat/completions", crowd))
        assert {answer.status for answer in answers} == {200}
        assert {answer.headers["x-engine"] for answer in answers} == {"local", "upstream"}
        # If it is no help, what was wrong here is of more use.
        upstream.answer = failure("500 No", "words")
        answer = shim.post("/v1/chat/completions", long)
        assert answer.status == 400 and answer.error["code"] == "context_length_exceeded"
        assert answer.headers["x-engine"] == "local"


def test_rate_limits_are_per_key(tmp_path):
    (tmp_path / "keys").write_text("key-number-one\nkey-number-two\n")
    with Shim(tmp_path, "--rate-limit", "5", "--api-key-file", "keys") as shim:
        body = {"model": MODEL_NAME, "max_tokens": 1, "messages": MESSAGES}
        one, two = ({"Authorization": f"Bearer key-number-{number}"} for number in ("one", "two"))
        answers = [shim.post("/v1/chat/completions", body, one) for _ in range(6)]
        assert [answer.status for answer in answers] == 5 * [200] + [429]
        assert answers[5].error["code"] == "rate_limit_exceeded" and 1 <= int(answers[5].headers["retry-after"]) <= 60
        assert shim.post("/v1/chat/completions", body, two).status == 200
        assert shim.post("/v1/chat/completions", body, {"x-api-key": "key-number-one"}).status == 429
        assert shim.request("GET", "/v1/models", headers=one).status == 200
