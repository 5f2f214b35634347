"""The network: a Qwen3-shaped decoder (grouped-query attention with per-head
RMS norms on queries and keys, rotary positions in the half-rotation layout,
SwiGLU, tied embeddings), small enough to train on two CPU cores."""

from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    vocab: int = 3072
    dim: int = 256
    layers: int = 5
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    ff: int = 640
    context: int = 2048
    rope_base: float = 10000.0
    eps: float = 1e-6

    def dict(self):
        return asdict(self)


class RMSNorm(nn.Module):
    def __init__(self, n, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
        self.eps = eps

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.q = nn.Linear(c.dim, c.heads * c.head_dim, bias=False)
        self.k = nn.Linear(c.dim, c.kv_heads * c.head_dim, bias=False)
        self.v = nn.Linear(c.dim, c.kv_heads * c.head_dim, bias=False)
        self.o = nn.Linear(c.heads * c.head_dim, c.dim, bias=False)
        self.q_norm = RMSNorm(c.head_dim, c.eps)
        self.k_norm = RMSNorm(c.head_dim, c.eps)

    def forward(self, x, cos, sin, mask, cache):
        b, t, _ = x.shape
        c = self.c
        q = self.q_norm(self.q(x).view(b, t, c.heads, c.head_dim)).transpose(1, 2)
        k = self.k_norm(self.k(x).view(b, t, c.kv_heads, c.head_dim)).transpose(1, 2)
        v = self.v(x).view(b, t, c.kv_heads, c.head_dim).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if cache is not None:
            if cache:
                k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
            cache[:] = [k, v]
        n = c.heads // c.kv_heads
        k, v = k.repeat_interleave(n, 1), v.repeat_interleave(n, 1)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None and t > 1)
        return self.o(y.transpose(1, 2).reshape(b, t, -1))


class FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate = nn.Linear(c.dim, c.ff, bias=False)
        self.up = nn.Linear(c.dim, c.ff, bias=False)
        self.down = nn.Linear(c.ff, c.dim, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.attn_norm = RMSNorm(c.dim, c.eps)
        self.attn = Attention(c)
        self.ffn_norm = RMSNorm(c.dim, c.eps)
        self.ffn = FeedForward(c)

    def forward(self, x, cos, sin, mask, cache):
        x = x + self.attn(self.attn_norm(x), cos, sin, mask, cache)
        return x + self.ffn(self.ffn_norm(x))


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.embed = nn.Embedding(c.vocab, c.dim)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.norm = RMSNorm(c.dim, c.eps)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                scale = 0.02
                if name.endswith(("o.weight", "down.weight")):
                    scale /= (2 * c.layers) ** 0.5
                nn.init.normal_(p, std=scale)
        inv = 1.0 / c.rope_base ** (torch.arange(0, c.head_dim, 2).float() / c.head_dim)
        angle = torch.outer(torch.arange(c.context).float(), inv)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def hidden(self, ids, mask=None, caches=None, start=0):
        """The final normed states. Rotary positions are relative, so several
        conversations packed into a row may share one running position."""
        t = ids.shape[1]
        cos, sin = self.cos[start:start + t], self.sin[start:start + t]
        x = self.embed(ids)
        for i, block in enumerate(self.blocks):
            x = block(x, cos, sin, mask, None if caches is None else caches[i])
        return self.norm(x)

    def logits(self, h):
        return h @ self.embed.weight.T

    @torch.no_grad()
    def greedy(self, ids, limit, stop):
        caches = [[] for _ in self.blocks]
        step, start, out = torch.tensor([ids]), 0, []
        while len(out) < limit and start + step.shape[1] < self.c.context:
            h = self.hidden(step, caches=caches, start=start)[0, -1]
            start += step.shape[1]
            token = int(self.logits(h).argmax())
            out.append(token)
            if token == stop:
                break
            step = torch.tensor([[token]])
        return out
