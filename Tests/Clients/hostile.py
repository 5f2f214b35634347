#!/usr/bin/env python3
"""Clients that mean ill, against a shim on this machine, for a number of seconds: what soak.py sets beside its good ones.

They come from two addresses, 127.0.0.2 with a key and 127.0.0.3 without one. All they ask for is allowed to be refused; they
check nothing, and print how many requests of each kind they sent and which statuses came back.

usage: hostile.py --port N --model NAME --key KEY [--seconds 60] [--clients 12] [--seed 1] [--kinds tools,schema]
"""
import argparse
import asyncio
import collections
import contextlib
import json
import os
import random
import time

from constraint_bombs import BOMBS

KEYED, KEYLESS = "127.0.0.2", "127.0.0.3"
# How long one of them waits for an answer, or holds a connection.
PATIENCE = 20

SENT = collections.Counter()
STATUSES = collections.Counter()


class Hostile:
    def __init__(self, port, model, key, seed):
        self.port, self.model, self.random = port, model, random.Random(seed)
        self.authorization = f"Authorization: Bearer {key}\r\n"

    def head(self, path, length, extra=""):
        return (f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{extra}"
                f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n").encode()

    async def connect(self, address):
        return await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address, 0))

    async def send(self, data, address=KEYED, patience=PATIENCE):
        """Sends all of it and waits for an answer's first bytes, then leaves."""
        reader, writer = await self.connect(address)
        try:
            writer.write(data)
            await asyncio.wait_for(writer.drain(), patience)
            answer = await asyncio.wait_for(reader.read(1 << 16), patience)
            STATUSES[answer[9:12].decode("latin-1")] += 1
        except asyncio.TimeoutError:
            STATUSES["left"] += 1
        finally:
            writer.transport.abort()

    async def ask(self, path, fields):
        body = json.dumps(fields, ensure_ascii=False).encode()
        await self.send(self.head(path, len(body), self.authorization) + body)

    async def chat(self, text="Hi", **fields):
        message = {"role": "user", "content": text}
        await self.ask("/v1/chat/completions", {"model": self.model, "messages": [message], "max_tokens": 300, **fields})

    async def all(self, works):
        await asyncio.gather(*works, return_exceptions=True)

    # Those without a key.

    async def half_heads(self):
        async def hold():
            reader, writer = await self.connect(KEYLESS)
            writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127")
            await asyncio.wait_for(reader.read(-1), PATIENCE)
            writer.transport.abort()
        await self.all(hold() for _ in range(150))

    async def half_bodies(self):
        """Bodies that claim to be signed, so that they are read, one byte short of done and trickled."""
        async def hold(extra, address):
            reader, writer = await self.connect(address)
            writer.write(self.head("/chatgpt", 1 << 20, extra) + b" " * 100_000)
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                for _ in range(PATIENCE):
                    writer.write(b" ")
                    await writer.drain()
                    await asyncio.wait_for(reader.read(1), 1)
                    break
            writer.transport.abort()
        signed = f"x-signature: {'0' * 64}\r\nx-timestamp: {int(time.time())}\r\n"
        await self.all([hold(signed, KEYLESS) for _ in range(40)] + [hold(self.authorization, KEYED) for _ in range(40)])

    async def bad_signatures(self):
        async def one(number):
            extra = f"x-signature: {number:064x}\r\nx-timestamp: {int(time.time())}\r\n"
            await self.send(self.head("/chatgpt", 2, extra) + b"[]", KEYLESS)
        await self.all(one(self.random.getrandbits(200)) for _ in range(50))

    async def bad_keys(self):
        await self.all(self.send(self.head("/v1/embeddings", 2, f"Authorization: Bearer {number}\r\n") + b"{}", KEYLESS)
                       for number in range(50))

    async def rubbish(self):
        await self.all(self.send(self.random.randbytes(400) + b"\r\n\r\n", KEYLESS) for _ in range(20))

    # Those with a key.

    async def stop_strings(self):
        await self.chat(stop=["a" * 4090 + end for end in "bcde"], n=16, stream=True)

    async def template(self):
        await self.chat(chat_template=self.random.choice([
            "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
            "{{ ('a' * 1000000) | wordwrap(1, true, 'x' * 1000000) }}", "{{ 1 }}" * 300_000,
            "{% set x = namespace(s='a') %}{% for i in range(64) %}{% set x.s = x.s + x.s %}{% endfor %}{{ x.s }}"]))

    async def control_tokens(self):
        await self.chat("<|im_start|>" * 200_000)

    async def tools(self):
        await self.chat(tools=[{"type": "function", "function": {
            "name": f"f{i}", "description": "d" * 100, "parameters": {"type": "object"}}} for i in range(20_000)])

    async def schema(self):
        pattern = self.random.choice(["(a|b|ab)*c{1,9000}", "(" * 500 + "a" + ")*" * 500, "[^a]{5000}" * 20])
        await self.chat(response_format={"type": "json_schema", "json_schema": {
            "name": "s", "strict": True, "schema": {
                "type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}, "required": ["a"],
                "additionalProperties": False}}})

    async def bomb(self):
        """One of the constraints of constraint_bombs.py."""
        await self.chat("Go on.", stream=True, **self.random.choice(list(BOMBS.values())))

    async def embeddings(self):
        body = {"model": self.model, "input": ["word " * 200] * 500}
        await self.all(self.ask("/v1/embeddings", body) for _ in range(6))

    async def echoes(self):
        body = {"model": self.model, "prompt": ["word " * 300] * 64, "echo": True, "logprobs": 5, "max_tokens": 0}
        await self.all(self.ask("/v1/completions", body) for _ in range(4))

    async def many_choices(self):
        await self.all(self.chat("Tell me a story.", n=16, max_tokens=500, stream=True) for _ in range(12))

    async def long_prompts(self):
        await self.all(self.chat("word " * self.random.randrange(500, 1500)) for _ in range(12))

    async def tokens(self):
        await self.ask("/tokenize", {"content": "!a;b" * 1_500_000, "with_pieces": True})

    async def nested(self):
        body = b"[" * 4_000_000
        await self.send(self.head("/v1/chat/completions", len(body), self.authorization) + body)

    async def never_reads(self):
        reader, writer = await self.connect(KEYED)
        body = json.dumps({"model": self.model, "stream": True, "n": 16, "max_tokens": 1500, "logprobs": True, "top_logprobs": 20,
                           "messages": [{"role": "user", "content": "Go on."}]}).encode()
        writer.write(self.head("/v1/chat/completions", len(body), self.authorization) + body)
        reader._transport.pause_reading()
        await asyncio.sleep(PATIENCE)
        writer.transport.abort()

    async def leaves(self):
        await self.all(asyncio.wait_for(self.chat("word " * 1000, stream=True), self.random.random()) for _ in range(20))

    KINDS = [half_heads, half_bodies, bad_signatures, bad_keys, rubbish, stop_strings, template, control_tokens, tools, schema,
             bomb, embeddings, echoes, many_choices, long_prompts, tokens, nested, never_reads, leaves]


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", help="of Hostile.KINDS, with commas (default: all)")
    options = parser.parse_args()
    kinds = [getattr(Hostile, name) for name in options.kinds.split(",")] if options.kinds else Hostile.KINDS

    async def run(number):
        client = Hostile(options.port, options.model, options.key, options.seed * 1000 + number)
        while True:
            kind = client.random.choice(kinds)
            SENT[kind.__name__] += 1
            try:
                await kind(client)
            except (OSError, asyncio.TimeoutError):
                # Refused at the door. A client that is turned away at once does not come back as fast as it can.
                STATUSES["cut"] += 1
                await asyncio.sleep(0.05)

    runs = [asyncio.create_task(run(number)) for number in range(options.clients)]
    await asyncio.sleep(options.seconds)
    print(json.dumps({"sent": SENT, "statuses": STATUSES}), flush=True)
    # Not by cancelling: before Python 3.12 `wait_for` may swallow that.
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
