"""Measures calls on dialogues that training never saw: whether the model calls the right tool with the right arguments, what
it says after the result, and whether it leaves tools alone that are of no use.

    python evaluate_tools.py OUT ../hearth-4m.gguf              nothing holds the calls to their declarations
    python evaluate_tools.py --server http://127.0.0.1:8080     the engine does
"""

import argparse
import json
import random
import urllib.request
from pathlib import Path

from corpus import Draw, exchange, render
from tools import HELD_KINDS, UNRELATED, call, compact, declared, kind, system, use


class Local:
    """The weights of the file, decoded greedily."""

    def __init__(self, out, path):
        from evaluate import Runner
        self.runner = Runner(out, path)

    def answer(self, tools, messages):
        """The call, if it is one, and the text."""
        text = self.runner.answer([system(tools)] + messages, limit=120)[2]
        inside = text.removeprefix("<tool_call>").split("</tool_call>")[0]
        if inside == text:
            return None, text
        try:
            value = json.loads(inside)
            return (value["name"], value["arguments"]), text
        except (ValueError, KeyError, TypeError):
            return ("not JSON", text), text


class Server:
    def __init__(self, address):
        self.address = address

    def answer(self, tools, messages):
        body = {"model": "hearth-4m", "temperature": 0, "max_tokens": 120, "tools": [t.schema() for t in tools], "messages": messages}
        request = urllib.request.Request(self.address + "/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
        message = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
        if not message.get("tool_calls"):
            return None, message.get("content") or ""
        function = message["tool_calls"][0]["function"]
        try:
            return (function["name"], json.loads(function["arguments"])), message.get("content") or ""
        except ValueError:  # cut off by max_tokens
            return (function["name"], function["arguments"]), message.get("content") or ""

    @staticmethod
    def said(u):
        """The call and its result, as the API has them."""
        made = {"id": "call_1", "type": "function", "function": {"name": u.tool.name, "arguments": compact(u.arguments)}}
        return [{"role": "assistant", "content": None, "tool_calls": [made]}, {"role": "tool", "tool_call_id": "call_1", "content": u.result}]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("out", type=Path, nargs="?")
    ap.add_argument("gguf", type=Path, nargs="?")
    ap.add_argument("--server")
    ap.add_argument("--failures", action="store_true")
    ap.add_argument("--each", type=int, default=100, help="dialogues of a row")
    args = ap.parse_args()
    model = Server(args.server) if args.server else Local(args.out, args.gguf)
    said = Server.said if args.server else lambda u: [{"role": "assistant", "content": call(u)}, {"role": "tool", "content": u.result}]
    d = Draw(random.Random(8), held=True)

    def failed(*what):
        if args.failures:
            print(*what, sep=" | ")

    for title, draw in [("kinds of tools that training had, other names and phrasings", None), ("kinds that it had not", HELD_KINDS)]:
        tool = arguments = answered = 0
        for _ in range(args.each):
            u = use(d, d.pick(draw) if draw else kind(d))
            tools = declared(d, [u.tool], d.int(0, 2))
            messages = [{"role": "user", "content": u.user}]
            made, text = model.answer(tools, messages)
            tool += made is not None and made[0] == u.tool.name
            arguments += made == (u.tool.name, u.arguments)
            if made != (u.tool.name, u.arguments):
                failed(u.user, call(u), made or text)
            text = model.answer(tools, messages + said(u))[1]
            is_right = all(w in text for w in u.want)
            answered += is_right
            if not is_right:
                failed(u.user, u.result, text)
        print(f"{title}: of {args.each} the right tool {tool}, with the right arguments {arguments}, the result in the answer {answered}", flush=True)
    alone = 0
    for _ in range(args.each):
        e = exchange(d)
        while e.category not in UNRELATED:
            e = exchange(d)
        made, text = model.answer(declared(d, [], d.int(1, 3)), [{"role": "user", "content": e.user}])
        alone += made is None
        if made is not None:
            failed(e.user, made)
    print(f"questions that need no tool: of {args.each} without a call {alone}")


if __name__ == "__main__":
    main()
