"""A shim of a test's own, to start, kill and look at from outside; and how the clients of docs/clients.md sign."""

import hashlib
import hmac
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

MODEL_NAME = os.path.basename(os.environ.get("MODEL", "")).removesuffix(".gguf")
REFUSED = {"message", "type", "param", "code"}


class Answer:
    """A status, headers and a body, read to its end."""

    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        """What an answer that is an error says, in OpenAI's shape."""
        assert set(self.json["error"]) == REFUSED, self
        return self.json["error"]

    @property
    def events(self):
        """The data of its events."""
        return [line[6:] for line in self.body.decode().splitlines() if line.startswith("data: ")]

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


class Shim:
    """A running server on a free port. Its folder has its log and what it keeps."""

    # The address that requests come from.
    client = "127.0.0.1"

    def __init__(self, folder, *options, environment=None, model=None):
        self.folder, self.options, self.model = folder, options, model or os.environ["MODEL"]
        self.environment = {**os.environ, **(environment or {})}
        self.start()

    def start(self):
        program, model = os.path.abspath(os.environ["SHIM"]), os.path.abspath(self.model)
        command = [program, "--model", model, "--port", "0", *map(str, self.options)]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=log)
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", self.process.stdout.readline()).group(1))
        wait_until(lambda: self.request("GET", "/ready").status == 200)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, kill=False):
        self.process.kill() if kill else self.process.terminate()
        self.process.wait(timeout=60)
        self.process.stdout.close()

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def log(self):
        return (self.folder / "log").read_text()

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120, source_address=(Shim.client, 0))

    def request(self, method, path, body=b"", headers=()):
        """One request over a connection of its own; a body that is no bytes is JSON. Pairs may give a header twice."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        pairs = list(headers.items()) if isinstance(headers, dict) else list(headers)
        connection = self.connection()
        try:
            connection.putrequest(method, path)
            for name, value in [*pairs, ("Content-Length", str(len(data)))]:
                connection.putheader(name, value)
            connection.endheaders(data)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def post(self, path, body=b"", headers=()):
        return self.request("POST", path, body, headers)

    def exchange(self, data):
        """What comes back for these bytes until the shim closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=120, source_address=(Shim.client, 0)) as client:
            client.sendall(data)
            return b"".join(iter(lambda: client.recv(65536), b""))

    @property
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    @property
    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    @property
    def megabytes(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def all_at_once(count, work):
    """What these calls of `work` return, that begin as close together as threads can."""
    barrier, results = threading.Barrier(count), []

    def run():
        barrier.wait()
        results.append(work())

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def bearer(key, **more):
    return {"Authorization": f"Bearer {key}", **more}


# Signatures


def now():
    return int(time.time())


def unique(prompt="Hello"):
    """A body unlike any other, so that two requests of a second are not the same request."""
    return json.dumps({"prompt": f"{prompt} {os.urandom(8).hex()}"}).encode()


def hexadecimal(key, message):
    return hmac.new(key.encode(), message, hashlib.sha256).hexdigest()


def app_headers(key, path, body=b"", timestamp=None, method="POST"):
    timestamp = str(now() if timestamp is None else timestamp)
    canonical = f"{method}\n{path}\n{timestamp}\n{hashlib.sha256(body).hexdigest()}"
    return {"x-signature": hexadecimal(key, canonical.encode()), "x-timestamp": timestamp}


def partner_headers(secret, path, body=b"", timestamp=None, method="POST", identity="acme"):
    timestamp = str(now() if timestamp is None else timestamp)
    message = f"{identity}{method}{path}".encode() + body + timestamp.encode()
    return {"X-Api-Id": identity, "X-Nonce": timestamp, "X-Signature": hexadecimal(secret, message)}


def is_refused(answer):
    return answer.status == 401 and answer.error["code"] == "invalid_signature"


class App:
    """The chat app: its auth key signs for a session, and the session for the rest."""

    def __init__(self, shim, auth_key):
        self.shim, self.auth_key = shim, auth_key
        self.sign_in()

    def sign_in(self):
        body = unique()
        answer = self.shim.post("/auth_token", body, app_headers(self.auth_key, "/auth_token", body))
        assert answer.status == 200, answer
        self.token, self.expires_at = answer.json["token"], answer.json["expires_at"]

    def post(self, path, body=None, timestamp=None):
        body = unique() if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.shim.post(path, body, app_headers(self.token, path.split("?")[0], body, timestamp))

    def get(self, path, timestamp=None):
        return self.shim.request("GET", path, b"", app_headers(self.token, path, b"", timestamp, "GET"))
