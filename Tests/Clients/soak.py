#!/usr/bin/env python3
"""Leaves a shim alone with many clients for a while, and looks at what it has become.

Clients of every kind take turns: whole and streamed answers, embeddings, tokens, second turns, those that leave in the
middle of a prompt or an answer, those that send rubbish, half a request, or one byte at a time. Each answer is checked:
its status is the one asked for, a stream ends as it should, and a greedy answer is the same every time. Every few seconds
the server's memory, open files and threads are noted.

With --hostile, the clients of hostile.py come and go: phases with and without them alternate. The seconds that whole requests
of the others take are noted for both, and their 99th percentile may at most be three times as long with them as without.

usage: soak.py --shim .build/release/shim --model models/NAME.gguf [--seconds 3600] [--clients 12] [--requests 1000000]
               [--pause SECONDS] [--hostile 12] [--phase 150] [--log FILE]

It starts the shim on a port of its own, talks to 127.0.0.1 only, and ends after that many seconds or requests, whichever
comes first. Exit status 1 if anything was not as asked for, or memory still grew in the second half of a run of half an
hour or more.
"""
import argparse
import asyncio
import collections
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import sys
import tempfile
import time

# What the server gives a client for the head of a request (docs/http.md).
HEAD_SECONDS = 10
# In half of this, memory should have become as much as it will be.
SETTLING_SECONDS = 1800
# Requests that begin earlier in a phase see what the phase before it left behind.
PHASE_MARGIN = 10
# What hostile clients may add to the others' 99th percentile.
SLOWDOWN = 3

GREEDY = {}
UNEXPECTED = []
COUNTS = collections.Counter()
# Seconds that clients took over a head when they were rightly refused.
TOO_SLOW = []
# Seconds of whole exchanges, without and with hostile clients, and when and by which kind of client each was sent.
LATENCIES = {"calm": [], "hostile": []}


def request(path, body=None, method="POST", extra=""):
    data = b"" if body is None else json.dumps(body).encode()
    head = (f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{extra}"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n")
    return head.encode() + data


def words(random, count):
    return " ".join(random.choice(["hours", "minutes", "what", "is", "the", "capital", "of", "France", "seven", "plus",
                                   "tell", "me", "a", "story", "about", "rain"]) for _ in range(count))


def note(what):
    UNEXPECTED.append(what)
    print(f"unexpected, {PHASES.name}: {what}", flush=True)


class Phases:
    """Whether hostile clients are there, and for how long it has been so."""

    def __init__(self):
        self.name, self.began = "calm", time.monotonic()

    def begin(self, name):
        self.name, self.began = name, time.monotonic()

    @property
    def is_settled(self):
        return time.monotonic() - self.began > PHASE_MARGIN


PHASES = Phases()


class Client:
    def __init__(self, port, model, number, key=None):
        self.port, self.model, self.random = port, model, random.Random(number)
        self.kind = ""
        self.authorization = b"" if key is None else f"Authorization: Bearer {key}\r\n".encode()

    def signed(self, data):
        """The request with the client's key."""
        line, end, rest = data.partition(b"\r\n")
        return line + end + self.authorization + rest if line.endswith(b"HTTP/1.1") else data

    async def exchange(self, data, limit=120):
        """The status and the body of the answer; a chunked body put together."""
        phase, began = PHASES.name if PHASES.is_settled else None, time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(self.signed(data))
            await writer.drain()
            answer = await asyncio.wait_for(reader.read(-1), limit)
        finally:
            writer.close()
        if phase:
            LATENCIES[phase].append((time.monotonic() - began, time.strftime("%H:%M:%S"), self.kind))
        head, _, body = answer.partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1]) if head.startswith(b"HTTP/1.1 ") else 0
        if b"transfer-encoding: chunked" in head.lower():
            whole = b""
            while body:
                size, _, body = body.partition(b"\r\n")
                size = int(size, 16)
                if size == 0:
                    break
                whole, body = whole + body[:size], body[size + 2:]
            else:
                whole += b"<cut>"
            body = whole
        return status, body

    def expect(self, kind, condition, found):
        if not condition:
            note(f"{kind}: {str(found)[:300]}")

    async def leave(self, data, after):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(self.signed(data))
        await writer.drain()
        try:
            await asyncio.wait_for(reader.read(after) if after else asyncio.sleep(9), self.random.random())
        except asyncio.TimeoutError:
            pass
        writer.transport.abort() if self.random.random() < 0.5 else writer.close()

    def chat(self, text, **fields):
        return {"model": self.model, "messages": [{"role": "user", "content": text}], **fields}

    # One method for each kind of client.

    async def whole(self):
        text = f"How many minutes are {self.random.randint(1, 5)} hours?"
        status, body = await self.exchange(request("/v1/chat/completions", self.chat(text, temperature=0, max_tokens=24)))
        self.expect("whole", status == 200, (status, body))
        if status == 200:
            answer = json.loads(body)["choices"][0]["message"]["content"]
            self.expect("the same greedy answer", GREEDY.setdefault(text, answer) == answer, (text, answer))

    async def streamed(self):
        body = self.chat(words(self.random, 20), stream=True, max_tokens=40, stream_options={"include_usage": True},
                         n=self.random.choice([1, 1, 3]), logprobs=self.random.random() < 0.3)
        status, answer = await self.exchange(request("/v1/chat/completions", body))
        self.expect("streamed", status == 200 and answer.endswith(b"data: [DONE]\n\n"), (status, answer[-300:]))

    async def second_turn(self):
        messages = [{"role": "system", "content": "Be brief. " + "Answer in one word. " * 20}]
        for _ in range(2):
            messages.append({"role": "user", "content": words(self.random, 5)})
            status, body = await self.exchange(
                request("/v1/chat/completions", {"model": self.model, "messages": messages, "max_tokens": 16}))
            self.expect("second turn", status == 200, (status, body))
            if status != 200:
                return
            messages.append({"role": "assistant", "content": json.loads(body)["choices"][0]["message"]["content"]})

    async def completion(self):
        body = {"model": self.model, "prompt": [words(self.random, 8), "a b c"], "max_tokens": 8, "logprobs": 2, "echo": True}
        status, answer = await self.exchange(request("/v1/completions", body))
        self.expect("completion", status == 200 and len(json.loads(answer)["choices"]) == 2, (status, answer))

    async def embedding(self):
        status, body = await self.exchange(
            request("/v1/embeddings", {"model": self.model, "input": [words(self.random, 9), "b"]}))
        self.expect("embedding", status == 200, (status, body))

    async def response(self):
        body = {"model": self.model, "input": words(self.random, 6), "max_output_tokens": 16,
                "stream": self.random.random() < 0.5}
        status, answer = await self.exchange(request("/v1/responses", body))
        self.expect("response", status == 200, (status, answer[-300:]))

    async def small(self):
        for path in ["/health", "/v1/models", "/props", "/metrics", "/"]:
            status, body = await self.exchange(request(path, method="GET"))
            self.expect(f"GET {path}", status == 200, (status, body))
        status, body = await self.exchange(request("/tokenize", {"content": words(self.random, 30)}))
        self.expect("tokenize", status == 200, (status, body))

    async def leaves_the_answer(self):
        await self.leave(request("/v1/chat/completions", self.chat(words(self.random, 9), stream=True)), 300)

    async def leaves_the_prompt(self):
        await self.leave(request("/v1/chat/completions", self.chat(words(self.random, 900))), 0)

    async def leaves_the_request(self):
        data = request("/v1/chat/completions", self.chat(words(self.random, 300)))
        await self.leave(data[:self.random.randrange(1, len(data))], 0)

    async def too_long(self):
        status, body = await self.exchange(request("/v1/chat/completions", self.chat(words(self.random, 9000))))
        self.expect("too long", status == 400 and b"context_length_exceeded" in body, (status, body))

    async def mistaken(self):
        good = self.chat("hello")
        status, body = await self.exchange(self.random.choice([
            request("/v1/chat/completions", good | {"temperature": 9}),
            request("/v1/chat/completions", good | {"messages": []}),
            request("/v1/chat/completions", good | {"tools": [{"type": "function", "function": {"name": "f g"}}]}),
            request("/v1/chat/completions", good | {"n": 0}),
            request("/v1/embeddings", {"model": self.model, "input": ""}),
            request("/v1/chat/completions", {"messages": [{}] * 9}),
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 3\r\n\r\n{[}",
        ]))
        self.expect("mistaken", status == 400 and b'"error"' in body, (status, body))

    async def unknown(self):
        status, body = await self.exchange(request("/v1/chat/completions", self.chat("hello") | {"model": "nobody"}))
        self.expect("unknown", status == 404 and b"model_not_found" in body, (status, body))

    async def rubbish(self):
        data = bytes(self.random.randrange(256) for _ in range(self.random.randrange(1, 400))) + b"\r\n\r\n\r\n"
        status, body = await self.exchange(data)
        self.expect("rubbish", status in (0, 400, 414, 431, 501, 505), (status, data, body))

    async def slow(self):
        """A byte at a time. Where this client is itself starved, it deserves the 408 for a head that takes too long."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            for byte in self.signed(request("/v1/models", method="GET")):
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.005)
        took = time.monotonic() - began
        answer = b""
        # Bytes that come when the server has closed may cost its answer.
        with contextlib.suppress(ConnectionError):
            answer = await asyncio.wait_for(reader.read(-1), 60)
        writer.close()
        if took >= HEAD_SECONDS and (not answer or answer.startswith(b"HTTP/1.1 408")):
            TOO_SLOW.append(round(took, 1))
        else:
            self.expect("slow", answer.startswith(b"HTTP/1.1 200"), (took, answer[:300]))

    KINDS = dict(whole=6, streamed=6, second_turn=3, completion=2, embedding=2, response=2, small=2, leaves_the_answer=3,
                 leaves_the_prompt=2, leaves_the_request=2, too_long=1, mistaken=2, unknown=1, rubbish=1, slow=1)


def process(pid):
    status = open(f"/proc/{pid}/status").read()
    number = lambda name: int(re.search(rf"{name}:\s+(\d+)", status).group(1))
    return {"rss_MiB": number("VmRSS") // 1024, "files": len(os.listdir(f"/proc/{pid}/fd")), "threads": number("Threads")}


def summary():
    """Requests and percentiles of their seconds, without and with hostile clients."""
    def percentile(samples, share):
        return round(sorted(samples)[int(share * (len(samples) - 1))][0], 3)
    return {phase: {"requests": len(samples), **{name: percentile(samples, share) for name, share in
                    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1)]}}
            for phase, samples in LATENCIES.items() if samples}


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shim", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--pause", type=float, default=0, help="mean seconds between a client's requests")
    parser.add_argument("--hostile", type=int, default=0, help="hostile clients at once")
    parser.add_argument("--phase", type=float, default=150, help="seconds of a phase with or without hostile clients")
    parser.add_argument("--log", default=os.devnull, help="file for the server's log")
    options = parser.parse_args()

    # A key for each: without keys all of this machine's clients are one to the server.
    keys = [os.urandom(16).hex() for _ in range(options.clients + 1)]
    folder = tempfile.TemporaryDirectory()
    key_file, clients_file = (os.path.join(folder.name, name) for name in ["keys", "clients"])
    pathlib.Path(key_file).write_text("\n".join(keys))
    pathlib.Path(clients_file).write_text(json.dumps({"apps": [{"id": "app", "auth_key": {"env": "SOAK_AUTH_KEY"}}]}))
    shim = await asyncio.create_subprocess_exec(
        options.shim, "--model", options.model, "--port", "0", "--api-key-file", key_file, "--auth-config", clients_file,
        stdout=asyncio.subprocess.PIPE, stderr=open(options.log, "wb"),
        env=os.environ | {"SOAK_AUTH_KEY": os.urandom(32).hex()})
    line = (await shim.stdout.readline()).decode()
    port = int(re.search(r":(\d+)", line.split("//")[1]).group(1))
    drain = asyncio.create_task(shim.stdout.read())
    while (await Client(port, "", 0).exchange(request("/health", method="GET")))[0] != 200:
        await asyncio.sleep(0.2)
    models = json.loads((await Client(port, "", 0, keys[0]).exchange(request("/v1/models", method="GET")))[1])
    model = models["data"][0]["id"]

    end = time.monotonic() + options.seconds
    samples = []

    async def run(number):
        client = Client(port, model, number, keys[number])
        kinds, weights = zip(*Client.KINDS.items())
        while time.monotonic() < end and sum(COUNTS.values()) < options.requests and len(UNEXPECTED) < 50:
            if options.pause > 0:
                await asyncio.sleep(min(client.random.expovariate(1 / options.pause), end - time.monotonic()))
            kind = client.kind = client.random.choices(kinds, weights)[0]
            COUNTS[kind] += 1
            try:
                await getattr(client, kind)()
            except (OSError, asyncio.TimeoutError, ValueError, KeyError, IndexError) as error:
                # A connection that is cut where the client itself was wrong is an answer too.
                if kind != "rubbish" or not isinstance(error, ConnectionError):
                    note(f"{kind}: {error!r}")

    async def watch():
        while True:
            samples.append(process(shim.pid))
            if len(samples) % 12 == 1:
                print(f"{sum(COUNTS.values())} requests, {len(UNEXPECTED)} unexpected, {samples[-1]}", flush=True)
            await asyncio.sleep(5)

    hostile = []

    async def alternate():
        """In a process of their own, or making their bodies would hold up the others here."""
        for number in range(1_000_000):
            PHASES.begin("calm")
            await asyncio.sleep(options.phase)
            PHASES.begin("hostile")
            # Making and sending what they send is not what is measured.
            process = await asyncio.create_subprocess_exec(
                "nice", "-n", "19", sys.executable, pathlib.Path(__file__).with_name("hostile.py"), "--port", str(port), "--model", model,
                "--key", keys[-1], "--seconds", str(options.phase), "--clients", str(options.hostile), "--seed", str(number),
                stdout=asyncio.subprocess.PIPE)
            try:
                output, _ = await process.communicate()
            except asyncio.CancelledError:
                process.kill()
                raise
            if process.returncode != 0:
                shim.kill()
                sys.exit(f"hostile.py failed with status {process.returncode}, so nothing was measured")
            hostile.append(json.loads(output))
            print(summary(), flush=True)

    watching = asyncio.create_task(watch())
    alternating = asyncio.create_task(alternate()) if options.hostile else None
    await asyncio.gather(*[run(number) for number in range(options.clients)])
    watching.cancel()
    if alternating:
        alternating.cancel()
        await asyncio.gather(alternating, return_exceptions=True)
    await asyncio.sleep(2)
    last, lasted = process(shim.pid), time.monotonic() - end + options.seconds
    shim.send_signal(signal.SIGTERM)
    status = await asyncio.wait_for(shim.wait(), 60)
    drain.cancel()

    middle = samples[len(samples) // 2]
    report = {
        "requests": dict(COUNTS), "total": sum(COUNTS.values()), "unexpected": UNEXPECTED, "too_slow": TOO_SLOW,
        "exit": status, "first": samples[0], "middle": middle, "last": last, "seconds": summary(),
        "slowest": {phase: [f"{seconds:.2f} s until {at}: {kind}" for seconds, at, kind in sorted(samples)[-12:]]
                    for phase, samples in LATENCIES.items()},
        "hostile": {what: sum((collections.Counter(phase[what]) for phase in hostile), collections.Counter())
                    for what in ["sent", "statuses"]},
    }
    print(json.dumps(report, indent=1))
    # The prefix cache takes its share of the machine first: in a short run memory only grows, and says nothing.
    grown = last["rss_MiB"] - middle["rss_MiB"] if lasted >= SETTLING_SECONDS else 0
    percentiles = [phase["p99"] for phase in summary().values()]
    if len(percentiles) == 2 and percentiles[1] > SLOWDOWN * percentiles[0]:
        note(f"hostile clients slow the others down: {percentiles}")
    if UNEXPECTED or status != 0 or grown > max(64, middle["rss_MiB"] // 10) or last["files"] > samples[0]["files"] + 4:
        sys.exit(1)


asyncio.run(main())
