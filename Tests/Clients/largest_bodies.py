"""Time and memory of each route at its largest bodies: python3 largest_bodies.py SHIM MODEL [--limit MB] [--only WORDS]

Prints a row for each body: the processor's seconds for 1 MB and 8 MB, the peak of memory above what the idle server has, the
longest that /health took meanwhile. What grows faster than the body is marked. Ends with status 1 where anything is, where a
route of the server is without a row, or where the server ended.

--limit runs the server in a control group with this much memory, and no swap; that needs root.
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time

MB = 1_000_000


def chat(**fields):
    return {"model": None, "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}], **fields}


def user(text):
    return chat(messages=[{"role": "user", "content": text}])


def fill(text, size):
    return text * (size // len(text))


def items(item, size, most=150_000):
    """So many that they have the size, but not more values than a body may have."""
    return [item] * min(size // (len(json.dumps(item)) + 2), most)


def distinct_tools(size):
    count = min(size // 130, 40_000)
    pad = "d" * max(0, size // count - 130)
    return [
        {"type": "function", "function": {"name": f"f{i}", "description": pad, "parameters": {"type": "object"}}}
        for i in range(count)
    ]


BODIES = [
    ("chat, text", "/v1/chat/completions", lambda n: user(fill("word ", n))),
    ("chat, control tokens", "/v1/chat/completions", lambda n: user(fill("<|im_start|>", n))),
    ("chat, one long word", "/v1/chat/completions", lambda n: user("a" * n)),
    ("chat, spaces", "/v1/chat/completions", lambda n: user(" " * n)),
    ("chat, marks", "/v1/chat/completions", lambda n: user(fill("e\u0301", n * 2 // 3))),
    ("chat, messages", "/v1/chat/completions", lambda n: chat(messages=items({"role": "user", "content": "x" * 20}, n))),
    ("chat, tools", "/v1/chat/completions", lambda n: chat(tools=distinct_tools(n))),
    ("chat, one tool", "/v1/chat/completions", lambda n: chat(tools=[{"type": "function", "function": {
        "name": "f", "parameters": {"type": "object", "properties": {
            f"p{i}": {"type": "string"} for i in range(min(n // 26, 120_000))}}}}])),
    ("chat, template arguments", "/v1/chat/completions", lambda n: chat(chat_template_kwargs={"a": items([0] * 8, n, 50_000)})),
    ("chat, numbers", "/v1/chat/completions", lambda n: chat(x=[1] * min(n // 2, 500_000))),
    ("chat, response format", "/v1/chat/completions", lambda n: chat(response_format={
        "type": "json_schema", "json_schema": {"name": "a", "schema": {"enum": items("x" * 30, n, 500_000)}}})),
    ("chat, stop strings", "/v1/chat/completions", lambda n: chat(stop=["a" * (n // 4)] * 4)),
    ("chat, template", "/v1/chat/completions", lambda n: chat(chat_template=fill("{{ 1 }}", n))),
    ("chat, schema of patterns", "/v1/chat/completions", lambda n: chat(response_format={
        "type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object", "properties": {
            f"p{i}": {"type": "string", "pattern": "^([ab]|c{1,9})*d$"} for i in range(min(n // 60, 80_000))}}}})),
    ("chat, one pattern", "/v1/chat/completions", lambda n: chat(response_format={
        "type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "string", "pattern": "a" * n}}})),
    ("chat, nested schema", "/v1/chat/completions", lambda n: chat(response_format={
        "type": "json_schema", "json_schema": {"name": "a", "schema": {"$defs": {
            f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(min(n // 40, 100_000))}, "$ref": "#/$defs/d0"}}})),
    ("chat, grammar", "/v1/chat/completions", lambda n: chat(grammar="root ::= a0\n" + "".join(
        f'a{i} ::= "x" a{i + 1} | "y"\n' for i in range(n // 50)))),
    ("chat, image", "/v1/chat/completions", lambda n: chat(messages=[{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + fill("iVBO", n)}}]}])),
    ("chat, logit bias", "/v1/chat/completions", lambda n: chat(logit_bias={str(i): 1 for i in range(min(n // 14, 500_000))})),
    ("chat, samplers", "/v1/chat/completions", lambda n: chat(
        dry_multiplier=1, dry_sequence_breakers=items("x" * 30, n, 250_000))),
    ("completion, text", "/v1/completions", lambda n: {"max_tokens": 1, "prompt": fill("word ", n)}),
    ("completion, ids", "/v1/completions", lambda n: {"max_tokens": 1, "prompt": [5] * min(n // 3, 500_000)}),
    ("completions, stop strings", "/v1/completions", lambda n: {"max_tokens": 200, "prompt": ["Hello"] * 16, "n": 8, "stop": [
        "a" * (n // 4 - 9) + end for end in "bcde"]}),
    ("completions, echo", "/v1/completions", lambda n: {"max_tokens": 1, "prompt": ["word " * 250] * 128, "echo": True, "logprobs": 5}),
    ("response", "/v1/responses", lambda n: {"max_output_tokens": 16, "input": fill("word ", n)}),
    ("response, items", "/v1/responses", lambda n: {"max_output_tokens": 16, "input": items(
        {"type": "function_call_output", "call_id": "c", "output": "x" * 30}, n, 100_000)}),
    ("response, count", "/v1/responses/input_tokens", lambda n: {"input": fill("<|im_end|>", n)}),
    ("response, compact", "/v1/responses/compact", lambda n: {"input": fill("word ", n)}),
    ("message, count", "/v1/messages/count_tokens", lambda n: {"messages": [{"role": "user", "content": fill("<|im_end|>", n)}]}),
    ("message, tool results", "/v1/messages", lambda n: {"max_tokens": 1, "messages": [
        {"role": "user", "content": items({"type": "tool_result", "tool_use_id": "a", "content": "x" * 40}, n, 100_000)}]}),
    ("embeddings, one", "/v1/embeddings", lambda n: {"input": fill("word ", n)}),
    ("embeddings, 2048", "/v1/embeddings", lambda n: {"input": ["a"] * 2048}),
    ("rerank", "/v1/rerank", lambda n: {"query": fill("word ", n // 2), "documents": items("x" * 100, n // 2, 2048)}),
    ("tokenize", "/tokenize", lambda n: {"content": fill("\u0001 a,", n * 4 // 9)}),
    ("tokenize, with pieces", "/tokenize", lambda n: {"content": fill("!a;b", n), "with_pieces": True}),
    ("detokenize", "/detokenize", lambda n: {"tokens": [5] * min(n // 3, 500_000)}),
    ("apply template", "/apply-template", lambda n: {"messages": [{"role": "user", "content": fill("word ", n)}]}),
    ("infill", "/infill", lambda n: {"n_predict": 1, "input_prefix": fill("a b ", n // 2), "input_suffix": fill("c ", n // 2)}),
    ("completion of llama.cpp", "/completion", lambda n: {"n_predict": 1, "prompt": fill("a b ", n)}),
    ("completion of llama.cpp, parts", "/completion", lambda n: {"n_predict": 1, "prompt": [5, "a b"] * min(n // 10, 250_000)}),
    ("chatgpt", "/chatgpt", lambda n: {"messages": items({"role": "user", "content": "x" * 20}, n)}),
    ("chatgpt-simple", "/chatgpt-simple", lambda n: {"prompt": fill("word ", n)}),
    ("vision", "/vision", lambda n: {"prompt": "a", "image": "data:image/png;base64," + fill("iVBO", n)}),
    ("dalle", "/dalle", lambda n: {"prompt": fill("word ", n)}),
    ("images", "/v1/images/generations", lambda n: {"prompt": fill("word ", n)}),
    ("session", "/auth_token", lambda n: {"a": fill("word ", min(n, 60_000))}),
    ("access token", "/api/auth/token", lambda n: {"product_id": fill("word ", min(n, 60_000))}),
    ("adapters", "/lora-adapters", lambda n: [{"id": 0, "scale": 1}] * min(n // 24, 150_000)),
    ("unload", "/models/unload", lambda n: {"model": "x" * n}),
    ("cancel", "/v1/responses/none/cancel", lambda n: {"a": fill("word ", n)}),
    ("suggest", "/api/suggest", lambda n: {"text": fill("word ", min(n, 900_000))}),
    ("no JSON", "/v1/chat/completions", lambda n: b"[" * n),
    ("escapes", "/v1/chat/completions", lambda n: b'{"messages":[{"role":"user","content":"' + b"\\u0061" * (n // 6) + b'"}]}'),
    ("keys", "/v1/chat/completions", lambda n: {f"key number {i} {'k' * 10}": 0 for i in range(min(n // 40, 250_000))}),
]


class Group:
    """A control group with so much memory, of version 1 or 2."""

    def __init__(self, megabytes):
        root = pathlib.Path("/sys/fs/cgroup")
        is_first = (root / "memory").is_dir()
        self.folder = (root / "memory" if is_first else root) / f"largest-bodies-{os.getpid()}"
        self.folder.mkdir()
        names = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"] if is_first else ["memory.max"]
        for name in names:
            if (self.folder / name).exists():
                (self.folder / name).write_text(str(megabytes << 20))

    def add(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        self.folder.rmdir()


class Server:
    def __init__(self, shim, model, group):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen([shim, "--port", str(self.port), "-m", model], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, preexec_fn=group and group.add)
        while self.process.poll() is None:
            try:
                if self.ask("GET", "/ready")[0] == 200:
                    break
            except OSError:
                pass
            time.sleep(0.1)
        self.slowest = 0.0
        threading.Thread(target=self.watch, daemon=True).start()

    def ask(self, method, path, body=None, timeout=600):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        connection.request(method, path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        received = 0
        while piece := response.read(1 << 20):
            received += len(piece)
        connection.close()
        return response.status, received

    def watch(self):
        while self.process.poll() is None:
            began = time.monotonic()
            self.ask("GET", "/health")
            self.slowest = max(self.slowest, time.monotonic() - began)
            time.sleep(0.02)

    def status(self, field):
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024

    def measure(self, path, body):
        open(f"/proc/{self.process.pid}/clear_refs", "w").write("5")
        before = self.status("VmRSS")
        self.slowest = 0.0
        began = self.seconds
        status, received = self.ask("POST", path, body)
        return self.seconds - began, self.status("VmHWM") - before, self.slowest, status, received

    @property
    def seconds(self):
        """Of the processor, of all threads. The wall's depend on what else the machine does."""
        user, system = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def encoded(body):
    if isinstance(body, bytes):
        return body
    if isinstance(body, dict):
        body = {key: value for key, value in body.items() if value is not None}
    return json.dumps(body, ensure_ascii=False).encode()


def missing_routes():
    """Paths of the table in the sources that no row asks."""
    table = pathlib.Path(__file__).parents[2] / "Sources/Shim/Routes/AllRoutes.swift"
    routes = re.findall(r'Route\(\s*"POST", "([^"]+)"', table.read_text())
    asked = {path for _, path, _ in BODIES}
    return [route for route in routes if not any(re.fullmatch(re.sub(r"{\w+}", "[^/]+", route), path) for path in asked)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shim")
    parser.add_argument("model")
    parser.add_argument("--limit", type=int, help="megabytes")
    parser.add_argument("--only", default="", help="rows whose names have this regular expression")
    options = parser.parse_args()
    failures = [f"no row for POST {route}" for route in missing_routes()]
    group = Group(options.limit) if options.limit else None
    server = Server(options.shim, options.model, group)
    print("| body | status | 1 MB: s | 8 MB: s | MB at 8 MB | /health: ms |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, path, make in BODIES:
        if not re.search(options.only, name):
            continue
        rows = []
        for size in (MB, 8 * MB):
            body = encoded(make(size - 10_000))
            assert len(body) <= 8 << 20, (name, len(body))
            try:
                rows.append((len(body),) + server.measure(path, body))
            except OSError as error:
                sys.exit(f"{name}: {error}; the server: {server.process.poll()}")
        (small, seconds1, *_), (large, seconds8, memory, health, status, _) = rows
        mark = ""
        if seconds8 > 1 and seconds8 / large > 2 * max(seconds1, 0.05) / small:
            mark = " !"
            failures.append(f"{name} is worse than linear")
        print(f"| {name} | {status} | {seconds1:.2f} | {seconds8:.2f}{mark} | {memory:.0f} | {health * 1000:.0f} |",
              flush=True)
    server.process.terminate()
    status = server.process.wait()
    if group:
        group.remove()
    if status != 0:
        failures.append(f"the server ended with {status}")
    print("\n".join(failures))
    sys.exit(1 if failures else 0)


main()
