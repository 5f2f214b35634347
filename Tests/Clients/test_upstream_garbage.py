"""An upstream that answers garbage, breaks off, or does not end: what clients get of it."""

import gzip
import json

import pytest

from fake_upstream import (
    ASK, CHAT, KEY, LAST_CHUNK, STREAM, STREAM_HEAD, ask, chunk, delta, event, failure, head, is_error, stream, whole)
from support import wait_until

CHUNKED = head(Content_Type="application/json", Transfer_Encoding="chunked")

GARBAGE = {
    "no HTTP": b"hello, I am a database\r\n\r\n",
    "a TLS alert": b"\x15\x03\x01\x00\x02\x02\x46",
    "nothing": b"",
    "half a status line": b"HTTP/1.1 20",
    "half a head": b"HTTP/1.1 200 OK\r\nContent-Type: appl",
    "half a body": head(Content_Type="application/json") + b'{"a"',
    "too short": whole(CHAT, Content_Length=10_000),
    "too long": whole(CHAT, Content_Length=10),
    "length negative": whole(CHAT, Content_Length=-1),
    "length absurd": whole(CHAT, Content_Length=10**30),
    "two lengths": head(Content_Length=2, content_length=3) + b"{}",
    "length and chunks": head(Content_Length=2, Transfer_Encoding="chunked") + chunk(b"{}") + LAST_CHUNK,
    "chunk absurd": CHUNKED + b"FFFFFFFFFFFFFFFF\r\n{}",
    "chunk beyond 64 bits": CHUNKED + b"F" * 40 + b"\r\n{}",
    "chunk negative": CHUNKED + b"-2\r\n{}\r\n",
    "in a chunk": CHUNKED + b'50\r\n{"a":',
    "between chunks": CHUNKED + chunk(json.dumps(CHAT).encode()),
    "status 99": head("99 Odd", Content_Length=0),
    "status 999": head("999 Odd", Content_Length=0),
    "HTTP/2": b"HTTP/2 200\r\nContent-Length: 2\r\n\r\n{}",
    "switching": head("101 Switching Protocols", Upgrade="websocket", Connection="Upgrade"),
    "folded": head(X="a\r\n b", Content_Length=2) + b"{}",
    "NUL": head(X="a\0b", Content_Length=2) + b"{}",
    "line feeds": b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
    "HTML": whole(b"<html>Welcome</html>", Content_Type="text/html"),
    "HTML as JSON": whole(b"<html>Welcome</html>"),
    "an empty body": whole(b""),
    "no content": head("204 No Content"),
    "not modified": head("304 Not Modified"),
    "a list": whole([]),
    "no choices": whole({"a": 1}),
    "not UTF-8": whole(b'{"choices":[{"message":{"content":"\xff"}}]}'),
    "UTF-16": whole(json.dumps(CHAT).encode("utf-16-le")),
    "deep": whole(b"[" * 100_000),
    "gzip": whole(gzip.compress(json.dumps(CHAT).encode()), Content_Encoding="gzip"),
    "a redirect": head("307 Elsewhere", Location="http://127.0.0.1:1/", Content_Length=0),
    "500": failure("500 Oops", f"boom {KEY}"),
    "503": whole(b"<html>", "503 Busy", Content_Type="text/html"),
    "401": failure("401 Unauthorized", f"Incorrect API key provided: {KEY}"),
    "402": failure("402 Payment Required", "pay"),
    "403": failure("403 Forbidden", KEY),
    "404": whole(b"<html>", "404 Not Found", Content_Type="text/html"),
    "400 without words": whole(b"", "400 Bad Request"),
}


@pytest.mark.parametrize("body", [ASK, STREAM], ids=["whole", "stream"])
@pytest.mark.parametrize("name", GARBAGE)
def test_garbage(pair, name, body):
    shim, upstream = pair
    upstream.answer = GARBAGE[name]
    assert is_error(ask(shim, body)), name
    assert len(upstream.requests) == 1, "what may have been heard is not said twice"
    assert KEY not in shim.log


def test_refusals_are_passed_on(pair):
    shim, upstream = pair
    for status in (400, 404, 409, 413, 422):
        upstream.answer = failure(f"{status} No", f"bad size, {KEY}", X_Key=KEY)
        for body in (ASK, STREAM):
            answer = ask(shim, body)
            assert is_error(answer, status, "why")
            assert answer.error["message"] == "bad size, …" and answer.error["param"] == "size"
            assert KEY not in str(answer.headers)
    for value, expected in [("7", "7"), ("Fri, 01 Jan 2100 00:00:00 GMT", "86400"), ("soon", "1"), ("-5", "1")]:
        upstream.answer = failure("429 Slowly", "slowly", Retry_After=value)
        answer = ask(shim)
        assert is_error(answer, 429, "why") and answer.headers["retry-after"] == expected
    wait_until(lambda: "upstream: 429 why" in shim.log)
    assert "bad size" not in shim.log and "slowly" not in shim.log, "such words may quote the prompt"


def test_interim_answers(pair):
    shim, upstream = pair
    early = head("100 Continue") + head("103 Early Hints", Link="</x>") + head("102 Processing")
    upstream.answer = early + whole(CHAT)
    assert ask(shim).json == CHAT
    upstream.answer = whole(CHAT) + whole(b"wrong")
    assert ask(shim).json == CHAT


@pytest.mark.parametrize("beginning, piece", [
    (b"", head("103 Early Hints", Link="</x>") * 100), (b"HTTP/1.1 200 OK\r\n", b"X: " + b"x" * 1000 + b"\r\n"),
    (b"HTTP/1.1 200 OK\r\nX: ", b"x" * 65536), (head(Content_Type="application/json") + b'{"a":"', b"x" * 65536),
    (CHUNKED + chunk(b'{"a":"'), chunk(b"x" * 65536)), (STREAM_HEAD + chunk(b"data: "), chunk(b"x" * 65536))],
    ids=["interim answers", "headers", "a header", "a body", "chunks", "an event"])
def test_without_end(pair, beginning, piece):
    shim, upstream = pair
    upstream.then_repeat(beginning, piece)
    is_stream = beginning.startswith(STREAM_HEAD)
    assert is_error(ask(shim, STREAM if is_stream else ASK))
    upstream.wait_until_left()
    assert shim.megabytes < 400


@pytest.mark.parametrize("ending", [
    b"", delta("b")[:30], b"hello\n\n", b"data: {nope\n\n", b'data: {"a":"\xff"}\n\n', b"data: 1\n\n", b"<html>\n\n",
    event(b"[" * 100_000), event({"error": {"message": f"died of {KEY}", "code": "upstream_error"}})])
@pytest.mark.parametrize("end", [LAST_CHUNK, b""], ids=["ends", "drops"])
def test_stream_that_breaks(pair, ending, end):
    shim, upstream = pair
    upstream.answer = STREAM_HEAD + chunk(delta("a")) + (chunk(ending) if ending else b"") + end
    answer = ask(shim, STREAM)
    assert answer.status == 200 and answer.body.startswith(delta("a"))
    assert KEY.encode() not in answer.body
    assert len(answer.events) == 2, "one error, and no [DONE]"
    assert json.loads(answer.events[1])["error"]["code"] == "upstream_error"


def test_error_in_place_of_a_stream(pair):
    shim, upstream = pair
    upstream.answer = stream(event({"error": {"message": f"No {KEY}", "code": "why"}}))
    answer = ask(shim, STREAM)
    assert is_error(answer, 502, "why") and answer.error["message"] == "No …"
