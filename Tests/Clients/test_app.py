"""The chat app, written from its contract: what it may send, and what somebody makes of it who has listened."""

import json
import socket

import pytest

from conftest import SECRETS, start_with_clients
from support import App, all_at_once, app_headers, is_refused, now, unique, wait_until

KEY = SECRETS["APP_KEY"]
MESSAGES = [{"role": "user", "content": "What is the capital of France?"}]


@pytest.fixture(scope="module")
def app(shim):
    return App(shim, KEY)


@pytest.mark.parametrize("body", [
    MESSAGES, {"messages": [*MESSAGES, {"role": "assistant", "content": "Rome"}, *MESSAGES]}])
def test_chat(app, body):
    answer = app.post("/chatgpt", body)
    assert answer.status == 200 and set(answer.json) == {"role", "content"} and "Paris" in answer.json["content"]
    assert answer.headers["x-engine"] == "local"


@pytest.mark.parametrize("path", [
    "", "?x=1", "/", "/v2/here?query=%20", "/a%20b%2Fc", "/%e4%b8%ad", "/%E4%B8%AD", "/..%2f", "//x", "/a;b=c"])
def test_what_follows_the_endpoint_is_signed_as_sent(app, path):
    answer = app.post("/chatgpt-simple" + path)
    assert answer.status == 200 and answer.json["role"] == "assistant", answer


@pytest.mark.parametrize("prompt, status", [
    ("日本語 🦊 é", 200), ("a\0b", 200), ("", 200), (1, 400), (None, 400), ("word " * 100_000, 400)])
def test_prompts(app, prompt, status):
    answer = app.post("/chatgpt-simple", {"prompt": prompt})
    assert answer.status == status and (status == 200 or answer.error["param"] == "prompt"), answer


@pytest.mark.parametrize("body", [b"", b"garbage", b"[]", b"\xff\xfe", b'{"prompt":"\\ud83e"}', b"[" * 200])
def test_bodies_that_are_none(app, body):
    answer = app.post("/chatgpt-simple", body)
    assert answer.status == 400 and answer.error


def test_sessions_open_their_own_routes(shim):
    app = App(shim, KEY)
    assert app.expires_at - now() == pytest.approx(900, abs=60)
    assert app.get("/v1/models").status == 200
    for path in ("/metrics", "/api/suggest", "/tokenize"):
        assert is_refused(app.get(path)), path
    assert is_refused(app.post("/auth_token"))
    for key in (KEY, app.token):
        assert shim.post("/chatgpt", MESSAGES, {"Authorization": f"Bearer {key}"}).status == 401
    body = unique()
    assert is_refused(shim.post("/chatgpt-simple", body, app_headers(KEY, "/chatgpt-simple", body)))


def raw(app, body, headers=(), version="1.1", framing=None):
    pairs = [*app_headers(app.token, "/chatgpt-simple", body).items(), *headers]
    pairs.append(framing or ("Content-Length", str(len(body))))
    lines = "".join(f"{name}: {value}\r\n" for name, value in pairs)
    return f"POST /chatgpt-simple HTTP/{version}\r\nHost: 127.0.0.1\r\nConnection: close\r\n{lines}\r\n".encode()


def test_framing_makes_no_difference(shim, app):
    body = unique()
    assert b" 200 " in shim.exchange(raw(app, body, version="1.0") + body).split(b"\r\n")[0]
    body = unique()
    chunks = b"".join(b"1;x=y\r\n%c\r\n" % byte for byte in body) + b"0\r\nX-Trailer: 1\r\n\r\n"
    reply = shim.exchange(raw(app, body, framing=("Transfer-Encoding", "chunked")) + chunks)
    assert reply.startswith(b"HTTP/1.1 200")
    body = unique()
    with socket.create_connection(("127.0.0.1", shim.port)) as client:
        client.sendall(raw(app, body, [("Expect", "100-continue")]))
        assert client.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(body)
        assert client.recv(1000).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("change", [
    lambda name, value: (name.upper(), value), lambda name, value: (name, f"  {value} \t"),
    lambda name, value: (name, value.upper())])
def test_headers_spelt_otherwise(shim, app, change):
    body = unique()
    pairs = [change(*pair) for pair in app_headers(app.token, "/chatgpt-simple", body).items()]
    assert shim.post("/chatgpt-simple", body, pairs).status == 200
    assert is_refused(shim.post("/chatgpt-simple", body, pairs))


@pytest.mark.parametrize("text", [
    "{}.0", "{}000", "+{}", "-{}", "0x{:x}", "{}e0", "", "NaN", "9" * 400, "-1", "18446744073709551616",
    "9223372036854775807", "-9223372036854775808", "{},{}"])
def test_times_that_are_none(app, text):
    assert is_refused(app.post("/chatgpt-simple", timestamp=text.format(now(), now())))


@pytest.mark.parametrize("skew, is_good", [(-290, True), (290, True), (-310, False), (310, False)])
def test_clock_skew(app, skew, is_good):
    answer = app.post("/chatgpt-simple", timestamp=now() + skew)
    assert answer.status == 200 if is_good else is_refused(answer)


def test_altered(shim, app):
    # Unlike what another test sends in the same second.
    messages = [{"role": "user", "content": json.loads(unique())["prompt"]}]
    path, body, time = "/chatgpt", json.dumps(messages).encode(), now() - 1
    good = app_headers(app.token, path, body, time)
    (_, signature), (_, timestamp) = pairs = list(good.items())
    flipped = ("1" if signature[0] == "0" else "0") + signature[1:]
    bad = {
        "body": ("POST", path, body + b" ", good),
        "path": ("POST", "/chatgpt-simple", body, good),
        "extension": ("POST", path + "/", body, good),
        "encoded": ("POST", "/chat%67pt", body, good),
        "method": ("PUT", path, body, good),
        "time": ("POST", path, body, good | {"x-timestamp": str(time + 1)}),
        "spelt otherwise": ("POST", path, body, good | {"x-timestamp": f"0{timestamp}"}),
        "signature": ("POST", path, body, good | {"x-signature": flipped}),
        "short": ("POST", path, body, good | {"x-signature": signature[:-2]}),
        "none": ("POST", path, body, good | {"x-signature": ""}),
        "no time": ("POST", path, body, pairs[:1]),
        "two signatures": ("POST", path, body, [*pairs, ("X-Signature", signature)]),
        "two times": ("POST", path, body, [("X-Timestamp", "0"), *pairs]),
    }
    words = set()
    for name, request in bad.items():
        answer = shim.request(*request)
        assert is_refused(answer), (name, answer)
        words.add(answer.error["message"])
    assert len(words) == 1, "a refusal says what was wrong"
    assert shim.post(path, body, good).status == 200, "none of these may have used it up"
    for target in (path, path + "?x=1"):
        assert is_refused(shim.post(target, body, good))


@pytest.mark.parametrize("path", ["/chatgpt-simple", "/auth_token"])
def test_of_equal_requests_at_once_one_wins(shim, app, path):
    body = unique()
    headers = app_headers(KEY if path == "/auth_token" else app.token, path, body)
    statuses = all_at_once(50, lambda: shim.post(path, body, headers).status)
    assert sorted(statuses) == [200] + 49 * [401]


def test_expired_session(tmp_path):
    with start_with_clients(tmp_path, token_seconds=2) as shim:
        app = App(shim, KEY)
        assert app.post("/chatgpt-simple").status == 200
        wait_until(lambda: app.expires_at <= now())
        assert is_refused(app.post("/chatgpt-simple"))
        app.sign_in()
        assert app.post("/chatgpt-simple").status == 200


def test_more_sessions_than_there_is_room_for(tmp_path):
    with start_with_clients(tmp_path) as shim:
        first, other = App(shim, KEY), App(shim, SECRETS["OTHER_APP_KEY"])
        connection, tokens = shim.connection(), []
        for number in range(4096):
            body = str(number).encode()
            connection.request("POST", "/auth_token", body, app_headers(KEY, "/auth_token", body))
            tokens.append(json.loads(connection.getresponse().read())["token"])
        connection.close()
        assert is_refused(first.get("/v1/models"))
        assert other.get("/v1/models").status == 200
        first.token = tokens[0]
        assert first.get("/v1/models").status == 200
