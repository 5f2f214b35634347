#!/usr/bin/env python3
"""Kills replicas behind the balancer while clients use them, and counts what the clients see of it.

It runs deploy/try.sh (with SHIM and MODEL, as there) on free ports and checks that
- turns of a conversation reach the replica that has its beginning in memory, and both replicas get conversations;
- a name given by the client, header or prompt_cache_key, is stronger than the messages, and leads to stored responses;
- a client that leaves is gone for the replica too;
- while each replica in turn is ended by SIGTERM, and then by SIGKILL, under load, no request fails: only a stream that
  had begun on a replica that was killed may break, and after SIGTERM not even that. Both times it is used again;
- replicas that share a folder of models and one of prompts (--cache-dir) find what the other has computed, give the same
  answers while both write, one of them is killed or a model is added, and one whose queue is full gets no requests.

With --secure, the balancer and the replicas speak TLS with certificates made for the test (by `openssl`), the balancer
checks the replicas', and clients need a key; then also
- a request without a key, or with another one, is refused, and so are plain HTTP and TLS before 1.2;
- a replica whose certificate is not signed by the CA gets no request.

usage: SHIM=.build/release/shim deploy/test.py [--secure] [--clients 8] [--conversations 4] [--seed 1]

The bundled model's answers are kept running by a bias against its end tokens. Exit status 1 if anything was not so.
"""
import argparse
import collections
import http.client
import itertools
import json
import os
import pathlib
import random
import re
import signal
import secrets
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import warnings

NAMES = {"1": "one", "2": "two"}
TURNS = 3


class Security:
    """A CA, certificates that it has signed, and a key, in a folder of the test's own."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.key = secrets.token_hex(32)
        self.file("keys").write_text(self.key + "\n")
        for name in ["ca", "other-ca"]:
            self.openssl(f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name} -keyout {name}.key -out {name}.pem")
        self.sign("server", "ca")
        self.context = ssl.create_default_context(cafile=self.file("ca.pem"))

    def sign(self, name, ca):
        """A certificate for this machine; `name`.both has its key with it, as HAProxy reads them."""
        self.openssl(f"req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout {name}.key -out {name}.csr")
        self.file("names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        self.openssl(f"x509 -req -in {name}.csr -CA {ca}.pem -CAkey {ca}.key -CAcreateserial -days 2 -extfile names "
                     f"-out {name}.pem")
        self.file(f"{name}.both").write_text(self.file(f"{name}.pem").read_text() + self.file(f"{name}.key").read_text())

    def file(self, name):
        return pathlib.Path(self.folder.name, name)

    def openssl(self, arguments):
        subprocess.run(["openssl", *arguments.split()], cwd=self.folder.name, check=True, stderr=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)

    @property
    def shim_options(self):
        return ["--api-key-file", self.file("keys"), "--tls-cert", self.file("server.pem"), "--tls-key",
                self.file("server.key")]

    @property
    def environment(self):
        return {"CERTIFICATE": str(self.file("server.both")), "REPLICA_CA": str(self.file("ca.pem"))}


class Setup:
    """try.sh, and what it has said so far. `security`: None for plain HTTP without keys."""

    def __init__(self, security, options=(), model=None):
        self.port = free_ports()
        self.security = security
        self.changed = threading.Condition()
        self.lines = []
        script = pathlib.Path(__file__).with_name("try.sh")
        self.process = subprocess.Popen(
            [script, "--threads", "1", *(security.shim_options if security else []), *options],
            env=os.environ | {"PORT": str(self.port)} | (security.environment if security else {})
            | ({"MODEL": str(model)} if model else {}),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        threading.Thread(target=self.read, daemon=True).start()

    def connection(self, port, timeout=120):
        if self.security:
            return http.client.HTTPSConnection("127.0.0.1", port, timeout=timeout, context=self.security.context)
        return http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    @property
    def headers(self):
        return {"Authorization": f"Bearer {self.security.key}"} if self.security else {}

    def get(self, port, path):
        connection = self.connection(port, timeout=10)
        try:
            connection.request("GET", path, headers=self.headers)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def is_ready(self, port):
        try:
            return self.get(port, "/ready")[0] == 200
        except OSError:
            return False

    def is_busy(self, port):
        """Whether a replica computes an answer."""
        _, text = self.get(port, "/metrics")
        return re.search(r"^shim_generations_running\S* [1-9]", text, re.M) is not None

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip())
                self.changed.notify_all()
        with self.changed:
            self.lines.append("try.sh ended")
            self.changed.notify_all()

    def wait(self, pattern, since=0, seconds=60):
        """The match of the first line from number `since` that has the pattern."""
        def found():
            return next((m for line in self.lines[since:] if (m := re.search(pattern, line))), None)
        with self.changed:
            if not self.changed.wait_for(lambda: found() or "try.sh ended" in self.lines, seconds) or not found():
                raise SystemExit("no line with '%s' in:\n%s" % (pattern, "\n".join(self.lines[-30:])))
            return found()

    def wait_until_used(self, number, since=0, seconds=60):
        """Waits until the balancer listens, a replica is ready and it knows; it takes all for ready when it starts."""
        deadline = time.monotonic() + seconds
        ports = [self.port, self.port + int(number)]
        while not (all(map(self.is_ready, ports)) and self.counts_on(NAMES[number], since)):
            check(time.monotonic() < deadline, f"replica {number} did not come back:\n" + "\n".join(self.lines[-30:]))
            time.sleep(0.1)

    def counts_on(self, name, since):
        pattern = f"Server shim/{name} is (UP|DOWN)"
        states = [m.group(1) for line in self.lines[since:] if (m := re.search(pattern, line))]
        return not states or states[-1] == "UP"

    def pid(self, number):
        pattern = f"^replica {number} pid (\\d+)"
        return int([m.group(1) for line in self.lines if (m := re.search(pattern, line))][-1])

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(40)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise SystemExit("try.sh did not end") from None


def free_ports():
    """A port that is free, with the two after it."""
    while True:
        base = random.randrange(20000, 32000)
        try:
            for port in range(base, base + 3):
                socket.create_server(("127.0.0.1", port)).close()
            return base
        except OSError:
            continue


class Client:
    """Sends requests to the balancer and notes how they ended."""

    def __init__(self, setup):
        self.setup = setup
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.failures = []  # (what, replica or None, whether a byte of the answer had come)
        self.running = collections.Counter()  # replica → streams that have begun on it

    def post(self, path, body, headers={}):
        """Status, replica and decoded body of an answer that is not streamed."""
        connection = self.setup.connection(self.setup.port)
        try:
            headers = {"Content-Type": "application/json"} | self.setup.headers | headers
            connection.request("POST", path, json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, response.getheader("X-Replica"), json.loads(response.read())
        finally:
            connection.close()

    def stream(self, body):
        """The same of a streamed chat completion: its text and usage, as if it had come whole."""
        connection = self.setup.connection(self.setup.port)
        replica, text, usage, done = None, "", {}, False
        try:
            body = body | {"stream": True, "stream_options": {"include_usage": True}}
            headers = {"Content-Type": "application/json"} | self.setup.headers
            connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
            response = connection.getresponse()
            replica = response.getheader("X-Replica")
            if response.status != 200:
                return response.status, replica, json.loads(response.read())
            with self.lock:
                self.running[replica] += 1
            try:
                for line in response:
                    if not line.startswith(b"data: "):
                        continue
                    if line.startswith(b"data: [DONE]"):
                        done = True
                        continue
                    chunk = json.loads(line[6:])
                    usage = chunk.get("usage") or usage
                    for choice in chunk["choices"]:
                        text += choice["delta"].get("content") or ""
            finally:
                with self.lock:
                    self.running[replica] -= 1
            if not done:
                raise ConnectionError("the stream ended early")
        except (OSError, http.client.HTTPException, ValueError) as error:
            # `replica` is known once the head of the answer has come.
            raise Broken(repr(error), replica) from error
        finally:
            connection.close()
        return 200, replica, {"choices": [{"message": {"content": text}}], "usage": usage}

    def converse(self, opening, options, stream):
        """A conversation of three turns: a pair of replica and cached tokens for each turn that was answered."""
        messages = [{"role": "system", "content": "You are brief and kind, and you know stories about rain. " * 4},
                    {"role": "user", "content": opening}]
        turns = []
        for turn in range(TURNS):
            body = {"model": "hearth-4m", "messages": messages, "temperature": 0} | options
            with self.lock:
                self.counts["requests"] += 1
            try:
                status, replica, answer = self.stream(body) if stream else self.post("/v1/chat/completions", body)
            except Broken as broken:
                self.note(f"stream: {broken}", broken.replica)
                return turns
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.note(f"whole: {error!r}", None)
                return turns
            if status != 200:
                self.note(f"status {status}: {answer}", None)
                return turns
            turns.append((replica, answer["usage"]["prompt_tokens_details"]["cached_tokens"]))
            messages += [{"role": "assistant", "content": answer["choices"][0]["message"]["content"]},
                         {"role": "user", "content": f"And then, {turn}?"}]
        return turns

    def note(self, what, begun_on):
        with self.lock:
            self.failures.append((what, begun_on))


class Broken(Exception):
    """A stream that broke; `replica` has its head's X-Replica, and is None where no head had come."""

    def __init__(self, message, replica):
        super().__init__(message)
        self.replica = replica


def check(condition, message):
    if not condition:
        raise SystemExit(f"FAILED: {message}")


def check_affinity(client, random):
    used = collections.Counter()
    for number in range(16):
        turns = client.converse(f"{{x}} story {random.random()} \"é\"", {"max_tokens": 40}, stream=number % 2 == 0)
        check(not client.failures, client.failures)
        check(len({replica for replica, _ in turns}) == 1, f"a conversation went to several replicas: {turns}")
        check(all(cached > 0 for _, cached in turns[1:]), f"a later turn found nothing in memory: {turns}")
        used[turns[0][0]] += 1
    check(set(used) == set(NAMES.values()), f"all conversations went to one replica: {used}")
    print("conversations by replica:", dict(used))

    # What names a conversation outright is stronger than how it begins.
    for names in [lambda n: ({}, {"X-Conversation-Id": n}), lambda n: ({"prompt_cache_key": n}, {})]:
        used = collections.defaultdict(set)
        for name in range(12):
            for opening in ["Hello", "What is rain?", "3 plus 4?"]:
                fields, headers = names(f"name {name}")
                body = {"model": "hearth-4m", "max_tokens": 2, "messages": [{"role": "user", "content": opening}]}
                status, replica, _ = client.post("/v1/chat/completions", body | fields, headers)
                check(status == 200, status)
                used[name].add(replica)
        check(all(len(replicas) == 1 for replicas in used.values()), f"a name went to several replicas: {used}")
        check(len(set.union(*used.values())) == 2, "all names went to one replica")


def check_stored_responses(client):
    replicas = set()
    for number in range(8):
        body = {"model": "hearth-4m", "max_output_tokens": 8, "prompt_cache_key": f"responses {number}"}
        for turn in range(3):
            status, replica, answer = client.post("/v1/responses", body | {"input": f"Hello {turn}"})
            check(status == 200, f"turn {turn} of a stored response: {status} {answer}")
            replicas.add(replica)
            body["previous_response_id"] = answer["id"]
    check(len(replicas) == 2, "all stored responses are at one replica")


def check_leaving(setup, endless):
    since = len(setup.lines)
    body = json.dumps({"model": "hearth-4m", "messages": [{"role": "user", "content": "Go on."}]} | endless)
    connection = setup.connection(setup.port)
    connection.request("POST", "/v1/chat/completions", body, setup.headers)
    while not any(setup.is_busy(setup.port + int(number)) for number in NAMES):
        time.sleep(0.01)
    connection.close()
    setup.wait('"failure":"client_left"', since)


def check_refusals(setup):
    """Who has no key, or does not speak TLS as it should, gets nothing: of the balancer and of a replica."""
    security = setup.security
    for port in range(setup.port, setup.port + 3):
        for headers in [{}, {"Authorization": "Bearer " + security.key[:-1]}, {"X-Api-Key": "0" * 64}]:
            connection = setup.connection(port)
            connection.request("POST", "/v1/chat/completions", "{}", headers)
            check(connection.getresponse().status == 401, f"port {port} did not ask for the key")
            connection.close()
        check(setup.get(port, "/v1/models")[0] == 200, f"port {port} refused the key")
        plain = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        try:
            plain.request("GET", "/v1/models", headers=setup.headers)
            status = plain.getresponse().status
            check(status >= 400, f"port {port} answered plain HTTP with {status}")
        except (OSError, http.client.HTTPException):
            pass
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings(action="ignore"):
            old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        try:
            with socket.create_connection(("127.0.0.1", port)) as connection, old.wrap_socket(connection):
                check(False, f"port {port} speaks TLS 1.1")
        except OSError:
            pass
    print("refused: requests without the key, plain HTTP, TLS 1.1")


def check_impostor(setup):
    """A replica with a certificate of another CA, in the place of one that ended, gets no request."""
    security, number, name = setup.security, "1", NAMES["1"]
    for end in ["pem", "key"]:
        security.file(f"server.{end}.good").write_text(security.file(f"server.{end}").read_text())
    security.sign("impostor", "other-ca")
    for end in ["pem", "key"]:
        security.file(f"server.{end}").write_text(security.file(f"impostor.{end}").read_text())
    since = len(setup.lines)
    os.kill(setup.pid(number), signal.SIGTERM)
    setup.wait(f"^replica {number} pid", since)
    setup.wait(f"Server shim/{name} is DOWN", since)
    # Until it listens: a handshake that fails for its certificate says that it does.
    deadline = time.monotonic() + 60
    while not is_distrusted(setup, setup.port + int(number)):
        check(time.monotonic() < deadline, "the impostor did not start")
        time.sleep(0.1)
    time.sleep(3)  # three health checks
    used = collections.Counter(Client(setup).post("/v1/responses/input_tokens", {"model": "hearth-4m", "input": f"{i}"})[1]
                               for i in range(30))
    check(set(used) == {NAMES["2"]}, f"an impostor got requests: {used}")
    for end in ["pem", "key"]:
        security.file(f"server.{end}").write_text(security.file(f"server.{end}.good").read_text())
    os.kill(setup.pid(number), signal.SIGTERM)
    setup.wait_until_used(number, since)
    print("a replica with another CA's certificate got none of", sum(used.values()), "requests")


def is_distrusted(setup, port):
    try:
        setup.get(port, "/ready")
    except ssl.SSLCertVerificationError:
        return True
    except OSError:
        pass
    return False


def check_kill(setup, number, ending, args, random, options):
    """Ends a replica while all clients are at work, and waits until it is back."""
    client = Client(setup)
    name = NAMES[number]
    openings = [[f"Story {random.random()}" for _ in range(args.conversations)] for _ in range(args.clients)]
    threads = [
        threading.Thread(target=lambda own=own, first=first: [
            client.converse(opening, options, stream=(first + turn) % 2 == 0) for turn, opening in enumerate(own)])
        for first, own in enumerate(openings)]
    since = len(setup.lines)
    for thread in threads:
        thread.start()
    while client.running[name] == 0 or client.counts["requests"] < 3 * args.clients:
        check(any(thread.is_alive() for thread in threads), "the load ended before the replica could be")
        time.sleep(0.001)
    streams, sent = client.running[name], client.counts["requests"]
    os.kill(setup.pid(number), ending)
    setup.wait(f"^replica {number} ended", since)
    for thread in threads:
        thread.join()

    status = setup.wait(f"^replica {number} ended (.*)", since).group(1)
    setup.wait(f"Server shim/{name} is DOWN", since)
    setup.wait_until_used(number, since)
    retried = sum(re.search(r" \d+/\d+/\d+/\d+/\+?[1-9]\d* \d+/\d+ ", line) is not None for line in setup.lines[since:])
    print(f"{ending.name} of {name}: {client.counts['requests']} requests, of them {client.counts['requests'] - sent} "
          f"begun after it; {streams} streams on it at that moment, {len(client.failures)} broken; "
          f"{retried} requests retried; exit status {status}")
    if ending == signal.SIGTERM:
        check(status == "0", f"the replica ended with {status}")
        check(not client.failures, client.failures)
    else:
        check(all(begun_on == name for _, begun_on in client.failures), client.failures)


def check_shared_files(endless):
    """Two replicas over one folder of models and one of prompts."""
    with tempfile.TemporaryDirectory() as folder:
        models, prompts = pathlib.Path(folder, "models"), pathlib.Path(folder, "prompts")
        models.mkdir()
        default = pathlib.Path(__file__).parent.parent / "models" / "hearth-4m.gguf"
        shutil.copy(os.environ.get("MODEL", default), models / "hearth-4m.gguf")
        setup = Setup(None, ["--cache-dir", prompts], models)
        try:
            for number in NAMES:
                setup.wait_until_used(number)
            check_shared_prompts(setup, prompts)
            check_full(setup, endless)
            check_shared_models(setup, models)
        finally:
            setup.stop()


def ask(setup, number, text, **fields):
    """What one replica, past the balancer, answers to a text: the answer, and how many tokens it did not compute."""
    connection = setup.connection(setup.port + int(number))
    body = {"model": "hearth-4m", "prompt": text, "max_tokens": 24, "temperature": 0} | fields
    try:
        connection.request("POST", "/v1/completions", json.dumps(body), setup.headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
    finally:
        connection.close()
    check(response.status == 200, f"replica {number}: {response.status} {answer}")
    return answer["choices"][0]["text"], answer["usage"]["prompt_tokens_details"]["cached_tokens"]


def stored(prompts):
    """The files of prompts, once no more are written."""
    before = None
    while True:
        files = sorted((str(path), path.stat().st_size) for path in prompts.rglob("*") if path.is_file())
        if files and files == before:
            return files
        before = files
        time.sleep(0.5)


def long_text(number):
    return f"Number {number}. " + "The rain fell on the roof of the house, and a child looked out of the window. " * 16


def check_shared_prompts(setup, prompts):
    text, cached = ask(setup, "1", long_text(0))
    check(cached == 0, f"{cached} tokens of the first prompt were there already")
    stored(prompts)
    same, cached = ask(setup, "2", long_text(0))
    check(cached >= 128, f"replica 2 found {cached} tokens of what replica 1 had stored")
    check(same == text, f"another text from what was stored: {same!r} for {text!r}")

    # Both write the same prompts; then one is killed while it writes, and answers from the disk when it is back.
    since, answers = len(setup.lines), {}
    threads = [
        threading.Thread(target=lambda key=key: answers.update({key: ask(setup, key[0], long_text(key[1]))[0]}))
        for key in itertools.product(NAMES, range(1, 5))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(len(answers) == len(threads), "a replica did not answer")
    for n in range(1, 5):
        check(answers["1", n] == answers["2", n], f"the replicas answered differently: {answers}")
    os.kill(setup.pid("1"), signal.SIGKILL)
    setup.wait("^replica 1 ended", since)
    setup.wait_until_used("1", since)
    stored(prompts)
    cached = 0
    for n in range(5):
        again, found = ask(setup, "1", long_text(n))
        check(again == (answers["1", n] if n else text), f"another text after the end of the replica: {again!r}")
        cached += found
    check(cached >= 5 * 128, f"the new replica found {cached} tokens of five prompts")
    print("prompts on a shared disk:", cached, "tokens of 5 found after SIGKILL")


def check_shared_models(setup, models):
    # Written beside and renamed, as `shim pull` does.
    shutil.copy(models / "hearth-4m.gguf", models / "other.part")
    (models / "other.part").rename(models / "other.gguf")
    for number in NAMES:
        ids = {model["id"] for model in json.loads(setup.get(setup.port + int(number), "/v1/models")[1])["data"]}
        check(ids == {"hearth-4m", "other"}, f"replica {number} serves {ids}")
        check(ask(setup, number, "Hello", model="other")[0] == ask(setup, number, "Hello")[0], "not the same model")
    (models / "other.gguf").unlink()
    print("models in a shared folder: one was added and removed")


def check_full(setup, endless):
    """A replica with every place taken says so, is passed over, and is used again when places are free."""
    since = len(setup.lines)
    port = setup.port + 1
    connections = []
    messages = [{"role": "user", "content": "Go on."}]
    body = json.dumps({"model": "hearth-4m", "messages": messages, "stream": True, "max_tokens": 1900} | endless)
    for number in range(1, 201):
        # Each from an address of its own, since one client gets only a part of the places.
        connections.append(http.client.HTTPConnection("127.0.0.1", port, source_address=(f"127.0.1.{number}", 0)))
        connections[-1].request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    deadline = time.monotonic() + 30
    while True:
        status, answer = setup.get(port, "/ready")
        if status == 503:
            break
        check(time.monotonic() < deadline, f"the replica with {len(connections)} requests is not full: {answer}")
        time.sleep(0.05)
    check(json.loads(answer) == {"status": "full"}, answer)
    setup.wait("Server shim/one is DOWN", since)
    used = collections.Counter(
        Client(setup).post("/v1/responses/input_tokens", {"model": "hearth-4m", "input": f"{i}"})[1] for i in range(20))
    check(set(used) == {NAMES["2"]}, f"a full replica got requests: {used}")
    metrics = setup.get(port, "/metrics")[1]
    waiting = int(re.search(r'^vllm:num_requests_waiting{model_name="hearth-4m"} (\d+)', metrics, re.M).group(1))
    check(waiting > 0, metrics)
    for connection in connections:
        connection.close()
    setup.wait("Server shim/one is UP", since)
    print("a full replica:", waiting, "waited there; it got none of", sum(used.values()), "requests, and was used again")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--conversations", type=int, default=4, help="of each client, for each replica that is ended")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--secure", action="store_true", help="with TLS and keys")
    args = parser.parse_args()
    random_numbers = random.Random(args.seed)

    setup = Setup(Security() if args.secure else None)
    try:
        for number in NAMES:
            setup.wait_until_used(number)
        client = Client(setup)
        _, _, ends = client.post("/tokenize", {"content": "<|im_end|><|endoftext|>", "parse_special": True})
        endless = {"logit_bias": {str(token): -100 for token in ends["tokens"]}}
        if args.secure:
            check_refusals(setup)
        check_affinity(client, random_numbers)
        check_stored_responses(client)
        check_leaving(setup, endless | {"max_tokens": 1900})
        for ending in [signal.SIGTERM, signal.SIGKILL]:
            for number in NAMES:
                check_kill(setup, number, ending, args, random_numbers, endless | {"max_tokens": 200})
        if args.secure:
            check_impostor(setup)
    finally:
        setup.stop()
    if not args.secure:
        check_shared_files(endless)
    print("passed")


if __name__ == "__main__":
    main()
