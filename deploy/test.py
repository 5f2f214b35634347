#!/usr/bin/env python3
"""Kills replicas behind the balancer while clients use them, and counts what the clients see of it.

It runs deploy/try.sh (with SHIM and MODEL, as there) on free ports and checks that
- turns of a conversation reach the replica that has its beginning in memory, and both replicas get conversations;
- a name given by the client, header or prompt_cache_key, is stronger than the messages, and leads to stored responses;
- a client that leaves is gone for the replica too;
- while each replica in turn is ended by SIGTERM, and then by SIGKILL, under load, no request fails: only a stream that
  had begun on a replica that was killed may break, and after SIGTERM not even that. Both times it is used again.

usage: SHIM=.build/release/shim deploy/test.py [--clients 8] [--conversations 4] [--seed 1]

The bundled model's answers are kept running by a bias against its end tokens. Exit status 1 if anything was not so.
"""
import argparse
import collections
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

NAMES = {"1": "one", "2": "two"}
TURNS = 3


class Setup:
    """try.sh, and what it has said so far."""

    def __init__(self):
        self.port = free_ports()
        self.changed = threading.Condition()
        self.lines = []
        script = pathlib.Path(__file__).with_name("try.sh")
        self.process = subprocess.Popen(
            [script, "--threads", "1"], env=os.environ | {"PORT": str(self.port)}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True)
        threading.Thread(target=self.read, daemon=True).start()

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
        while not (all(map(is_ready, ports)) and self.counts_on(NAMES[number], since)):
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

    def __init__(self, port):
        self.port = port
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.failures = []  # (what, replica or None, whether a byte of the answer had come)
        self.running = collections.Counter()  # replica → streams that have begun on it

    def post(self, path, body, headers={}):
        """Status, replica and decoded body of an answer that is not streamed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **headers})
            response = connection.getresponse()
            return response.status, response.getheader("X-Replica"), json.loads(response.read())
        finally:
            connection.close()

    def stream(self, body):
        """The same of a streamed chat completion: its text and usage, as if it had come whole."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        replica, text, usage, done = None, "", {}, False
        try:
            body = body | {"stream": True, "stream_options": {"include_usage": True}}
            connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
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
    with socket.create_connection(("127.0.0.1", setup.port)) as connection:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall((head + body).encode())
        while not any(is_busy(setup.port + int(number)) for number in NAMES):
            time.sleep(0.01)
    setup.wait('"failure":"client_left"', since)


def is_ready(port):
    try:
        return get(port, "/ready")[0] == 200
    except OSError:
        return False


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def is_busy(port):
    """Whether a replica computes an answer."""
    _, text = get(port, "/metrics")
    return re.search(r"^\S*generations_running [1-9]", text, re.M) is not None


def check_kill(setup, number, ending, args, random, options):
    """Ends a replica while all clients are at work, and waits until it is back."""
    client = Client(setup.port)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--conversations", type=int, default=4, help="of each client, for each replica that is ended")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    random_numbers = random.Random(args.seed)

    setup = Setup()
    try:
        for number in NAMES:
            setup.wait_until_used(number)
        client = Client(setup.port)
        _, _, ends = client.post("/tokenize", {"content": "<|im_end|><|endoftext|>", "parse_special": True})
        endless = {"logit_bias": {str(token): -100 for token in ends["tokens"]}}
        check_affinity(client, random_numbers)
        check_stored_responses(client)
        check_leaving(setup, endless | {"max_tokens": 1900})
        for ending in [signal.SIGTERM, signal.SIGKILL]:
            for number in NAMES:
                check_kill(setup, number, ending, args, random_numbers, endless | {"max_tokens": 200})
        print("passed")
    finally:
        setup.stop()


if __name__ == "__main__":
    main()
