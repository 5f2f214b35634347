"""Trains the network for a given number of minutes on the endless corpus.

    python train.py OUT --minutes 80

Several short conversations share a row, and a mask keeps each from seeing the
others; one batch in twenty-four is one row of the whole context holding one long
conversation. Only the assistant's words are learned, and a turn's words weigh
less the longer the turn is, so that a story does not drown the sums. Matrices
are trained with Muon (momentum, orthogonalized), the rest with AdamW, and the
learning rate falls to zero as the time runs out.
"""

import argparse
import random
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

import tokens
from corpus import Draw, conversation
from model import Config, Model
from tools import tool_conversation

WORKERS = 2
BATCHES = 4  # to a step
ROWS, ROW = 2, 384  # of a batch of short conversations
TOOLS = 0.4  # of the short conversations have tools
LONG_EVERY = 24  # batches: one row of the whole context


class Encoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.start, self.end = (tokenizer.token_to_id(t) for t in (tokens.START, tokens.END))
        self.newline = tokenizer.encode("\n").ids

    def __call__(self, messages):
        """The ids of a conversation and, for each, its weight as a target."""
        ids, weights = [], []
        for m in messages:
            head = [self.start] + self.tokenizer.encode(m["role"] + "\n").ids
            body = self.tokenizer.encode(m["content"]).ids + [self.end]
            w = len(body) ** -0.5 if m["role"] == "assistant" else 0.0
            ids += head + body + self.newline
            weights += [0.0] * len(head) + [w] * len(body) + [0.0] * len(self.newline)
        return ids, weights


def short(d):
    return tool_conversation(d) if d.chance(TOOLS) else conversation(d, d.pick([1, 1, 1, 1, 2, 3]))


def short_rows(d, encode):
    """Rows of whole conversations: ids, weights, and which conversation each place belongs to."""
    ids, weights, owner = torch.zeros(ROWS, ROW, dtype=torch.long), torch.zeros(ROWS, ROW), torch.zeros(ROWS, ROW)
    spare = []
    for r in range(ROWS):
        at, n, misses = 0, 1, 0
        while misses < 4:
            x, w = spare.pop() if spare else encode(short(d))
            if len(x) > ROW:
                continue
            if at + len(x) > ROW:
                spare.insert(0, (x, w))
                misses += 1
                continue
            ids[r, at:at + len(x)] = torch.tensor(x)
            weights[r, at:at + len(x)] = torch.tensor(w)
            owner[r, at:at + len(x)] = n
            at, n = at + len(x), n + 1
    causal = torch.ones(ROW, ROW, dtype=torch.bool).tril()
    return ids, weights, ((owner[:, :, None] == owner[:, None, :]) & causal)[:, None]


def long_row(d, encode, length):
    ids, weights = encode(conversation(d, d.int(20, 60)))
    return torch.tensor([ids[:length]]), torch.tensor([weights[:length]]), None


class Muon(torch.optim.Optimizer):
    """Momentum whose step is the nearest orthogonal matrix (Newton-Schulz)."""

    def __init__(self, params, lr, momentum=0.95, decay=0.01):
        super().__init__(params, dict(lr=lr, momentum=momentum, decay=decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["m"] = torch.zeros_like(p)
                m = state["m"].lerp_(p.grad, 1 - group["momentum"])
                x = p.grad.lerp(m, group["momentum"])
                tall = x.shape[0] > x.shape[1]
                x = x.T if tall else x
                x = x / (x.norm() + 1e-7)
                for _ in range(5):
                    a = x @ x.T
                    x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
                x = x.T if tall else x
                p.mul_(1 - group["lr"] * group["decay"])
                p.add_(x, alpha=-group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)


def loss_of(model, hidden, ids, weights, mask):
    h = hidden(ids, mask)[:, :-1].reshape(-1, model.c.dim)
    target, w = ids[:, 1:].reshape(-1), weights[:, 1:].reshape(-1)
    at = w.nonzero().squeeze(1)
    losses = F.cross_entropy(model.logits(h[at]), target[at], reduction="none")
    return (losses * w[at]).sum() / w[at].sum(), ids.numel(), at.numel()


def work(rank, model, grads, shared, barrier, args):
    """One process of two, on one core each: takes batches until the step has
    enough of them, then updates its own share of the (shared) weights. A core
    that something else keeps busy takes fewer batches and holds nobody up."""
    torch.set_num_threads(1)
    encode = Encoder(Tokenizer.from_file(str(args.out / "tokenizer.json")))
    compiled = torch.compile(model.hidden, dynamic=False)  # needs a C++ compiler; a fifth faster
    names = dict(model.named_parameters())
    matrices = [n for n, p in names.items() if p.dim() == 2 and not n.startswith("embed")]
    others = [n for n in names if n not in matrices]
    optimizers = [Muon([names[n] for n in matrices[rank::WORKERS]], lr=0.02)]
    if rank == 0:
        optimizers.append(torch.optim.AdamW([names[n] for n in others], lr=3e-3, betas=(0.9, 0.95), weight_decay=0.0))
    mine = [n for o in optimizers for g in o.param_groups for p in g["params"] for n in names if names[n] is p]
    peaks = [o.param_groups[0]["lr"] for o in optimizers]
    step = 0
    mean = None
    barrier.wait()
    begin = saved = time.time()
    while True:
        if rank == 0:
            shared["done"].value = args.resume + (time.time() - begin) / (60 * args.minutes)
            shared["next"].value = step * BATCHES
        barrier.wait()
        done = shared["done"].value
        if done >= 1:
            break
        while True:
            with shared["next"].get_lock():
                batch = shared["next"].value
                shared["next"].value += 1
            if batch >= (step + 1) * BATCHES:
                break
            d = Draw(random.Random(args.seed * 1_000_003 + batch))
            long = batch % LONG_EVERY == 0
            data = long_row(d, encode, model.c.context) if long else short_rows(d, encode)
            loss, read, learned = loss_of(model, model.hidden if long else compiled, *data)
            loss.backward()
            for key, x in (("loss", loss.item()), ("read", read), ("learned", learned)):
                with shared[key].get_lock():
                    shared[key].value += x
        for n, p in names.items():
            if p.grad is None:
                grads[rank][n].zero_()
            else:
                grads[rank][n].copy_(p.grad)
        barrier.wait()
        for n in mine:
            names[n].grad = sum(g[n] for g in grads)
        rate = min(1, (step + 1) / 20) * min(1, (1 - done) / 0.7)
        for o, peak in zip(optimizers, peaks):
            o.param_groups[0]["lr"] = peak * rate
            o.step()
        model.zero_grad()
        step += 1
        if step == 1:
            begin = time.time()  # compiling does not count
        if rank == 0:
            loss, shared["loss"].value = shared["loss"].value / BATCHES, 0.0
            mean = loss if mean is None else mean + 0.02 * (loss - mean)
            if step % 20 == 0:
                read = shared["read"].value
                print(f"step {step} done {done:.3f} loss {mean:.4f} last {loss:.4f} read {read} learned {shared['learned'].value} rate {rate:.3f} tokens/s {read / (time.time() - begin):.0f}", flush=True)
            if time.time() - saved > 180:
                save(model, args.out)
                saved = time.time()
    if rank == 0:
        save(model, args.out)
        print(f"finished: {step} steps, {shared['read'].value} tokens read, {shared['learned'].value} learned, {(time.time() - begin) / 60:.1f} minutes, loss {mean:.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("out", type=Path)
    ap.add_argument("--minutes", type=float, default=80)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--resume", type=float, default=0, metavar="SHARE", help="go on from OUT's checkpoint, with this share of the minutes gone")
    args = ap.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    config = Config()
    path = args.out / "tokenizer.json"
    if not path.exists():
        tokens.train(str(path), config.vocab)
    model = Model(config)
    if args.resume:
        model.load_state_dict(torch.load(args.out / "checkpoint.pt")["model"])
    model.share_memory()
    print(f"{sum(p.numel() for p in model.parameters())} parameters", flush=True)
    grads = [{n: torch.zeros_like(p).share_memory_() for n, p in model.named_parameters()} for _ in range(WORKERS)]
    mp = torch.multiprocessing.get_context("spawn")
    shared = {"next": mp.Value("q", 0), "done": mp.Value("d", 0.0), "loss": mp.Value("d", 0.0), "read": mp.Value("q", 0), "learned": mp.Value("q", 0)}
    barrier = mp.Barrier(WORKERS)
    helpers = [mp.Process(target=work, args=(r, model, grads, shared, barrier, args), daemon=True) for r in range(1, WORKERS)]
    for p in helpers:
        p.start()
    work(0, model, grads, shared, barrier, args)
    for p in helpers:
        p.join()


def save(model, out):
    torch.save({"config": model.c.dict(), "model": model.state_dict()}, out / "checkpoint.new")
    (out / "checkpoint.new").replace(out / "checkpoint.pt")


if __name__ == "__main__":
    main()
