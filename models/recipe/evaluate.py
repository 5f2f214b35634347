"""Measures an exported model on what training never saw, with the weights of
the GGUF file itself (dequantized to float32), decoding greedily.

    python evaluate.py OUT ../hearth-4m.gguf            the table
    python evaluate.py OUT ../hearth-4m.gguf --failures also what went wrong
    python evaluate.py OUT ../hearth-4m.gguf --cases FILE also test cases for an engine
"""

import argparse
import json
import random
from pathlib import Path

import gguf
import torch
from tokenizers import Tokenizer

import tokens
from corpus import CATEGORIES, SYSTEMS, TOPICS, Draw, exchange, questions, render, right, turn
from export import gguf_name
from model import Config, Model

CASES = [["Hello!"], ["Who are you?"], ["What can you do?"], ["What is the capital of France?"], ["What is 27 + 15?"], ["What is 7 times 8?"], ["How many minutes are in 3 hours?"], ["What is the opposite of hot?"],
         ["Is 17 even or odd?"], ["Tell me a joke."], ["Write a haiku about the sea."], ["Tell me a short story about a robot named Mia."], ["List three fruits."], ["How do I make tea?"], ["Why is the sky blue?"],
         ["Repeat after me: the sky is blue"], ["What is the weather today?"], ["Translate 'thank you' to French."], ["My name is Nora.", "What is the capital of Japan?", "What is my name?"], ["Anna has 12 apples and buys 7 more. How many apples does Anna have now?"],
         ["Is a dog an animal?"], ["What day comes after Monday?"], ["What is the plural of mouse?"], ["What does a baker do?"], ["How many legs does a spider have?"], ["What color is grass?"], ["Count from 1 to 8."], ["Thank you!"], ["Where does a bee live?"],
         ["Can a fish swim?"], ["What is a hammer used for?"], ["Who painted the Mona Lisa?"]]
LEAST = 0.5  # a case whose choice was closer than this would test the order of additions, not the engine


class Runner:
    def __init__(self, out, path):
        reader = gguf.GGUFReader(path)
        tensors = {t.name: torch.from_numpy(gguf.quants.dequantize(t.data, t.tensor_type).copy()) for t in reader.tensors}
        saved = torch.load(out / "checkpoint.pt", map_location="cpu")
        self.model = Model(Config(**saved["config"]))
        self.model.load_state_dict({name: tensors[gguf_name(name)] for name in saved["model"]})
        self.model.eval()
        self.tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
        self.end = self.tokenizer.token_to_id(tokens.END)

    def answer(self, messages, limit=260):
        prompt = self.tokenizer.encode(render(messages, generate=True)).ids
        ids = self.model.greedy(prompt, limit, self.end)
        return prompt, ids, self.tokenizer.decode(ids)

    @torch.no_grad()
    def least_margin(self, prompt, ids):
        """How far the chosen token's logit is ahead of the next one's, where it is least."""
        h = self.model.hidden(torch.tensor([prompt + ids[:-1]]))[0, len(prompt) - 1:]
        top = self.model.logits(h).topk(2).values
        return round(float((top[:, 0] - top[:, 1]).min()), 3)


def memory_chats(count, held):
    """Two things told, something between, and then one of them asked for."""
    d = Draw(random.Random(5), held)
    tell = next(t for t in TOPICS if t[1] == "memory")
    for _ in range(count):
        told = exchange(d, tell)
        between = []
        for _ in range(d.int(0, 3)):
            e = exchange(d)
            while e.category in ("memory", "stories", "unknown"):
                e = exchange(d)
            between += turn(e.user, e.answer)
        question, answer = told.follow[0]
        yield turn(told.user, told.answer) + between + [{"role": "user", "content": question}], answer


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("out", type=Path)
    ap.add_argument("gguf", type=Path)
    ap.add_argument("--failures", action="store_true")
    ap.add_argument("--seen", action="store_true", help="ask in phrasings that training used, to compare")
    ap.add_argument("--cases", type=Path)
    ap.add_argument("--each", type=int, default=40, help="prompts to a category; 0 for none")
    args = ap.parse_args()
    torch.set_num_threads(1)
    run = Runner(args.out, args.gguf)

    if args.cases:
        cases = []
        for i, turns in enumerate(CASES):
            messages = [{"role": "system", "content": SYSTEMS[0]}] if i % 5 == 4 else []
            for user in turns:
                messages.append({"role": "user", "content": user})
                prompt, ids, text = run.answer(messages, limit=48)
                if user is not turns[-1]:
                    messages.append({"role": "assistant", "content": text})
            margin = run.least_margin(prompt, ids)
            print(f"> {turns[-1]}\n{text}\n{margin}\n")
            if margin < LEAST:
                continue
            cases.append({"messages": messages, "prompt": render(messages, generate=True), "prompt_ids": prompt, "greedy_ids": ids, "text": text, "least_margin": margin})
        args.cases.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")

    d = Draw(random.Random(6))
    score = {c: [0, 0] for c in CATEGORIES}

    def count(category, ok, messages, text):
        score[category][0] += ok
        score[category][1] += 1
        if args.failures and not ok:
            print(f"[{category}] {messages[-1]['content']!r} -> {text!r}")

    if not args.each:
        return
    for e in questions(7, args.each, not args.seen):
        if e.category == "memory":
            continue
        messages = [{"role": "system", "content": d.pick(SYSTEMS)}] if d.chance(0.2) else []
        messages.append({"role": "user", "content": e.user})
        text = run.answer(messages)[2]
        count(e.category, right(e, text), messages, text)
    for messages, answer in memory_chats(args.each, not args.seen):
        text = run.answer(messages)[2]
        count("memory", text.strip() == answer, messages, text)

    print("| Category | Right | Asked | Share |\n|---|---:|---:|---:|")
    for c, (ok, n) in score.items():
        print(f"| {c} | {ok} | {n} | {100 * ok / n:.0f} % |")
    ok, n = (sum(v[i] for v in score.values()) for i in (0, 1))
    print(f"| **all** | **{ok}** | **{n}** | **{100 * ok / n:.1f} %** |")


if __name__ == "__main__":
    main()
