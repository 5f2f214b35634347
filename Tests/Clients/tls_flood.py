#!/usr/bin/env python3
"""What TLS handshakes of one client cost another: the longest gap between the tokens of a stream.

One client streams a text over TLS while others, from another address, flood the server with handshakes: whole ones, half ones that
are held open, rubbish in place of one, and one byte at a time. For each kind it prints the longest gap alone and beside it, and
how many connections there were. Exit status 1 if a gap beside a flood exceeds both 100 ms and twice the gap alone, or if the
server ended. The figures mean something on two idle cores only.

usage: tls_flood.py --shim .build/release/shim --model MODEL.gguf [--seconds 5] [--clients 50]

It starts the shim on a port of its own, with a certificate made for it, and talks to 127.0.0.1 only.
"""
import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import time

from constraint_bombs import BAD, GOOD, LIMIT_SECONDS, Gaps, alone

def context():
    result = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    result.check_hostname, result.verify_mode = False, ssl.CERT_NONE
    return result


def client_hello():
    """The first flight of a handshake."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context().wrap_bio(incoming, outgoing).do_handshake()
    return outgoing.read()


async def whole(port):
    _, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(BAD, 0), ssl=context())
    writer.transport.abort()


async def send(port, data, hold=0.0, pieces=1):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(BAD, 0))
    try:
        for start in range(0, len(data), -(-len(data) // pieces)):
            writer.write(data[start:start + -(-len(data) // pieces)])
            await writer.drain()
            await asyncio.sleep(hold / pieces)
    finally:
        writer.transport.abort()


HELLO = client_hello()
FLOODS = {
    "whole handshakes": whole,
    "half handshakes, left": lambda port: send(port, HELLO),
    "half handshakes, held": lambda port: send(port, HELLO, hold=2),
    "byte by byte": lambda port: send(port, HELLO, hold=2, pieces=100),
    "rubbish": lambda port: send(port, os.urandom(5_000)),
    "plain HTTP": lambda port: send(port, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
}


async def stream(port, gaps, begun):
    body = json.dumps({"prompt": "Once upon a time", "max_tokens": 1_500, "ignore_eos": True, "stream": True}).encode()
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(GOOD, 0), ssl=context())
        writer.write(f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        async for line in reader:
            if line.startswith(b"data:"):
                gaps.times.append(time.monotonic())
                begun.set()
        writer.transport.abort()


def flood(name, port, seconds, clients, count):
    """In a process of its own, so that the stream's reader is not delayed."""
    until = time.monotonic() + seconds

    async def client():
        while time.monotonic() < until:
            count.value += 1
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                await asyncio.wait_for(FLOODS[name](port), max(until - time.monotonic(), 0.01))

    async def all_clients():
        await asyncio.gather(*(client() for _ in range(clients)))

    asyncio.run(all_clients())


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shim", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--clients", type=int, default=50)
    options = parser.parse_args()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = pathlib.Path(folder, "cert.pem"), pathlib.Path(folder, "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-keyout", key, "-out", certificate], check=True, capture_output=True)
        process = subprocess.Popen(
            [os.path.abspath(options.shim), "--model", os.path.abspath(options.model), "--port", "0", "--tls-cert",
             certificate, "--tls-key", key], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        port = int(re.search(r"https://127\.0\.0\.1:(\d+)", process.stdout.readline()).group(1))
        gaps, begun = Gaps(), asyncio.Event()
        streaming = asyncio.create_task(stream(port, gaps, begun))
        await begun.wait()
        for name in FLOODS:
            own = await alone(gaps, options.seconds)
            count = multiprocessing.Value("i", 0)
            begin = time.monotonic()
            flooding = multiprocessing.Process(target=flood, args=(name, port, options.seconds, options.clients, count))
            flooding.start()
            while flooding.is_alive():
                await asyncio.sleep(0.1)
            gap = gaps.longest(begin, time.monotonic())
            if process.poll() is not None or streaming.done():
                print(f"{name}: the server or its stream ended")
                return 1
            if gap > max(LIMIT_SECONDS, 2 * own):
                failures.append(name)
            print(f"{name:24} {own * 1000:5.0f} ms {gap * 1000:5.0f} ms  {count.value} connections"
                  f"{'  TOO LONG' if name in failures else ''}", flush=True)
        streaming.cancel()
        process.terminate()
        process.wait(timeout=60)
    print(f"{len(FLOODS) - len(failures)} of {len(FLOODS)} within the limit", *failures, sep="\n  ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
