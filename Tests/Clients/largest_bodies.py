"""Time and memory of each route at its largest bodies: python3 largest_bodies.py SHIM MODEL

Prints a row for each body: seconds for 1 MB and 8 MB, the peak of memory above what the idle server has, the longest that
/health took meanwhile. What grows faster than the body is marked.
"""

import http.client
import json
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


def items(item, size, most=170_000):
    """So many that they have the size, but not more values than a body may have."""
    return [item] * min(size // len(json.dumps(item)), most)


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
    ("completion, text", "/v1/completions", lambda n: {"max_tokens": 1, "prompt": fill("word ", n)}),
    ("completion, ids", "/v1/completions", lambda n: {"max_tokens": 1, "prompt": [5] * min(n // 3, 500_000)}),
    ("response", "/v1/responses", lambda n: {"max_output_tokens": 16, "input": fill("word ", n)}),
    ("message, tool results", "/v1/messages", lambda n: {"max_tokens": 1, "messages": [
        {"role": "user", "content": items({"type": "tool_result", "tool_use_id": "a", "content": "x" * 40}, n, 100_000)}]}),
    ("embeddings, one", "/v1/embeddings", lambda n: {"input": fill("word ", n)}),
    ("embeddings, 2048", "/v1/embeddings", lambda n: {"input": ["a"] * 2048}),
    ("rerank", "/v1/rerank", lambda n: {"query": fill("word ", n // 2), "documents": items("x" * 100, n // 2, 2048)}),
    ("tokenize", "/tokenize", lambda n: {"content": fill("\u0001 a,", n)}),
    ("tokenize, with pieces", "/tokenize", lambda n: {"content": fill("!a;b", n), "with_pieces": True}),
    ("detokenize", "/detokenize", lambda n: {"tokens": [5] * min(n // 3, 500_000)}),
    ("apply template", "/apply-template", lambda n: {"messages": [{"role": "user", "content": fill("word ", n)}]}),
    ("infill", "/infill", lambda n: {"n_predict": 1, "input_prefix": fill("a b ", n // 2), "input_suffix": fill("c ", n // 2)}),
    ("suggest", "/api/suggest", lambda n: {"text": fill("word ", min(n, 900_000))}),
    ("no JSON", "/v1/chat/completions", lambda n: b"[" * n),
    ("escapes", "/v1/chat/completions", lambda n: b'{"messages":[{"role":"user","content":"' + b"\\u0061" * (n // 6) + b'"}]}'),
    ("keys", "/v1/chat/completions", lambda n: {f"key number {i} {'k' * 10}": 0 for i in range(min(n // 40, 250_000))}),
]


class Server:
    def __init__(self, shim, model):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen([shim, "--port", str(self.port), "-m", model], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        while True:
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
        while True:
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
        began = time.monotonic()
        status, received = self.ask("POST", path, body)
        return time.monotonic() - began, self.status("VmHWM") - before, self.slowest, status, received


def encoded(body):
    if isinstance(body, bytes):
        return body
    return json.dumps({key: value for key, value in body.items() if value is not None}, ensure_ascii=False).encode()


def main():
    server = Server(sys.argv[1], sys.argv[2])
    print("| body | status | 1 MB: s | 8 MB: s | MB at 8 MB | /health: ms |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, path, make in BODIES:
        rows = []
        for size in (MB, 8 * MB):
            body = encoded(make(size - 10_000))
            assert len(body) <= 8 << 20, (name, len(body))
            rows.append((len(body),) + server.measure(path, body))
        (small, seconds1, *_), (large, seconds8, memory, health, status, _) = rows
        mark = " !" if seconds8 > 1 and seconds8 / large > 2 * seconds1 / small else ""
        print(f"| {name} | {status} | {seconds1:.2f} | {seconds8:.2f}{mark} | {memory:.0f} | {health * 1000:.0f} |",
              flush=True)
    server.process.terminate()
    server.process.wait()


main()
