"""The three kinds of client that sign or show tokens, written from their contracts with nothing of ours: docs/clients.md."""

import hashlib
import hmac
import http.client
import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest

from conftest import is_ready

PRODUCT = "5b1e4f0a-6f0c-4b8e-9a53-0f2f3f1f7a10"
SECRETS = {
    "APP_KEY": "app-key-0123456789abcdef", "PUBLIC_KEY": "pk_v1_public", "SECRET_KEY": "sk_v1_secret",
    "PARTNER_SECRET": "partner-secret-0123456789", "LOCALLLM_API_KEY": "sk-plain-key",
}
CONFIGURATION = {
    "apps": [{"id": "chat", "auth_key": {"env": "APP_KEY"}}],
    "products": [{
        "id": PRODUCT, "public_key": {"env": "PUBLIC_KEY"}, "secret_key": {"env": "SECRET_KEY"},
        "app_identifiers": ["org.example.notes"]}],
    "partners": [{"id": "acme", "secret": {"env": "PARTNER_SECRET"}}],
    "state_file": "state",
}
MESSAGES = [{"role": "user", "content": "What is the capital of France?"}]
REFUSED = {"message", "type", "param", "code"}


class Shim:
    """A server with all three schemes, in a folder that it leaves its state in."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "clients.json").write_text(json.dumps(CONFIGURATION))
        self.start()

    def start(self):
        self.log = open(self.folder / "log", "a")
        command = [os.path.abspath(os.environ["SHIM"]), "--model", os.path.abspath(os.environ["MODEL"]), "--port", "0"]
        self.process = subprocess.Popen(
            command + ["--auth-config", "clients.json", "--log-prompts"], cwd=self.folder, text=True,
            env=dict(os.environ, **SECRETS), stdout=subprocess.PIPE, stderr=self.log)
        self.address = re.search(r"127\.0\.0\.1:\d+", self.process.stdout.readline()).group()
        while self.process.poll() is None and not is_ready(f"http://{self.address}"):
            time.sleep(0.05)

    def stop(self, kill=False):
        self.process.kill() if kill else self.process.terminate()
        self.process.wait(timeout=60)
        self.log.close()

    def send(self, method, target, body=b"", headers=()):
        """Exactly these headers, of which one may come twice."""
        connection = http.client.HTTPConnection(self.address, timeout=120)
        connection.putrequest(method, target)
        for name, value in [*headers, ("Content-Length", str(len(body)))]:
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, json.loads(text) if text else None


def app_headers(key, method, path, body=b"", timestamp=None):
    timestamp = str(int(time.time()) if timestamp is None else timestamp)
    canonical = f"{method}\n{path}\n{timestamp}\n{hashlib.sha256(body).hexdigest()}"
    signature = hmac.new(key.encode(), canonical.encode(), hashlib.sha256).hexdigest()
    return [("x-signature", signature), ("x-timestamp", timestamp)]


def partner_headers(method, path, body=b"", timestamp=None, secret=SECRETS["PARTNER_SECRET"], identity="acme"):
    timestamp = str(int(time.time()) if timestamp is None else timestamp)
    message = (identity + method + path).encode() + body + timestamp.encode()
    signature = hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()
    return [("X-Api-Id", identity), ("X-Nonce", timestamp), ("X-Signature", signature)]


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    shim = Shim(tmp_path_factory.mktemp("shim"))
    yield shim
    shim.stop()


counter = iter(range(1, 1_000_000))


def unique():
    """A body unlike any other, so that two requests of a second are not the same request."""
    return json.dumps({"nonce": next(counter)}).encode()


def session(shim):
    body = unique()
    status, answer = shim.send("POST", "/auth_token", body, app_headers(SECRETS["APP_KEY"], "POST", "/auth_token", body))
    assert status == 200, answer
    assert time.time() < answer["expires_at"] < time.time() + 3600
    return answer["token"]


def chat(shim, token, path="/chatgpt", **how):
    body = json.dumps(MESSAGES).encode()
    return shim.send("POST", path, body, app_headers(token, "POST", path, body, **how))


def is_refused(answer):
    status, body = answer
    return status == 401 and set(body["error"]) == REFUSED and body["error"]["code"] == "invalid_signature"


def test_app(shim):
    token = session(shim)
    status, answer = chat(shim, token)
    assert status == 200 and set(answer) == {"role", "content"} and "Paris" in answer["content"]
    body = json.dumps({"prompt": "Hello"}).encode()
    for path in ("/chatgpt-simple", "/chatgpt-simple/v2/here?query=1", "/chatgpt-simple/a%20b"):
        signed = path.split("?")[0]
        status, answer = shim.send("POST", path, body, app_headers(token, "POST", signed, body))
        assert status == 200 and answer["role"] == "assistant" and answer["content"], path


def test_app_refused(shim):
    token = session(shim)
    body = json.dumps(MESSAGES).encode()
    now = int(time.time())
    good = app_headers(token, "POST", "/chatgpt", body, now - 1)
    signature, timestamp = good
    bad = {
        "no timestamp": ("POST", "/chatgpt", body, [signature]),
        "body": ("POST", "/chatgpt", body + b" ", good),
        "path": ("POST", "/chatgpt-simple", body, good),
        "extension": ("POST", "/chatgpt/", body, good),
        "encoded": ("POST", "/chat%67pt", body, good),
        "method": ("PUT", "/chatgpt", body, good),
        "HEAD": ("HEAD", "/chatgpt", body, good),
        "other time": ("POST", "/chatgpt", body, [signature, ("x-timestamp", str(now))]),
        "spelt otherwise": ("POST", "/chatgpt", body, [signature, ("x-timestamp", f"0{now - 1}")]),
        "twice": ("POST", "/chatgpt", body, [*good, signature]),
        "two times": ("POST", "/chatgpt", body, [*good, timestamp]),
        "old": ("POST", "/chatgpt", body, app_headers(token, "POST", "/chatgpt", body, now - 310)),
        "early": ("POST", "/chatgpt", body, app_headers(token, "POST", "/chatgpt", body, now + 310)),
        "milliseconds": ("POST", "/chatgpt", body, app_headers(token, "POST", "/chatgpt", body, now * 1000)),
        "auth key": ("POST", "/chatgpt", body, app_headers(SECRETS["APP_KEY"], "POST", "/chatgpt", body)),
        "token for a token": ("POST", "/auth_token", b"", app_headers(token, "POST", "/auth_token")),
        "elsewhere": ("GET", "/metrics", b"", app_headers(token, "GET", "/metrics")),
    }
    for name, request in bad.items():
        status, answer = shim.send(*request)
        assert status == 401 and (answer is None or is_refused((status, answer))), (name, status, answer)
    for headers in ([], [timestamp]):
        assert shim.send("POST", "/chatgpt", body, headers)[0] == 401
    for headers in ([], [timestamp]):
        assert shim.send("POST", "/chatgpt", body, headers)[0] == 401
    assert shim.send("POST", "/chatgpt", body, good)[0] == 200, "none of these may have used it up"
    assert is_refused(shim.send("POST", "/chatgpt", body, good))


def test_clock_skew(shim):
    token = session(shim)
    for skew in (-290, 290):
        assert chat(shim, token, timestamp=int(time.time()) + skew)[0] == 200


def test_of_equal_requests_at_once_one_wins(shim):
    token = session(shim)
    body = json.dumps({"prompt": "Hi"}).encode()
    headers = app_headers(token, "POST", "/chatgpt-simple", body)
    statuses = []
    threads = [
        threading.Thread(target=lambda: statuses.append(shim.send("POST", "/chatgpt-simple", body, headers)[0]))
        for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] + 7 * [401]


def test_partner(shim):
    body = json.dumps({"messages": MESSAGES}).encode()
    headers = partner_headers("POST", "/v1/models")
    assert shim.send("POST", "/v1/models", b"", headers)[0] == 405
    headers = partner_headers("GET", "/v1/models")
    assert shim.send("GET", "/v1/models?limit=2", b"", headers)[0] == 200
    assert is_refused(shim.send("GET", "/v1/models", b"", headers))
    assert shim.send("POST", "/chatgpt", body, partner_headers("POST", "/chatgpt", body))[0] == 200
    for headers in (
            partner_headers("POST", "/chatgpt", body + b" "), partner_headers("POST", "/chatgpt", body, secret="wrong"),
            partner_headers("POST", "/chatgpt", body, identity="acm"),
            partner_headers("POST", "/chatgpt", body, timestamp=int(time.time()) - 310),
            partner_headers("POST", "/chatgpt", body, timestamp=int(time.time()) + 310),
            partner_headers("POST", "/chatgpt", body)[:2], partner_headers("POST", "/chatgpt", body)[1:]):
        assert is_refused(shim.send("POST", "/chatgpt", body, headers)), headers


def suggest(shim, authorization, headers=(), **fields):
    body = json.dumps({"text": "The capital of", **fields}).encode()
    return shim.send("POST", "/api/suggest", body, [("Authorization", authorization), *headers])


def test_sdk(shim):
    app = ("X-App-Identifier", "org.example.notes")
    for scheme in ("Bearer", "Basic"):
        status, answer = suggest(shim, f"{scheme} {SECRETS['PUBLIC_KEY']}", [app])
        assert status == 200
        texts = [suggestion["text"] for suggestion in answer["suggestions"]]
        assert len(texts) == len(set(texts)) == 3, texts
    for headers in ([], [("X-App-Identifier", "org.example.other")], [app, app]):
        assert suggest(shim, f"Bearer {SECRETS['PUBLIC_KEY']}", headers)[0] == 401
    assert suggest(shim, "Bearer pk_v1_publi", [app])[0] == 401

    status, answer = suggest(shim, f"Bearer {SECRETS['SECRET_KEY']}", [app])
    assert status == 401 and answer["error"]["code"] == "secret_key_refused"
    assert SECRETS["SECRET_KEY"] not in json.dumps(answer)

    def token(key, product=PRODUCT):
        return shim.send(
            "POST", "/api/auth/token", json.dumps({"product_id": product}).encode(), [("Authorization", f"Bearer {key}")])

    status, answer = token(SECRETS["SECRET_KEY"])
    assert status == 200 and set(answer) == {"access_token", "expires_at", "token_type"}
    assert answer["access_token"].startswith("at_v1_") and answer["token_type"] == "Bearer"
    assert time.time() < answer["expires_at"] < time.time() + 86400
    assert suggest(shim, f"Bearer {answer['access_token']}")[0] == 200
    assert suggest(shim, f"Bearer {answer['access_token'][:-1]}x")[0] == 401
    for wrong in ("sk_v1_wrong", SECRETS["PUBLIC_KEY"], answer["access_token"], ""):
        assert token(wrong) == (
            401, {"error": {"code": "INVALID_SECRET_KEY", "message": "The provided secret key is invalid"}})


def test_openai_clients_keep_their_keys(shim):
    headers = [("Authorization", f"Bearer {SECRETS['LOCALLLM_API_KEY']}")]
    assert shim.send("GET", "/v1/models", b"", headers)[0] == 200
    assert shim.send("GET", "/v1/models")[0] == 401
    assert shim.send("GET", "/health")[0] == 200


def test_revoking(tmp_path):
    shim = Shim(tmp_path)
    try:
        token = session(shim)
        assert chat(shim, token)[0] == 200
        (tmp_path / "clients.json").write_text("nonsense")
        shim.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "could not be read as JSON" in (tmp_path / "log").read_text())
        assert chat(shim, token, timestamp=int(time.time()) - 1)[0] == 200
        changed = json.loads(json.dumps(CONFIGURATION))
        changed["apps"][0]["tokens_valid_from"] = int(time.time()) + 1
        (tmp_path / "clients.json").write_text(json.dumps(changed))
        shim.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "took up clients.json" in (tmp_path / "log").read_text())
        assert is_refused(chat(shim, token, timestamp=int(time.time()) - 2))
        time.sleep(1.1)  # a token of the second in which it asks is valid again
        assert chat(shim, session(shim))[0] == 200
    finally:
        shim.stop()


def wait_for(condition):
    deadline = time.time() + 30
    while not condition():
        assert time.time() < deadline
        time.sleep(0.02)


def test_a_restart(tmp_path):
    """Killed, not stopped: sessions go on, and what was sent before cannot be sent again."""
    shim = Shim(tmp_path)
    token = session(shim)
    body = json.dumps({"prompt": "Hi"}).encode()
    signed = app_headers(token, "POST", "/chatgpt-simple", body)
    partner = partner_headers("GET", "/v1/models")
    assert shim.send("POST", "/chatgpt-simple", body, signed)[0] == 200
    assert shim.send("GET", "/v1/models", b"", partner)[0] == 200
    shim.stop(kill=True)
    assert os.stat(tmp_path / "state").st_mode & 0o777 == 0o600
    shim.start()
    try:
        assert is_refused(shim.send("POST", "/chatgpt-simple", body, signed))
        assert is_refused(shim.send("GET", "/v1/models", b"", partner))
        assert chat(shim, token)[0] == 200
    finally:
        shim.stop()
    log = (tmp_path / "log").read_text()
    for secret in [*SECRETS.values(), token, signed[0][1], partner[2][1]]:
        assert secret not in log
