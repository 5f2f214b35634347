"""An API that answers whatever a test wants, byte for byte, and notes what it was asked; and how clients ask for it."""

import json
import socket
import threading

from support import wait_until

KEY = "upstream-key-that-nobody-may-see"
ASK = {"model": "big-one", "messages": [{"role": "user", "content": "Hello"}]}
STREAM = ASK | {"stream": True}


class Request:
    def __init__(self, head, body):
        line, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, _ = line.split(" ", 2)
        self.headers = {name.lower(): value.strip() for name, value in (each.split(":", 1) for each in lines)}
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)


class FakeUpstream:
    """`answer` is what it says: bytes, or a function of the connection, which it writes to as long as it likes."""

    def __init__(self, tls=None):
        self.tls = tls
        self.answer, self.requests = whole(CHAT), []
        self.has_been_left = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.listener.getsockname()[1]}/v1"
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            with connection, connection.makefile("rb") as stream:
                head = b"".join(iter(stream.readline, b"\r\n")).removesuffix(b"\r\n")
                request = Request(head, b"")
                request.body = stream.read(int(request.headers.get("content-length", 0)))
                if request.path.endswith("/models"):
                    connection.sendall(whole({"object": "list", "data": [{"id": "big-one", "object": "model"}]}))
                    return
                self.requests.append(request)
                if isinstance(self.answer, bytes):
                    connection.sendall(self.answer)
                else:
                    self.answer(connection)
        except OSError:
            self.has_been_left.set()

    def then_stall(self, data=b""):
        """Says nothing more, until the other side has left."""

        def answer(connection):
            connection.sendall(data)
            while connection.recv(1):
                pass
            self.has_been_left.set()

        self.answer = answer

    def then_repeat(self, data, piece):
        """Goes on without end."""

        def answer(connection):
            connection.sendall(data)
            while True:
                connection.sendall(piece)

        self.answer = answer

    def wait_until_left(self):
        wait_until(self.has_been_left.is_set)


def head(status="200 OK", **headers):
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def whole(value, status="200 OK", **headers):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return head(status, **{"Content_Type": "application/json", "Content_Length": len(body)} | headers) + body


def failure(status, message, **headers):
    error = {"message": message, "type": "x", "param": "size", "code": "why"}
    return whole({"error": error}, status, **headers)


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(value):
    return b"data: %s\n\n" % (value if isinstance(value, bytes) else json.dumps(value).encode())


def delta(text):
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return event({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "big-one", "choices": [choice]})


STREAM_HEAD = head(Content_Type="text/event-stream", Transfer_Encoding="chunked")
LAST_CHUNK = b"0\r\n\r\n"
DONE = event(b"[DONE]")


def stream(*events):
    return STREAM_HEAD + b"".join(chunk(each) for each in events) + LAST_CHUNK


CHAT = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "big-one",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "From above"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
}


def ask(shim, body=ASK):
    return shim.post("/v1/chat/completions", body)


def is_error(answer, status=502, code="upstream_error"):
    assert KEY.encode() not in answer.body and answer.headers["x-engine"] == "upstream"
    return (answer.status, answer.error["code"]) == (status, code)
