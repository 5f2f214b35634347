"""Cases of families that transformers does not have: plain implementations in numpy, in double precision, after the published
code or paper that each names. They recompute everything for all tokens; nothing is shared with the engine."""

import numpy as np

from families import SEQUENCES, Case, Weights, described, typed

WIDTH, HEADS, KV_HEADS, HEAD, FEED = 64, 4, 2, 32, 96


# MARK: Parts


def rms(x, weight, epsilon=1e-6):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def layer_norm(x, weight, bias, epsilon=1e-5):
    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt((centered * centered).mean(-1, keepdims=True) + epsilon) * weight + bias


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def rope(x, base=10000.0, width=None, adjacent=False):
    """Rotates the first `width` values of each head of x [tokens, heads, head width]."""
    width = width or x.shape[-1]
    angles = np.arange(len(x))[:, None] * base ** (-np.arange(0, width, 2) / width)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    out = x.copy()
    if adjacent:
        a, b = x[..., 0:width:2], x[..., 1:width:2]
        out[..., 0:width:2], out[..., 1:width:2] = a * cos - b * sin, a * sin + b * cos
    else:
        a, b = x[..., : width // 2], x[..., width // 2 : width]
        out[..., : width // 2], out[..., width // 2 : width] = a * cos - b * sin, a * sin + b * cos
    return out


def slopes(heads):
    """ALiBi's, for a power of two."""
    return 2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)


def attend(q, k, v, scale=None, window=None, bias=None, softcap=None, causal=True):
    """q [tokens, heads, width]; k and v may have fewer heads. Returns [tokens, heads * width of v]."""
    groups = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, groups, 1), np.repeat(v, groups, 1)
    scores = np.einsum("ihd,jhd->hij", q, k) * (scale or q.shape[-1] ** -0.5)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    i, j = np.arange(len(q))[:, None], np.arange(len(q))[None]
    if bias is not None:
        scores = scores - bias[:, None, None] * np.abs(i - j)
    mask = (j > i) if causal else np.zeros_like(j > i)
    if window:
        mask = mask | (i - j >= window)
    scores = np.where(mask, -np.inf, scores)
    return np.einsum("hij,jhd->ihd", softmax(scores), v).reshape(len(q), -1)


class Layer:
    """The tensors of a layer: `layer("attn_q", rows, columns)` is a matrix, `layer.vector("attn_norm", width)` a vector."""

    def __init__(self, made, index):
        self.made, self.index, self.name = made, index, f"blk.{index}."

    def __call__(self, name, *shape):
        return self.made.get(f"{self.name}{name}.weight", shape)

    def bias(self, name, width):
        return self.made.get(f"{self.name}{name}.bias", (width,))

    def linear(self, x, name, rows, bias=False):
        y = x @ self(name, rows, x.shape[-1]).T
        return y + self.bias(name, rows) if bias else y

    def heads(self, x, name, heads, width=HEAD, bias=False):
        return self.linear(x, name, heads * width, bias).reshape(len(x), heads, width)

    def norm(self, x, name, epsilon=1e-6):
        return rms(x, self(name, x.shape[-1]), epsilon)

    def layer_norm(self, x, name):
        return layer_norm(x, self(name, x.shape[-1]), self.bias(name, x.shape[-1]))

    def fused(self, x, name, parts, bias=False):
        y = self.linear(x, name, sum(parts), bias)
        return np.split(y, np.cumsum(parts)[:-1], -1)

    def fused_heads(self, x, bias=False):
        """Queries, keys and values of one projection, [tokens, heads, HEAD] each."""
        parts = self.fused(x, "attn_qkv", [HEADS * HEAD, KV_HEADS * HEAD, KV_HEADS * HEAD], bias)
        return [part.reshape(len(x), -1, HEAD) for part in parts]

    def mlp(self, x, hidden=FEED, act=silu, suffix=""):
        return self.linear(
            act(self.linear(x, "ffn_gate" + suffix, hidden)) * self.linear(x, "ffn_up" + suffix, hidden), "ffn_down" + suffix,
            x.shape[-1])

    def experts(self, x, weights, hidden=32, act=silu, suffix="_exps"):
        """weights [tokens, experts], 0 for experts that are not used."""
        count = weights.shape[1]
        gate, up = self("ffn_gate" + suffix, count, hidden, x.shape[-1]), self("ffn_up" + suffix, count, hidden, x.shape[-1])
        down = self("ffn_down" + suffix, count, x.shape[-1], hidden)
        inner = act(np.einsum("ti,eoi->teo", x, gate)) * np.einsum("ti,eoi->teo", x, up)
        return np.einsum("teo,eio,te->ti", inner, down, weights)


def top(scores, count, by=None):
    """Scores of the best experts of each token; 0 for the others."""
    order = np.argsort(-(scores if by is None else by), -1, kind="stable")[:, :count]
    kept = np.zeros_like(scores)
    np.put_along_axis(kept, order, np.take_along_axis(scores, order, -1), -1)
    return kept


def normalized(weights):
    return weights / weights.sum(-1, keepdims=True)


def decoder(name, source, layers, run, keys, architecture=None, norm="rms", scale=1.0, logit_scale=1.0, tied=False, seed=0, ranges=(),
            epsilon=1e-6, columns=48, tokens=None, read=None, suppressed=range(0)):
    """A case: `run(x, layer)` computes a layer. `norm` is the kind of the last norm. `read`: the tokens as the model reads them.
    `suppressed`: those that it never gives."""

    def forward(case):
        made = Weights(case.seed, case.ranges)
        x = made.get("token_embd.weight", (columns, WIDTH))[read or case.tokens] * scale
        for index in range(layers):
            x = run(x, Layer(made, index))
        if norm == "rms":
            x = rms(x, made.get("output_norm.weight", (WIDTH,)), epsilon)
        elif norm == "layer":
            x = layer_norm(x, made.get("output_norm.weight", (WIDTH,)), made.get("output_norm.bias", (WIDTH,)))
        elif norm:
            x = norm(x, made)
        logits = x @ made.get("token_embd.weight" if tied else "output.weight", (columns, WIDTH)).T * logit_scale
        logits[:, list(suppressed)] = -np.finfo("f4").max
        arch = architecture or name
        both = {
            "block_count": layers, "context_length": 2048, "embedding_length": WIDTH, "feed_forward_length": FEED,
            "attention.head_count": HEADS, "attention.head_count_kv": KV_HEADS, "attention.key_length": HEAD,
            "attention.value_length": HEAD, "rope.freq_base": 10000.0, "rope.dimension_count": HEAD,
            "attention.layer_norm_epsilon" if norm == "layer" else "attention.layer_norm_rms_epsilon": 1e-5 if norm == "layer" else epsilon,
            **keys}
        both = {f"{arch}.{key}": value for key, value in both.items() if value is not None}
        return {
            "made_with": f"numpy, float64, after {source}", "kind": "gguf",
            "keys": typed({"general.architecture": arch, **both}), "tensors": described(made)}, logits

    Case(name, None, architecture=architecture, forward=forward, seed=seed, ranges=ranges, tokens=tokens)


MIXTURE = {"expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 32}


def llama_attention(x, layer, adjacent=False, bias=False, norms=False, width=None, late_norms=False, **options):
    q, k = layer.heads(x, "attn_q", HEADS, bias=bias), layer.heads(x, "attn_k", KV_HEADS, bias=bias)
    v = layer.heads(x, "attn_v", KV_HEADS, bias=bias)
    if norms:
        q, k = layer.norm(q, "attn_q_norm"), layer.norm(k, "attn_k_norm")
    q, k = rope(q, adjacent=adjacent, width=width), rope(k, adjacent=adjacent, width=width)
    if late_norms:
        q, k = layer.norm(q, "attn_q_norm"), layer.norm(k, "attn_k_norm")
    return layer.linear(attend(q, k, v, **options), "attn_output", WIDTH)


# MARK: Llama's kind


def deepseek(x, layer):
    x = x + llama_attention(layer.norm(x, "attn_norm"), layer, adjacent=True)
    h = layer.norm(x, "ffn_norm")
    if layer.index == 0:
        return x + layer.mlp(h)
    weights = top(softmax(h @ layer("ffn_gate_inp", 6, WIDTH).T), 2)
    return x + layer.experts(h, weights) + layer.mlp(h, 64, suffix="_shexp")


decoder("deepseek", "DeepSeekMoE (Dai et al. 2024)", 3, deepseek, {
    **MIXTURE, "leading_dense_block_count": 1, "expert_shared_count": 2, "expert_shared_feed_forward_length": 64,
    "expert_weights_norm": False, "expert_weights_scale": 1.0})


def bailing(x, layer):
    h = layer.norm(x, "attn_norm")
    q, k, v = layer.fused_heads(h)
    x = x + layer.linear(attend(rope(q, adjacent=True), rope(k, adjacent=True), v), "attn_output", WIDTH)
    h = layer.norm(x, "ffn_norm")
    weights = normalized(top(softmax(h @ layer("ffn_gate_inp", 6, WIDTH).T), 2))
    return x + layer.experts(h, weights) + layer.mlp(h, 64, suffix="_shexp")


decoder("bailingmoe", "Ling (Ling team 2025)", 2, bailing, {
    **MIXTURE, "leading_dense_block_count": 0, "expert_shared_count": 2, "expert_shared_feed_forward_length": 64,
    "expert_weights_norm": True, "expert_weights_scale": 1.0})


def bailing2(x, layer):
    h = layer.norm(x, "attn_norm")
    q, k, v = layer.fused_heads(h)
    q, k = layer.norm(q, "attn_q_norm"), layer.norm(k, "attn_k_norm")
    x = x + layer.linear(attend(rope(q, width=16), rope(k, width=16), v), "attn_output", WIDTH)
    h = layer.norm(x, "ffn_norm")
    if layer.index == 0:
        return x + layer.mlp(h)
    scores = sigmoid(h @ layer("ffn_gate_inp", 8, WIDTH).T)
    chosen = scores + layer.bias("exp_probs_b", 8)
    # The two best groups of four, by the sum of their two best experts.
    groups = np.sort(chosen.reshape(len(x), 4, 2), -1).sum(-1)
    kept = np.argsort(-groups, -1)[:, :2]
    allowed = np.zeros((len(x), 4), bool)
    np.put_along_axis(allowed, kept, True, -1)
    weights = normalized(top(scores, 2, by=np.where(np.repeat(allowed, 2, -1), chosen, -np.inf))) * 2.5
    return x + layer.experts(h, weights) + layer.mlp(h, 32, suffix="_shexp")


decoder("bailingmoe2", "Ling 2.0 (Ling team 2025)", 3, bailing2, {
    **MIXTURE, "expert_count": 8, "expert_group_count": 4, "expert_group_used_count": 2, "leading_dense_block_count": 1,
    "expert_shared_count": 1, "expert_shared_feed_forward_length": 32, "expert_weights_norm": True, "expert_weights_scale": 2.5,
    "expert_gating_func": 2, "rope.dimension_count": 16}, ranges=[("ffn_gate_inp", (0, 0.5)), ("attn_output", (0, 0.1))], seed=7)


def orion(x, layer):
    x = x + llama_attention(layer.layer_norm(x, "attn_norm"), layer)
    return x + layer.mlp(layer.layer_norm(x, "ffn_norm"))


decoder("orion", "Orion-14B's modeling_orion.py", 2, orion, {}, norm="layer")


def refact(x, layer):
    h = layer.norm(x, "attn_norm", 1e-5)
    q, k, v = layer.heads(h, "attn_q", HEADS), layer.heads(h, "attn_k", 1), layer.heads(h, "attn_v", 1)
    x = x + layer.linear(attend(q, k, v, bias=slopes(HEADS)), "attn_output", WIDTH)
    return x + layer.mlp(layer.norm(x, "ffn_norm", 1e-5))


decoder("refact", "Refact-1.6B's modeling_gpt_refact.py", 2, refact, {"attention.head_count_kv": 1}, epsilon=1e-5)


def codeshell(x, layer):
    h = layer.layer_norm(x, "attn_norm")
    q, k, v = layer.fused_heads(h, bias=True)
    x = x + layer.linear(attend(rope(q), rope(k), v), "attn_output", WIDTH, bias=True)
    h = layer.layer_norm(x, "ffn_norm")
    return x + layer.linear(gelu(layer.linear(h, "ffn_up", FEED, bias=True)), "ffn_down", WIDTH, bias=True)


decoder("codeshell", "CodeShell-7B's modeling_codeshell.py", 2, codeshell, {}, norm="layer")


def jais(x, layer):
    h = layer.layer_norm(x, "attn_norm")
    q, k, v = layer.fused(h, "attn_qkv", [WIDTH] * 3, bias=True)
    q, k, v = (part.reshape(len(x), HEADS, -1) for part in [q, k, v])
    x = x + layer.linear(attend(q, k, v, scale=1 / 16, bias=slopes(HEADS)), "attn_output", WIDTH, bias=True)
    h = layer.layer_norm(x, "ffn_norm")
    inner = silu(layer.linear(h, "ffn_gate", FEED, bias=True)) * layer.linear(h, "ffn_up", FEED, bias=True)
    return x + layer.linear(inner, "ffn_down", WIDTH, bias=True)


decoder("jais", "Jais (Sengupta et al. 2023)", 2, jais, {
    "attention.head_count_kv": 4, "attention.key_length": None, "attention.value_length": None, "attention.max_alibi_bias": 8.0,
    "rope.freq_base": None, "rope.dimension_count": None}, norm="layer")


def plamo(x, layer):
    h = layer.norm(x, "attn_norm")
    return x + llama_attention(h, layer) + layer.mlp(h)


decoder("plamo", "PLaMo-13B's modeling_plamo.py", 2, plamo, {})


def maincoder(x, layer):
    x = x + llama_attention(layer.norm(x, "attn_norm"), layer, adjacent=True, late_norms=True)
    return x + layer.mlp(layer.norm(x, "ffn_norm"))


decoder("maincoder", "Maincoder-1B's modeling_maincoder.py", 2, maincoder, {})


def chameleon(swin):
    """The norms of heads have a weight and a bias for each head, and their own epsilon."""

    def head_norm(x, layer, name):
        shape = x.shape[1:]
        return layer_norm(x, layer(name, *shape), layer.made.get(f"{layer.name}{name}.bias", shape))

    def attention(x, layer):
        q, k = layer.heads(x, "attn_q", HEADS), layer.heads(x, "attn_k", KV_HEADS)
        q, k = head_norm(q, layer, "attn_q_norm"), head_norm(k, layer, "attn_k_norm")
        return layer.linear(
            attend(rope(q, adjacent=True), rope(k, adjacent=True), layer.heads(x, "attn_v", KV_HEADS)), "attn_output", WIDTH)

    def run(x, layer):
        if swin:
            x = x + layer.norm(attention(x, layer), "attn_norm", 0.01)
            return x + layer.norm(layer.mlp(x), "ffn_norm", 0.01)
        x = x + attention(layer.norm(x, "attn_norm", 0.01), layer)
        return x + layer.mlp(layer.norm(x, "ffn_norm", 0.01))

    return run


for name, swin in [("chameleon", False), ("chameleon-swin", True)]:
    decoder(name, "Chameleon (Chameleon Team 2024) and its modeling_chameleon.py", 2, chameleon(swin), {"swin_norm": swin},
            architecture="chameleon", epsilon=0.01, seed=1, suppressed=range(4, 48))


def openelm(x, layer):
    heads, kv_heads = [(4, 2), (6, 3)][layer.index]
    h = layer.norm(x, "attn_norm")
    q, k, v = layer.fused(h, "attn_qkv", [heads * 16, kv_heads * 16, kv_heads * 16])
    q, k, v = q.reshape(len(x), heads, 16), k.reshape(len(x), kv_heads, 16), v.reshape(len(x), kv_heads, 16)
    q, k = layer.norm(q, "attn_q_norm"), layer.norm(k, "attn_k_norm")
    x = x + layer.linear(attend(rope(q), rope(k), v), "attn_output", WIDTH)
    return x + layer.mlp(layer.norm(x, "ffn_norm"), [96, 128][layer.index])


decoder("openelm", "OpenELM (Mehta et al. 2024)", 2, openelm, {
    "attention.head_count": [4, 6], "attention.head_count_kv": [2, 3], "feed_forward_length": [96, 128], "attention.key_length": 16,
    "attention.value_length": 16, "rope.dimension_count": 16}, tied=True)


def deci(x, layer):
    """Of NAS models: a layer with attention, one with a linear layer in its place, one without either."""
    if layer.index == 0:
        x = x + llama_attention(layer.norm(x, "attn_norm"), layer, adjacent=True)
    elif layer.index == 1:
        x = x + layer.linear(layer.norm(x, "attn_norm"), "attn_output", WIDTH)
    return x + layer.mlp(layer.norm(x, "ffn_norm"))


decoder("deci-nas", "Llama-Nemotron 51B's modeling_decilm.py", 3, deci, {
    "attention.head_count": [4, 4, 0], "attention.head_count_kv": [2, 0, 0]}, architecture="deci")


# MARK: Mixtures


def grok(x, layer):
    h = layer.norm(x, "attn_norm", 1e-5)
    h = llama_attention(h, layer, scale=0.125, softcap=30.0)
    x = x + layer.norm(h, "attn_output_norm", 1e-5)
    h = layer.norm(x, "ffn_norm", 1e-5)
    weights = top(softmax(h @ layer("ffn_gate_inp", 6, WIDTH).T), 2)
    return x + layer.norm(layer.experts(h, weights, act=gelu), "layer_output_norm", 1e-5)


decoder("grok", "Grok-1's model.py", 2, grok, {
    **MIXTURE, "embedding_scale": 3.0, "logit_scale": 0.5, "attention.output_scale": 0.125, "attn_logit_softcapping": 30.0},
    scale=3.0, logit_scale=0.5, tied=True, epsilon=1e-5)


def arctic(x, layer):
    attended = x + llama_attention(layer.norm(x, "attn_norm"), layer, adjacent=True)
    dense = attended + layer.mlp(layer.norm(attended, "ffn_norm"), WIDTH)
    h = layer.norm(x, "ffn_norm_exps")
    weights = normalized(top(softmax(h @ layer("ffn_gate_inp", 6, WIDTH).T), 2))
    return dense + layer.experts(h, weights, hidden=FEED)


decoder("arctic", "Snowflake Arctic's modeling_arctic.py", 2, arctic, {"expert_count": 6, "expert_used_count": 2})


def small_thinker(x, layer):
    scores = x @ layer("ffn_gate_inp", 6, WIDTH).T
    h = layer.norm(x, "attn_norm")
    q, k, v = layer.heads(h, "attn_q", HEADS), layer.heads(h, "attn_k", KV_HEADS), layer.heads(h, "attn_v", KV_HEADS)
    is_global = layer.index % 4 == 0
    if not is_global:
        q, k = rope(q), rope(k)
    x = x + layer.linear(attend(q, k, v, window=None if is_global else 8), "attn_output", WIDTH)
    h = layer.norm(x, "ffn_norm")
    chosen = top(np.ones_like(scores), 2, by=scores)
    return x + layer.experts(h, normalized(sigmoid(scores) * chosen), act=lambda x: np.maximum(x, 0))


decoder("smallthinker", "SmallThinker (Song et al. 2025)", 4, small_thinker, {
    **MIXTURE, "attention.sliding_window": 8, "expert_gating_func": 2})


def plm(x, layer):
    h = layer.norm(x, "attn_norm")
    q = layer.heads(h, "attn_q", HEADS, 48)
    latent = layer.linear(h, "attn_kv_a_mqa", 32 + 16)
    kv = layer.heads(layer.norm(latent[:, :32], "attn_kv_a_norm"), "attn_kv_b", HEADS, 32 + 24)
    turned = rope(latent[:, None, 32:], adjacent=True)
    q = np.concatenate([q[..., :32], rope(q[..., 32:], adjacent=True)], -1)
    k = np.concatenate([kv[..., :32], np.repeat(turned, HEADS, 1)], -1)
    x = x + layer.linear(attend(q, k, kv[..., 32:]), "attn_output", WIDTH)
    h = layer.norm(x, "ffn_norm")
    return x + layer.linear(np.maximum(layer.linear(h, "ffn_up", FEED), 0) ** 2, "ffn_down", WIDTH)


decoder("plm", "PLM-1.8B (Deng et al. 2025)", 2, plm, {
    "attention.head_count_kv": 4, "attention.key_length": 48, "attention.value_length": 24, "attention.kv_lora_rank": 32,
    "rope.dimension_count": 16})


# MARK: RWKV


def shifted(x):
    return np.concatenate([np.zeros_like(x[:1]), x[:-1]])


def group_norm(x, heads, weight, bias, epsilon=64e-5):
    y = x.reshape(len(x), heads, -1)
    centered = y - y.mean(-1, keepdims=True)
    y = centered / np.sqrt((centered * centered).mean(-1, keepdims=True) + epsilon)
    return y.reshape(x.shape) * weight + bias


RANK = 8


def mixtures6(x, layer):
    """The inputs of w, k, v, r and g."""
    change = shifted(x) - x
    base = x + change * layer("time_mix_lerp_x", WIDTH)
    low = np.tanh(base @ layer("time_mix_w1", 5 * RANK, WIDTH).T).reshape(len(x), 5, RANK)
    moved = np.einsum("tnr,nor->tno", low, layer("time_mix_w2", 5, WIDTH, RANK))
    fused = layer("time_mix_lerp_fused", 5, WIDTH)
    return [x + change * (fused[index] + moved[:, index]) for index in range(5)]


def decay6(xw, layer):
    low = np.tanh(xw @ layer("time_mix_decay_w1", RANK, WIDTH).T) @ layer("time_mix_decay_w2", WIDTH, RANK).T
    return np.exp(-np.exp(layer("time_mix_decay", WIDTH) + low))


def rwkv6(x, layer):
    """wkv of the paper: the state decays by row, the current token has a bonus."""
    heads, width = 2, 32
    h = layer.layer_norm(x, "attn_norm")
    xw, xk, xv, xr, xg = mixtures6(h, layer)
    w = decay6(xw, layer).reshape(len(x), heads, width)
    r, k, v = (layer.linear(part, name, WIDTH).reshape(len(x), heads, width) for part, name in [
        (xr, "time_mix_receptance"), (xk, "time_mix_key"), (xv, "time_mix_value")])
    g = silu(layer.linear(xg, "time_mix_gate", WIDTH))
    u = layer("time_mix_first", heads, width)
    state, out = np.zeros((heads, width, width)), []
    for t in range(len(x)):
        kv = np.einsum("hi,hj->hij", k[t], v[t])
        out.append(np.einsum("hi,hij->hj", r[t], state + u[..., None] * kv))
        state = w[t][..., None] * state + kv
    y = group_norm(np.array(out).reshape(len(x), -1), heads, layer("time_mix_ln", WIDTH), layer.bias("time_mix_ln", WIDTH))
    x = x + layer.linear(y * g, "time_mix_output", WIDTH)
    h = layer.layer_norm(x, "attn_norm_2")
    change = shifted(h) - h
    xk, xr = h + change * layer("channel_mix_lerp_k", WIDTH), h + change * layer("channel_mix_lerp_r", WIDTH)
    inner = np.maximum(layer.linear(xk, "channel_mix_key", FEED), 0) ** 2
    return x + sigmoid(layer.linear(xr, "channel_mix_receptance", WIDTH)) * layer.linear(inner, "channel_mix_value", WIDTH)


def mixtures7(x, layer, count=6):
    change = shifted(x) - x
    fused = layer("time_mix_lerp_fused", count, WIDTH)
    return [x + change * fused[index] for index in range(count)]


def time_mix7(h, layer, first, gated=True, normed=True):
    heads, width = 2, 32
    parts = mixtures7(h, layer, 6 if gated else 5)
    xr, xw, xk, xv, xa = parts[:5]
    low = lambda x, name, f: f(x @ layer(f"time_mix_{name}1", RANK, WIDTH).T) @ layer(f"time_mix_{name}2", WIDTH, RANK).T
    same = lambda x: x
    r, k, v = (layer.linear(part, name, WIDTH) for part, name in [
        (xr, "time_mix_receptance"), (xk, "time_mix_key"), (xv, "time_mix_value")])
    w = np.exp(-np.exp(-0.5) * sigmoid(layer("time_mix_w0", WIDTH) + low(xw, "w", np.tanh)))
    if layer.index == 0:
        first.append(v)
    else:
        v = v + (first[0] - v) * sigmoid(layer("time_mix_v0", WIDTH) + low(xv, "v", same))
    a = sigmoid(layer("time_mix_a0", WIDTH) + low(xa, "a", same))
    g = low(parts[5], "g", sigmoid) if gated else 1
    split = lambda x: x.reshape(len(h), heads, width)
    kk = split(k * layer("time_mix_k_k", WIDTH))
    kk = kk / np.maximum(np.sqrt((kk * kk).sum(-1, keepdims=True)), 1e-12)
    k = k * (1 + (a - 1) * layer("time_mix_k_a", WIDTH))
    r, w, k, v, a = (split(part) for part in [r, w, k, v, a])
    state, out = np.zeros((heads, width, width)), []  # [value, key]
    for t in range(len(h)):
        removed = np.einsum("hvk,hk->hv", state, -kk[t])
        state = state * w[t][:, None, :] + np.einsum("hv,hk->hvk", removed, kk[t] * a[t]) + np.einsum("hv,hk->hvk", v[t], k[t])
        out.append(np.einsum("hvk,hk->hv", state, r[t]))
    y = np.array(out).reshape(len(h), -1)
    if normed:
        y = group_norm(y, heads, layer("time_mix_ln", WIDTH), layer.bias("time_mix_ln", WIDTH))
    bonus = (r * k * layer("time_mix_r_k", WIDTH).reshape(heads, width)).sum(-1, keepdims=True) * v
    return layer.linear((y + bonus.reshape(len(h), -1)) * g, "time_mix_output", WIDTH)


def rwkv7(x, layer, first=[]):
    if layer.index == 0:
        first.clear()
    x = x + time_mix7(layer.layer_norm(x, "attn_norm"), layer, first)
    h = layer.layer_norm(x, "attn_norm_2")
    xk = h + (shifted(h) - h) * layer("channel_mix_lerp_k", WIDTH)
    return x + layer.linear(np.maximum(layer.linear(xk, "channel_mix_key", FEED), 0) ** 2, "channel_mix_value", WIDTH)


def first_norm(run):
    """RWKV norms the embeddings."""
    def inner(x, layer):
        if layer.index == 0:
            made = layer.made
            x = layer_norm(x, made.get("token_embd_norm.weight", (WIDTH,)), made.get("token_embd_norm.bias", (WIDTH,)))
        return run(x, layer)
    return inner


RWKV = {"attention.head_count": 0, "attention.head_count_kv": None, "attention.key_length": None, "attention.value_length": None,
        "rope.freq_base": None, "rope.dimension_count": None, "wkv.head_size": 32}
LERP = [("lerp", (0.5, 0.4)), ("time_mix_decay.", (-1, 1)), ("time_mix_first", (0, 0.5)), ("time_mix_ln.weight", (1, 0.5)),
        ("time_mix_k_k", (0.8, 0.3)), ("time_mix_k_a", (1, 0.3)), ("time_mix_r_k", (0, 0.3))]
decoder("rwkv6", "RWKV 6 (Peng et al. 2024)", 2, first_norm(rwkv6), {
    **RWKV, "time_mix_extra_dim": RANK, "time_decay_extra_dim": RANK, "rescale_every_n_layers": 0}, norm="layer", ranges=LERP)
decoder("rwkv7", "RWKV 7 (Peng et al. 2025)", 3, first_norm(rwkv7), {
    **RWKV, "attention.decay_lora_rank": RANK, "attention.iclr_lora_rank": RANK, "attention.value_residual_mix_lora_rank": RANK,
    "attention.gate_lora_rank": RANK}, norm="layer", ranges=LERP)


def mlp_qwen(x, layer):
    return x + layer.mlp(layer.norm(x, "ffn_norm"))


def rwkv6_qwen(x, layer):
    """QRWKV 6: the time mix of RWKV 6 in the place of Qwen2's attention, without bonus and norm, with shared keys and values."""
    heads, width = 4, 16
    h = layer.norm(x, "attn_norm")
    xw, xk, xv, xr, xg = mixtures6(h, layer)
    w = decay6(xw, layer).reshape(len(x), heads, width)
    r = layer.linear(xr, "time_mix_receptance", WIDTH, bias=True).reshape(len(x), heads, width)
    k, v = (np.repeat(layer.linear(part, name, 32, bias=True).reshape(len(x), 2, width), 2, 1) for part, name in [
        (xk, "time_mix_key"), (xv, "time_mix_value")])
    g = sigmoid(layer.linear(xg, "time_mix_gate", WIDTH))
    k = k * (1 - w)
    state, out = np.zeros((heads, width, width)), []
    for t in range(len(x)):
        state = w[t][..., None] * state + np.einsum("hi,hj->hij", k[t], v[t])
        out.append(np.einsum("hi,hij->hj", r[t] * width**-0.5, state))
    y = np.array(out).reshape(len(x), -1)
    return mlp_qwen(x + layer.linear(y * g, "time_mix_output", WIDTH), layer)


decoder("rwkv6qwen2", "QRWKV 6 (Recursal 2025)", 2, rwkv6_qwen, {
    **RWKV, "attention.head_count_kv": 2, "wkv.head_size": 16, "time_mix_extra_dim": RANK, "time_decay_extra_dim": RANK,
    "attention.head_count": 4}, ranges=LERP)


def arwkv7(x, layer, first=[]):
    if layer.index == 0:
        first.clear()
    x = x + time_mix7(layer.norm(x, "attn_norm"), layer, first, gated=False, normed=False)
    return mlp_qwen(x, layer)


decoder("arwkv7", "ARWKV 7 (Yueyu et al. 2025)", 3, arwkv7, {
    **RWKV, "attention.decay_lora_rank": RANK, "attention.iclr_lora_rank": RANK, "attention.value_residual_mix_lora_rank": RANK},
    ranges=LERP)


# MARK: More decoders


def grove(x, layer):
    x = x + llama_attention(layer.norm(x, "attn_norm"), layer, norms=True)
    h = layer.norm(x, "ffn_norm")
    weights = normalized(top(softmax(h @ layer("ffn_gate_inp", 6, WIDTH).T), 2))
    # Each group of two experts shares an adjugate expert, with the sum of their weights.
    shared = weights.reshape(len(x), 3, 2).sum(-1)
    return x + layer.experts(h, weights) + 0.05 * layer.experts(h, shared, hidden=16, suffix="_chexps")


decoder("grovemoe", "GroveMoE (Wu et al. 2025)", 2, grove, {
    **MIXTURE, "experts_per_group": 2, "expert_group_scale": 0.05, "expert_chunk_feed_forward_length": 16}, seed=2)


def looped(x, layer):
    """The two layers run twice, with a norm between."""
    step = Layer(layer.made, layer.index % 2)
    if layer.index == 2:
        x = rms(x, layer.made.get("output_norm.weight", (WIDTH,)))
    x = x + llama_attention(step.norm(x, "attn_norm"), step, adjacent=True)
    return x + step.mlp(step.norm(x, "ffn_norm"))


decoder("nanbeige", "Nanbeige 4.2's modeling_nanbeige.py", 4, looped, {"block_count": 2, "num_loops": 2, "skip_loop_final_norm": False})


def gated_mlp(h, layer):
    gate, up = layer.fused(h, "ffn_up", [FEED, FEED])
    return layer.linear(silu(gate) * up, "ffn_down", WIDTH)


def plamo2(x, layer):
    h = layer.norm(x, "attn_norm")
    if layer.index == 1:
        q, k, v = layer.fused_heads(h)
        q, k = rms(q, layer("attn_q_norm", HEADS, HEAD)), rms(k, layer("attn_k_norm", KV_HEADS, HEAD))
        y = layer.linear(attend(rope(q), rope(k), v), "attn_output", WIDTH)
    else:
        heads, width, states, rank = 4, 16, 8, 64
        z, u = np.split(layer.linear(h, "ssm_in", 2 * heads * width).reshape(len(x), heads, 2 * width), 2, -1)
        u, taps = u.reshape(len(x), -1), layer("ssm_conv1d", heads * width, 4)
        padded = np.concatenate([np.zeros((3, heads * width)), u])
        u = silu(sum(padded[i : i + len(x)] * taps[:, i] for i in range(4)))
        b, c, low = layer.fused(u, "ssm_x", [states, states, rank])
        b, c, low = layer.norm(b, "ssm_b_norm"), layer.norm(c, "ssm_c_norm"), layer.norm(low, "ssm_dt_norm")
        dt = np.log1p(np.exp(layer.linear(low, "ssm_dt", heads) + layer.bias("ssm_dt", heads)))
        a = layer.made.get(layer.name + "ssm_a", (heads, 1), -1, 0.7)[:, 0]
        d = layer.made.get(layer.name + "ssm_d", (heads, 1), 0.5, 0.5)
        u = u.reshape(len(x), heads, width)
        state, out = np.zeros((heads, width, states)), []
        for t in range(len(x)):
            state = np.exp(dt[t] * a)[:, None, None] * state + (dt[t][:, None] * u[t])[..., None] * b[t]
            out.append(state @ c[t] + d * u[t])
        y = layer.linear((np.array(out) * silu(z)).reshape(len(x), -1), "ssm_out", WIDTH)
    x = x + layer.norm(y, "post_attention_norm")
    return x + layer.norm(gated_mlp(layer.norm(x, "ffn_norm"), layer), "post_ffw_norm")


decoder("plamo2", "PLaMo 2's modeling_plamo.py", 3, plamo2, {
    "attention.head_count": 4, "attention.head_count_kv": [0, 2, 0], "ssm.conv_kernel": 4, "ssm.inner_size": 64, "ssm.state_size": 8,
    "ssm.time_step_rank": 4, "ssm.group_count": 0}, ranges=[("ssm_conv1d", (0, 0.8))])


def plamo3(x, layer):
    is_global = layer.index % 4 == 3
    h = layer.norm(x, "attn_norm")
    q, k, v = layer.fused_heads(h)
    q, k = layer.norm(q, "attn_q_norm"), layer.norm(k, "attn_k_norm")
    base = 50000.0 if is_global else 10000.0
    y = layer.linear(attend(rope(q, base), rope(k, base), v, window=None if is_global else 8), "attn_output", WIDTH)
    x = x + layer.norm(y, "post_attention_norm")
    return x + layer.norm(gated_mlp(layer.norm(x, "ffn_norm"), layer), "post_ffw_norm")


decoder("plamo3", "PLaMo 3's modeling_plamo.py", 4, plamo3, {
    "attention.sliding_window": 8, "attention.sliding_window_pattern": [True, True, True, False], "rope.freq_base": 50000.0,
    "rope.freq_base_swa": 10000.0})


def bare(x):
    return rms(x, 1)


def talkie(x, layer, embeddings=[]):
    """Norms without weights, queries and keys normed after rotation, a gain for each head; each layer adds the embedding."""
    if layer.index == 0:
        x = bare(x)
        embeddings[:] = [x]
    h = bare(x)
    q, k, v = (layer.heads(h, name, HEADS) for name in ["attn_q", "attn_k", "attn_v"])
    q, k = bare(rope(q)), bare(rope(k))
    q = q * layer("attn_q_norm", HEADS, 1)
    gain = lambda name: layer.made.get(layer.name + name, (1,), 0.6, 0.5)
    x = x + layer.linear(attend(q, k, v), "attn_output", WIDTH) * gain("attn_output.scale")
    x = x + layer.mlp(bare(x)) * gain("ffn_down.scale")
    return x + embeddings[0] * layer.made.get(layer.name + "layer_output_scale.weight", (1,), 0.4, 0.4)


decoder("talkie", "Talkie 1930 13B's modeling_talkie.py", 3, talkie, {"attention.head_count_kv": 4, "logit_scale": 0.5}, logit_scale=0.5,
        norm=lambda x, made: bare(x), ranges=[("attn_q_norm", (1, 0.8))])


def maple(x, layer):
    is_global = layer.index % 4 == 3
    h = layer.norm(x, "attn_norm")
    q, k = layer.heads(h, "attn_q", HEADS), layer.heads(h, "attn_k", KV_HEADS)
    q, k = layer.norm(q, "attn_q_norm"), layer.norm(k, "attn_k_norm")
    if not is_global:
        q, k = rope(q, width=16), rope(k, width=16)
    y = attend(q, k, layer.heads(h, "attn_v", KV_HEADS), window=None if is_global else 8)
    x = x + layer.linear(y, "attn_output", WIDTH)
    h = layer.norm(x, "ffn_norm")
    weights = normalized(top(softmax(h @ layer("ffn_gate_inp", 6, WIDTH).T), 2))
    gate = np.minimum(np.einsum("ti,eoi->teo", h, layer("ffn_gate_exps", 6, 32, WIDTH)), 1.5)
    up = np.clip(np.einsum("ti,eoi->teo", h, layer("ffn_up_exps", 6, 32, WIDTH)), -1.5, 1.5)
    return x + np.einsum("teo,eio,te->ti", silu(gate) * up, layer("ffn_down_exps", 6, WIDTH, 32), weights)


decoder("maple", "Maple's modeling_maple.py", 4, maple, {
    **MIXTURE, "attention.sliding_window": 8, "attention.sliding_window_pattern": [True, True, True, False],
    "rope.dimension_count": 0, "rope.dimension_count_swa": 16, "expert_gating_func": 1, "expert_weights_norm": True,
    "swiglu_clamp_exp": [1.5] * 4})


def spark(x, layer):
    is_global = layer.index % 4 == 3
    h = layer.norm(x, "attn_norm")
    q, k, v = layer.fused_heads(h)
    base, width = (50000.0, 8) if is_global else (10000.0, 32)
    y = attend(rope(q, base, width), rope(k, base, width), v, window=None if is_global else 8)
    gates = sigmoid(layer.linear(h, "attn_gate", HEADS))
    y = (y.reshape(len(x), HEADS, HEAD) * gates[..., None]).reshape(len(x), -1)
    x = x + layer.linear(y, "attn_output", WIDTH)
    return x + layer.mlp(layer.norm(x, "ffn_norm"), act=gelu)


decoder("spark2_5", "Spark X2.5's modeling_spark.py", 4, spark, {
    "attention.sliding_window": 8, "attention.sliding_window_pattern": [True, True, True, False], "rope.freq_base": 50000.0,
    "rope.freq_base_swa": 10000.0, "rope.dimension_count": 8, "rope.dimension_count_swa": 32})


# Tokens 7 and 9 turn adapters on, and are read as 11 and 12.
SWITCHES, SUBSTITUTES, SWITCHED = [7, 9], [11, 12], [5, 3, 20, 21, 7, 30, 31, 5, 6, 8, 10] + list(range(13, 42))


def switched(x, layer):
    """Granite with an adapter that is on from token 4: the products of its two low-rank matrices are added to all others'."""
    on = (np.arange(len(x)) >= 4)[:, None]

    def linear(h, name, weight):
        a = layer.made.get(f"{layer.name}{name}.lora_a", (3, 4, h.shape[1]))[1]
        b = layer.made.get(f"{layer.name}{name}.lora_b", (3, len(weight), 4))[1]
        return h @ weight.T + on * (h @ a.T @ b.T)

    h = layer.norm(x, "attn_norm")
    sizes = [HEADS * HEAD, KV_HEADS * HEAD, KV_HEADS * HEAD]
    parts = np.split(layer("attn_qkv", sum(sizes), WIDTH), np.cumsum(sizes)[:-1])
    q, k, v = (linear(h, name, part).reshape(len(x), -1, HEAD) for name, part in zip(["attn_q", "attn_k", "attn_v"], parts))
    y = attend(rope(q, adjacent=True), rope(k, adjacent=True), v, scale=0.11)
    x = x + 0.4 * linear(y, "attn_output", layer("attn_output", WIDTH, HEADS * HEAD))
    h = layer.norm(x, "ffn_norm")
    inner = silu(linear(h, "ffn_gate", layer("ffn_gate", FEED, WIDTH))) * linear(h, "ffn_up", layer("ffn_up", FEED, WIDTH))
    return x + 0.4 * linear(inner, "ffn_down", layer("ffn_down", WIDTH, FEED))


decoder("graniteswitch", "Granite Switch's GraniteSwitchForCausalLM", 2, switched, {
    "attention.scale": 0.11, "embedding_scale": 3.0, "residual_scale": 0.4, "logit_scale": 2.0, "adapters.count": 2,
    "adapters.lora_rank": 4, "adapters.token_ids_activate": SWITCHES, "adapters.token_ids_substitute": SUBSTITUTES},
    scale=3.0, logit_scale=0.5, tokens=SWITCHED, read=[11 if token == 7 else token for token in SWITCHED])


# MARK: Encoders


def encoder(name, source, layers, run, keys, finish, embed=True):
    """A case of vectors: `finish(states, made)` makes the vector of a sequence."""

    def forward(case):
        made, vectors = Weights(case.seed, case.ranges), []
        for tokens in SEQUENCES:
            x = made.get("token_embd.weight", (48, WIDTH))[tokens]
            if embed:
                x = x + made.get("token_types.weight", (2, WIDTH))[0]
                x = layer_norm(x, made.get("token_embd_norm.weight", (WIDTH,)), made.get("token_embd_norm.bias", (WIDTH,)))
            for index in range(layers):
                x = run(x, Layer(made, index))
            vectors.append(finish(x, made))
        both = {
            "general.architecture": name, f"{name}.block_count": layers, f"{name}.context_length": 512, f"{name}.embedding_length": WIDTH,
            f"{name}.feed_forward_length": FEED, f"{name}.attention.head_count": HEADS, "tokenizer.ggml.token_type_count": 2,
            **{f"{name}.{key}": value for key, value in keys.items()}}
        return {"made_with": f"numpy, float64, after {source}", "kind": "gguf", "keys": typed(both), "tensors": described(made)}, vectors

    Case(name, None, forward=forward, vectors=True)


def split_heads(x):
    return x.reshape(len(x), HEADS, -1)


def jina2(x, layer):
    q, k, v = (split_heads(layer.linear(x, name, WIDTH, bias=True)) for name in ["attn_q", "attn_k", "attn_v"])
    y = layer.linear(attend(q, k, v, bias=slopes(HEADS), causal=False), "attn_output", WIDTH, bias=True)
    x = layer.layer_norm(x + y, "attn_output_norm")
    inner = gelu(layer.linear(x, "ffn_gate", FEED)) * layer.linear(x, "ffn_up", FEED)
    return layer.layer_norm(x + layer.linear(inner, "ffn_down", WIDTH, bias=True), "layer_output_norm")


encoder("jina-bert-v2", "Jina Embeddings 2 (Guenther et al. 2023)", 3, jina2, {
    "attention.layer_norm_epsilon": 1e-5, "pooling_type": 1}, lambda x, made: x.mean(0))


def neo(x, layer):
    q, k, v = (split_heads(part) for part in layer.fused(layer.norm(x, "attn_norm", 1e-5), "attn_qkv", [WIDTH] * 3))
    x = x + layer.linear(attend(rope(q, adjacent=True), rope(k, adjacent=True), v, causal=False), "attn_output", WIDTH)
    return x + gated_mlp(layer.norm(x, "ffn_norm", 1e-5), layer)


encoder("neo-bert", "NeoBERT (Le Breton et al. 2025)", 3, neo, {
    "attention.layer_norm_rms_epsilon": 1e-5, "pooling_type": 2, "rope.freq_base": 10000.0},
    lambda x, made: rms(x, made.get("enc.output_norm.weight", (WIDTH,)), 1e-5)[0], embed=False)


def nomic_mixture(x, layer):
    q, k, v = (split_heads(part) for part in layer.fused(x, "attn_qkv", [WIDTH] * 3, bias=True))
    y = layer.linear(attend(rope(q), rope(k), v, causal=False), "attn_output", WIDTH, bias=True)
    x = layer.layer_norm(x + y, "attn_output_norm")
    if layer.index % 2 == 1:
        weights = top(softmax(x @ layer("ffn_gate_inp", 6, WIDTH).T), 2)
        inner = gelu(np.einsum("ti,eoi->teo", x, layer("ffn_up_exps", 6, FEED, WIDTH)))
        y = np.einsum("teo,eio,te->ti", inner, layer("ffn_down_exps", 6, WIDTH, FEED), weights)
    else:
        y = layer.linear(gelu(layer.linear(x, "ffn_up", FEED, bias=True)), "ffn_down", WIDTH, bias=True)
    return layer.layer_norm(x + y, "layer_output_norm")


encoder("nomic-bert-moe", "Nomic Embed 2 (Nussbaum and Duderstadt 2025)", 4, nomic_mixture, {
    "attention.layer_norm_epsilon": 1e-5, "pooling_type": 1, "rope.freq_base": 10000.0, "expert_count": 6, "expert_used_count": 2,
    "moe_every_n_layers": 2}, lambda x, made: x.mean(0))
