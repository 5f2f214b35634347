"""An upstream that stalls, drops and answers garbage: what clients get, and what the shim keeps of it."""

import gzip
import json
import socket
import ssl
import subprocess
import threading
import time

import pytest

from conftest import UPSTREAM_KEY, start_with_upstream
from fake_upstream import (
    CHAT, DONE, LAST_CHUNK, STREAM_HEAD, FakeUpstream, chunk, delta, event, failure, head, stream, whole)
from support import MODEL_NAME, all_at_once, wait_until

ASK = {"model": "big-one", "messages": [{"role": "user", "content": "Hello"}]}
STREAM = ASK | {"stream": True}
CHUNKED = head(Content_Type="application/json", Transfer_Encoding="chunked")


def ask(shim, body=ASK):
    return shim.post("/v1/chat/completions", body)


def is_error(answer, status=502, code="upstream_error"):
    assert UPSTREAM_KEY.encode() not in answer.body and answer.headers["x-engine"] == "upstream"
    return (answer.status, answer.error["code"]) == (status, code)


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
    "500": failure("500 Oops", f"boom {UPSTREAM_KEY}"),
    "503": whole(b"<html>", "503 Busy", Content_Type="text/html"),
    "401": failure("401 Unauthorized", f"Incorrect API key provided: {UPSTREAM_KEY}"),
    "402": failure("402 Payment Required", "pay"),
    "403": failure("403 Forbidden", UPSTREAM_KEY),
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
    assert UPSTREAM_KEY not in shim.log


def test_refusals_are_passed_on(pair):
    shim, upstream = pair
    for status in (400, 404, 409, 413, 422):
        upstream.answer = failure(f"{status} No", f"bad size, {UPSTREAM_KEY}", X_Key=UPSTREAM_KEY)
        for body in (ASK, STREAM):
            answer = ask(shim, body)
            assert is_error(answer, status, "why")
            assert answer.error["message"] == "bad size, …" and answer.error["param"] == "size"
            assert UPSTREAM_KEY not in str(answer.headers)
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
    event(b"[" * 100_000), event({"error": {"message": f"died of {UPSTREAM_KEY}", "code": "upstream_error"}})])
@pytest.mark.parametrize("end", [LAST_CHUNK, b""], ids=["ends", "drops"])
def test_stream_that_breaks(pair, ending, end):
    shim, upstream = pair
    upstream.answer = STREAM_HEAD + chunk(delta("a")) + (chunk(ending) if ending else b"") + end
    answer = ask(shim, STREAM)
    assert answer.status == 200 and answer.body.startswith(delta("a"))
    assert UPSTREAM_KEY.encode() not in answer.body
    assert len(answer.events) == 2, "one error, and no [DONE]"
    assert json.loads(answer.events[1])["error"]["code"] == "upstream_error"


def test_error_in_place_of_a_stream(pair):
    shim, upstream = pair
    upstream.answer = stream(event({"error": {"message": f"No {UPSTREAM_KEY}", "code": "why"}}))
    answer = ask(shim, STREAM)
    assert is_error(answer, 502, "why") and answer.error["message"] == "No …"


@pytest.mark.parametrize("beginning", [b"", b"HTTP/1.1 200 OK\r\nContent-", whole(CHAT)[:-10], STREAM_HEAD],
                         ids=["nothing", "a head", "a body", "a stream"])
def test_stalls(pair, beginning):
    shim, upstream = pair
    upstream.then_stall(beginning)
    assert is_error(ask(shim, STREAM if beginning is STREAM_HEAD else ASK), 504, "upstream_timeout")
    upstream.wait_until_left()


def test_stalls_in_a_stream(pair):
    shim, upstream = pair
    upstream.then_stall(STREAM_HEAD + chunk(delta("a")))
    answer = ask(shim, STREAM)
    assert len(answer.events) == 2 and json.loads(answer.events[1])["error"]["code"] == "upstream_timeout"


@pytest.mark.parametrize("body", [ASK, STREAM], ids=["whole", "stream"])
def test_a_client_that_leaves_ends_it(pair, body):
    shim, upstream = pair
    asked = threading.Event()

    def answer(connection):
        asked.set()
        upstream.then_stall()
        upstream.answer(connection)

    upstream.answer = answer
    connection = shim.connection()
    connection.request("POST", "/v1/chat/completions", json.dumps(body))
    assert asked.wait(30)
    connection.close()
    upstream.wait_until_left()


def test_slow_clients_slow_it_down(pair):
    """What the clients do not take waits in the upstream, and in the sockets between."""
    shim, upstream = pair
    memory, sent = shim.megabytes, [0]

    def answer(connection):
        connection.sendall(STREAM_HEAD)
        while True:
            connection.sendall(chunk(delta("x" * 10_000)))
            sent[0] += 1

    upstream.answer = answer
    clients = [shim.connection() for _ in range(4)]
    for client in clients:
        client.request("POST", "/v1/chat/completions", json.dumps(STREAM))
    last = [-1]

    def waits():
        last[0], before = sent[0], last[0]
        time.sleep(1)
        return sent[0] == before > 0

    wait_until(waits)
    assert shim.megabytes < memory + 64
    for client in clients:
        client.close()
    upstream.wait_until_left()


def test_circuit(tmp_path):
    with FakeUpstream() as upstream, start_with_upstream(tmp_path, upstream.url) as shim:
        upstream.answer = failure("500 No", "words")
        for _ in range(5):
            assert is_error(ask(shim))
        answer = ask(shim, STREAM)
        opened = time.monotonic()
        assert is_error(answer, 503, "upstream_unavailable") and 1 <= int(answer.headers["retry-after"]) <= 30
        assert len(upstream.requests) == 5
        assert shim.request("GET", "/health").json == {"status": "ok", "upstream": "open"}
        local = {"model": MODEL_NAME, "max_tokens": 2, "messages": ASK["messages"]}
        assert ask(shim, local).headers["x-engine"] == "local"
        wait_until(lambda: time.monotonic() > opened + 30.5)

        # One tries; if its client leaves, another may.
        asked = threading.Event()

        def answer_late(connection):
            asked.set()
            upstream.has_been_left.wait(30)

        upstream.answer = answer_late
        connection = shim.connection()
        connection.request("POST", "/v1/chat/completions", json.dumps(ASK))
        assert asked.wait(30)
        assert is_error(ask(shim), 503, "upstream_unavailable")
        connection.close()
        upstream.has_been_left.set()
        upstream.answer = whole(CHAT)
        wait_until(lambda: ask(shim).status == 200)
        assert shim.request("GET", "/health").json["upstream"] == "closed"


def test_nobody_there(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
    with start_with_upstream(tmp_path, url) as shim:
        answer = ask(shim)
        assert is_error(answer) and url.split("/")[2] not in answer.error["message"]
        assert [model["id"] for model in shim.request("GET", "/v1/models").json["data"]] == [MODEL_NAME]


def test_nothing_is_left_behind(pair):
    shim, upstream = pair
    all_at_once(8, lambda: ask(shim))
    wait_until(lambda: shim.descriptors < 32)
    descriptors, memory = shim.descriptors, shim.megabytes
    for number, data in enumerate([*GARBAGE.values()] * 4):
        upstream.answer = data
        ask(shim, STREAM if number % 2 else ASK)
        if number % 4 == 3:
            upstream.answer = whole(CHAT)
            assert ask(shim).status == 200
    wait_until(lambda: shim.descriptors <= descriptors)
    assert shim.megabytes < memory + 64


def test_tls(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with FakeUpstream() as upstream:
        upstream.serve_plain, upstream.serve = upstream.serve, lambda connection: serve(connection)
        url = upstream.url.replace("http", "https")

        def serve(connection):
            try:
                upstream.serve_plain(context.wrap_socket(connection, server_side=True))
            except OSError:
                connection.close()

        with start_with_upstream(tmp_path, url) as shim:
            assert is_error(ask(shim)) and not upstream.requests
            wait_until(lambda: "self-signed certificate" in shim.log)
        with start_with_upstream(tmp_path, url, SSL_CERT_FILE=str(certificate)) as shim:
            assert ask(shim).json == CHAT
            # Without a length, the connection's end is the answer's; cut by somebody on the way, it is not TLS's.
            upstream.answer = head(Content_Type="application/json") + json.dumps(CHAT).encode()
            assert is_error(ask(shim))
            upstream.answer = head(Content_Type="text/event-stream") + delta("a")
            answer = ask(shim, STREAM)
            assert len(answer.events) == 2 and "error" in json.loads(answer.events[1])
            upstream.answer = head(Content_Type="text/event-stream") + delta("a") + DONE
            assert ask(shim, STREAM).body == delta("a") + DONE
