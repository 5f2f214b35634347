"""An upstream that stalls, fails again and again, or is somebody else; clients that leave, or take their time."""

import json
import socket
import ssl
import subprocess
import threading
import time

import pytest

from conftest import start_with_upstream
from fake_upstream import (
    ASK, CHAT, DONE, STREAM, STREAM_HEAD, FakeUpstream, ask, chunk, delta, failure, head, is_error, whole)
from support import MODEL_NAME, all_at_once, wait_until
from test_upstream_garbage import GARBAGE


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
        upstream.answer = failure("503 No", "words")
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
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with FakeUpstream(context) as upstream:
        with start_with_upstream(tmp_path, upstream.url) as shim:
            assert is_error(ask(shim)) and not upstream.requests
            wait_until(lambda: "self-signed certificate" in shim.log)
        with start_with_upstream(tmp_path, upstream.url, SSL_CERT_FILE=str(certificate)) as shim:
            assert ask(shim).json == CHAT
            # Without a length, the connection's end is the answer's; cut by somebody on the way, it is not TLS's.
            upstream.answer = head(Content_Type="application/json") + json.dumps(CHAT).encode()
            assert is_error(ask(shim))
            upstream.answer = head(Content_Type="text/event-stream") + delta("a")
            answer = ask(shim, STREAM)
            assert len(answer.events) == 2 and "error" in json.loads(answer.events[1])
            upstream.answer = head(Content_Type="text/event-stream") + delta("a") + DONE
            assert ask(shim, STREAM).body == delta("a") + DONE
