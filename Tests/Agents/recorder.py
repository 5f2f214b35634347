"""A proxy between a program and the server that records what they say, and when."""

import http.client
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GENERATING = {"/v1/chat/completions": "chats", "/v1/messages": "messages", "/v1/responses": "responses"}


class Exchange:
    """A request and its answer."""

    def __init__(self, method, path, body):
        self.method, self.path, self.body = method, path.split("?")[0], body
        self.start = time.monotonic()
        self.status = None
        # Pairs of seconds since the request and the bytes that came then.
        self.pieces = []

    @property
    def api(self):
        """Which API generates text here; `None`: none does."""
        return GENERATING.get(self.path)

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def answer(self):
        return b"".join(piece for _, piece in self.pieces).decode()

    @property
    def usage(self):
        """Tokens of the prompt and how many of them were cached; `None` in a stream that was not asked for it."""
        text = self.answer
        lines = [line[6:] for line in text.splitlines() if line.startswith("data: {")]
        events = [json.loads(line) for line in lines or [text]]
        # Events before the prompt is computed do not know what was cached.
        usages = [(event.get("response") or event).get("usage") for event in events]
        usage = next((usage for usage in reversed(usages) if usage), None)
        if not usage:
            return None
        if self.api == "messages":
            cached = usage["cache_read_input_tokens"]
            return usage["input_tokens"] + cached + usage["cache_creation_input_tokens"], cached
        if self.api == "chats":
            return usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]
        return usage["input_tokens"], usage["input_tokens_details"]["cached_tokens"]

    def __repr__(self):
        return f"{self.method} {self.path} {self.status}"


class Recorder:
    def __init__(self, port):
        self.exchanges = []
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                exchange = Exchange(self.command, self.path, body)
                recorder.exchanges.append(exchange)
                headers = {name: value for name, value in self.headers.items() if name.lower() != "accept-encoding"}
                connection = http.client.HTTPConnection("127.0.0.1", port)
                try:
                    connection.request(self.command, self.path, body, headers)
                    self.reply(exchange, connection.getresponse())
                except OSError:
                    self.close_connection = True
                finally:
                    connection.close()

            def reply(self, exchange, answer):
                exchange.status = answer.status
                self.send_response_only(answer.status)
                is_stream = answer.length is None and self.command != "HEAD"
                for name, value in answer.getheaders():
                    if name.lower() not in ("connection", "transfer-encoding"):
                        self.send_header(name, value)
                if is_stream:
                    self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                while piece := answer.read1(65536):
                    exchange.pieces.append((time.monotonic() - exchange.start, piece))
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if is_stream else piece)
                if is_stream:
                    self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *_):
                pass

            do_GET = do_POST = do_HEAD = do_DELETE = do_PUT = do_PATCH = do_OPTIONS = forward

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def save(self, path):
        """Writes all of it for a reader of a failed test."""
        with open(path, "w") as file:
            for exchange in self.exchanges:
                print(f"{exchange}\n{exchange.body.decode()}\n{exchange.answer}\n", file=file)
