#!/usr/bin/env python3
"""What expensive constraints of one client cost another: the longest gap between the tokens of a stream.

One client streams a text while a second one, from another address, asks for a text under a constraint that takes long to
compile or to follow. For each constraint it prints the longest gap of the stream alone and beside the constraint (medians of
the tries, measured in turns), the number of the second client's tokens and how its text ended. Exit status 1 if a gap beside a
constraint exceeds both 100 ms and twice the gap alone, or if the server ended. The figures mean something on two idle cores only.

usage: constraint_bombs.py --shim .build/release/shim --model MODEL.gguf [--tries 3] [--seconds 3] [--only WORD,WORD]
       [--copies 1] [--list]

It starts the shim on a port of its own and talks to 127.0.0.1 only.
"""
import argparse
import asyncio
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

GOOD, BAD = "127.0.0.1", "127.0.0.2"
LIMIT_SECONDS = 0.1
SEEDS = pathlib.Path(__file__).parent.parent / "Fuzz/Seeds/constraints"


def integers(count, **more):
    names = [f"n{index}" for index in range(count)]
    return {"type": "object", "properties": {name: {"type": "integer"} for name in names}, "required": names, **more}


def pattern(text):
    return {"guided_regex": text}


def schema(document):
    return {"guided_json": document}


def grammar(text):
    return {"guided_grammar": text}


def text(document):
    return {"guided_json": {"type": "string", "pattern": document}}


def numbered(count, make, joint=","):
    return joint.join(make(index) for index in range(count))


def tool(parameters, **more):
    return {"tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}], "tool_choice": "required", **more}


def nested(depth, leaf=None):
    document = leaf or {"type": "integer"}
    for _ in range(depth):
        document = {"type": "array", "minItems": 1, "items": document}
    return document


def seed(path):
    """The request of one of the fuzz harness's inputs: its first byte chooses the kind (Tests/Fuzz/Sources/FuzzConstraint)."""
    data = path.read_bytes()
    kind, source = data[0], data[1:].rpartition(b"\n")[0].decode()
    if kind & 3 < 2:
        return schema(json.loads(source))
    return pattern(source) if kind & 3 == 2 else grammar(source)


ALTERNATIVES = [{"properties": {"k": {"const": i}, "v": {"minimum": i}}, "required": ["k"]} for i in range(50)]
LARGE = numbered(30, lambda i: f"r{i} ::= " + numbered(30, lambda j: f'r{(i * j + 1) % 30} "{chr(97 + j % 26)}"', " | ") + ' | "x"', "\n")

# Tried by hand or found by attacks; each once took the model's thread for longer than a step.
BOMBS = {
    "2,000 required": schema(integers(2_000)),
    "10,000 required": schema(integers(10_000)),
    "40,000 required": schema(integers(40_000)),
    "10,000 optional": schema({**integers(10_000), "required": []}),
    "10,000 required, in any of two ways": schema({**integers(10_000), "anyOf": [{"required": ["n1"]}, {"required": ["n9999"]}]}),
    "10,000 required, names with a pattern": schema(integers(10_000, propertyNames={"pattern": "^n[0-9]+$"})),
    "5,000 dependent": schema({**integers(5_000, dependentRequired={"n1": [f"n{i}" for i in range(5_000)]}), "required": []}),
    "5,000 objects": schema({"type": "object", "properties": {f"n{i}": integers(2) for i in range(5_000)},
                             "required": [f"n{i}" for i in range(5_000)]}),
    "ambiguous grammar": grammar('start: e\ne: e e | e "+" e | e "*" e e | "(" e ")" | /[a-z]+/ | /[a-z]{1,30}/'),
    "ambiguous grammar of empty rules": grammar('root ::= a a a a a a a a\na ::= "x"? "x"? "x"? "x"? "x"? | "x"{0,300} | a a'),
    "grammar of 900 left-recursive alternatives": grammar("root ::= r0\n" + LARGE),
    "grammar of nested repetitions": grammar('start: (("a".."z"~1..500)~1..500)~1..500'),
    "grammar of nested repetitions in braces": grammar('root ::= (([a-z]{1,40}){1,40}){1,40}'),
    "grammar of a long chain": grammar("root ::= r0\n" + numbered(20_000, lambda i: f"r{i} ::= r{i + 1} | \"a\" r{i + 1}", "\n")
                                       + '\nr20000 ::= "b"'),
    "grammar of overlapping terminals": grammar("start: (" + numbered(60, lambda i: f"/[a-z ]{{1,{i + 1}}}/", " | ") + ")*"),
    "recursive arrays": schema({"type": "array", "minItems": 1, "items": {"$ref": "#"}}),
    "recursive arrays of two": schema({"type": "array", "minItems": 2, "maxItems": 3, "items": {"anyOf": [{"$ref": "#"}, {"type": "integer"}]}}),
    "recursive objects": schema({"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}, "required": ["a"]}),
    "arrays in arrays": schema(nested(100)),
    "four look-aheads": pattern("(?=.*a.{20})(?=.*b.{20})(?=.*c.{20})(?=.*d.{20})[a-z ]*"),
    "six look-aheads of words": pattern("".join(f"(?=.*[{c}]{{3,40}}.*[{c}x])" for c in "abcdef") + ".{1,400}"),
    "negative look-ahead of classes": pattern(r"(?!.*\p{L}\d)\p{L}{1,200}x"),
    "look-ahead of counted classes": pattern(r"(?=(.*\p{L}){20})[\p{L}a-z]{50,300}"),
    "look-aheads at every place": pattern(r"((?=\p{L}{50})\p{L}|\d){100}"),
    "look-aheads in a schema": text(r"^(?!\p{L}{100})(?!.*\p{Lu}{30})(\p{L}{2,50}\d){20}$"),
    "exponential automaton": pattern("(a|b)*a(a|b){60}"),
    "exponential automaton of words": pattern(".*a.{200}b.{200}c.*"),
    "classes and counts": pattern(r"(.*\p{L}.{200}){5}"),
    "repetitions of repetitions": pattern("(((a{0,99}){0,99}){0,99}){0,99}b"),
    "repetitions of words": pattern("((([a-z ]{1,30}){1,30}){1,30}){1,30}"),
    "200 alternatives of counts": pattern("(" + numbered(200, lambda i: f"[a-z ]{{{i},{2 * i + 1}}}{chr(97 + i % 26)}", "|") + ")*"),
    "three patterns at once": schema({"type": "string", "allOf": [{"pattern": "(x.{40}y)+"}, {"pattern": "(y.{41}x)+"}, {"not": {"pattern": "z.{30}"}}]}),
    "60 patterns of names": schema({"type": "object", "minProperties": 3, "patternProperties": {
        f"^.*[a-z].{{0,{i % 20}}}{i}?$": {"minimum": i} for i in range(60)}}),
    "oneOf of 50": schema({"type": "object", "oneOf": ALTERNATIVES}),
    "not oneOf of 50": schema({"type": "object", "not": {"oneOf": ALTERNATIVES}}),
    "items that differ": schema({"type": "array", "uniqueItems": True, "minItems": 500, "items": {"type": "integer"}}),
    "enumeration of 20,000": schema({"enum": [f"value number {i}" for i in range(20_000)]}),
    "not in an enumeration of 3,000": schema({"type": "array", "minItems": 20, "uniqueItems": True, "items": {
        "type": "string", "not": {"enum": [f"value number {i}" for i in range(3_000)]}}}),
    "choice of 50,000": {"guided_choice": [f"choice number {i}" for i in range(50_000)]},
    "references in a chain": schema({"$ref": "#/$defs/d0", "$defs": {
        **{f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}, {"type": "integer"}]} for i in range(2_000)}, "d2000": {"type": "null"}}}),
    "alternatives in alternatives": schema({"$ref": "#/$defs/d0", "$defs": {
        **{f"d{i}": {"type": "object", "properties": {"a": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2}}, "required": ["a"]} for i in range(30)},
        "d30": {"type": "null"}}}),
    "exponential conjunctions": schema({"type": "object", "allOf": [
        {"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(30)]}),
    "conjunctions in conjunctions, unevaluated": schema({"$ref": "#/$defs/d0", "$defs": {
        **{f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2, "properties": {f"n{i}": {"type": "integer"}},
                     "unevaluatedProperties": False} for i in range(40)},
        "d40": {"type": "object", "properties": {"a": {"type": "integer"}}}}}),
    "multiples of many numbers": schema({"type": "integer", "allOf": [{"multipleOf": p} for p in (7, 11, 13, 17, 19, 23, 29, 31, 37, 41)]}),
    "large range": schema({"type": "number", "minimum": 1e-300, "maximum": 1e300, "multipleOf": 1e-300}),
    "long string": schema({"type": "string", "minLength": 100_000}),
    "formats": schema({"type": "array", "minItems": 30, "items": {"anyOf": [
        {"type": "string", "format": name} for name in ("date-time", "uri", "email", "ipv6", "hostname", "uuid", "iri", "idn-email")]}}),
    "tool of 5,000 required": tool(integers(5_000)),
    "tool of alternatives": tool({"type": "object", "oneOf": ALTERNATIVES}),
    "tool of look-aheads": tool({"type": "object", "properties": {"a": {
        "type": "string", "pattern": r"^(?=.*a.{20})(?=.*b.{20})(?=.*c.{20})[a-z ]*$"}}, "required": ["a"]}),
    "many tools": {"tools": [{"type": "function", "function": {"name": f"f{i}", "parameters": integers(20)}} for i in range(500)],
                   "tool_choice": "required"},
    "20,000 patterns of names": schema({"type": "object", "minProperties": 3, "patternProperties": {
        f"^n{i}[a-z]*$": {"type": "integer"} for i in range(20_000)}}),
    "enumeration of 48,000 integers": schema({"enum": list(range(1_000_000, 1_048_000))}),
    "4 MB key over 45,000 schemas": schema({"type": "object", "properties": {"k" * 4_000_000: {
        "type": "object", "properties": {f"n{i}": {"type": "integer"} for i in range(45_000)}}}}),
    "7 MB of values": schema({"enum": [f"{i} " + "v" * 30 for i in range(200_000)]}),
    "5 MB of patterns": schema({"type": "object", "properties": {
        f"n{i}": {"type": "string", "pattern": f"^[a-c]{{1,9}}x{i}.*y$"} for i in range(80_000)}}),
    "3 MB of references": schema({"type": "object", "properties": {f"n{i}": {"$ref": f"#/$defs/d{i % 9}"} for i in range(120_000)},
                                  "$defs": {f"d{i}": integers(20) for i in range(9)}}),
    "1 MB of rules": grammar("root ::= r0\n" + numbered(50_000, lambda i: f"r{i} ::= r{i + 1}", "\n") + '\nr50000 ::= "a"'),
    "1 MB of an expression": grammar("start: /" + "b" * 1_000_000 + "/"),
    **{f"seed {path.name}": seed(path) for path in sorted(SEEDS.iterdir())},
}


class Gaps:
    """Times at which a stream's events arrived."""

    def __init__(self):
        self.times = []

    def longest(self, begin, end):
        """The longest time without an event from `begin` to `end`; a gap that is open at the end counts."""
        inside = [time for time in self.times if begin <= time <= end]
        return max(after - before for before, after in zip([begin, *inside], [*inside, end]))


class Server:
    def __init__(self, shim, model):
        self.process = subprocess.Popen(
            [os.path.abspath(shim), "--model", os.path.abspath(model), "--port", "0"], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", self.process.stdout.readline()).group(1))

    async def request(self, path, data, address):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address, 0), limit=1 << 24)
        writer.write(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
        return reader, writer

    async def stream(self, gaps, begun):
        """Streams texts until it is cancelled. `begun` is set with the first event."""
        body = json.dumps({"prompt": "Once upon a time", "max_tokens": 1_500, "ignore_eos": True, "stream": True,
                           "temperature": 1, "seed": 1}).encode()
        while True:
            reader, writer = await self.request("/v1/completions", body, GOOD)
            try:
                async for line in reader:
                    if line.startswith(b"data:"):
                        gaps.times.append(time.monotonic())
                        begun.set()
            finally:
                writer.transport.abort()

    async def explode(self, data, outcome):
        """Sends the bomb and reads its text; cancelled, it leaves."""
        reader, writer = await self.request("/v1/chat/completions", data, BAD)
        try:
            status = (await reader.readline()).split(b" ")[1].decode()
            tokens, end = 0, ""
            async for line in reader:
                line = line[:2_000] + b'"'  # An error may quote a megabyte; reading it must not delay the other stream's clock.
                if b"content" in line and line.startswith(b"data:"):
                    tokens += 1
                if b'"error"' in line or (not line.startswith(b"data:") and b'"message"' in line):
                    end = re.search(rb'"message":"((?:[^"\\]|\\.)*)', line).group(1).decode()[:90]
                if match := re.search(rb'"finish_reason":"(\w+)"', line):
                    end = match.group(1).decode()
                outcome.update(status=status, tokens=tokens, end=end)
        finally:
            writer.transport.abort()


async def beside(server, gaps, body, seconds, copies):
    """The longest gap beside a bomb, whose client leaves after `seconds`, and in the second after that."""
    outcomes = [{} for _ in range(copies)]
    begin = time.monotonic()
    works = [asyncio.create_task(server.explode(body, outcome)) for outcome in outcomes]
    await asyncio.wait(works, timeout=seconds)
    outcome = {"seconds": time.monotonic() - begin, **outcomes[0]}
    for work in works:
        work.cancel()
    await asyncio.gather(*works, return_exceptions=True)
    await asyncio.sleep(1)
    return gaps.longest(begin, time.monotonic()), outcome


async def alone(gaps, seconds):
    begin = time.monotonic()
    await asyncio.sleep(seconds)
    return gaps.longest(begin, time.monotonic())


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shim", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3, help="after which the second client leaves")
    parser.add_argument("--copies", type=int, default=1, help="of each request at once")
    parser.add_argument("--only", help="words of the constraints' names, with commas")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    words = options.only.split(",") if options.only else [""]
    bombs = {name: fields for name, fields in BOMBS.items() if any(word in name for word in words)}
    if options.list:
        print("\n".join(bombs))
        return 0
    server = Server(options.shim, options.model)
    gaps, begun, failures = Gaps(), asyncio.Event(), []
    stream = asyncio.create_task(server.stream(gaps, begun))
    await begun.wait()
    print(f"{'constraint':44} {'alone':>8} {'beside':>8}  of the second client", flush=True)
    for name, fields in bombs.items():
        without, during = [], []
        for number in range(options.tries):
            # Not the text of the last try: what was compiled and computed for that is kept.
            message = {"role": "user", "content": f"Write number {number}."}
            body = json.dumps({"messages": [message], "max_tokens": 400, "stream": True, "temperature": 1.5,
                               "seed": number, **fields}).encode()
            without.append(await alone(gaps, 1))
            gap, outcome = await beside(server, gaps, body, options.seconds, options.copies)
            during.append(gap)
            if server.process.poll() is not None or stream.done():
                print(f"{name}: the server ended")
                return 1
        own, other = statistics.median(without), statistics.median(during)
        failed = other > max(LIMIT_SECONDS, 2 * own)
        if failed:
            failures.append(name)
        said = (f"{outcome.get('status', 'no answer')}, {outcome.get('tokens', 0)} tokens in {outcome['seconds']:.1f} s"
                f" {outcome.get('end', '')}")
        print(f"{name:44} {own * 1000:5.0f} ms {other * 1000:5.0f} ms  {said}{'  TOO LONG' if failed else ''}", flush=True)
    stream.cancel()
    server.process.terminate()
    server.process.wait(timeout=60)
    print(f"{len(bombs) - len(failures)} of {len(bombs)} within the limit", *failures, sep="\n  ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
