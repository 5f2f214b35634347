"""Writes a GGUF file with a tiny cross-encoder of random weights (BERT with a classifier of one score), for tests of reranking."""

import random
import struct

WIDTH, FEED_FORWARD, CONTEXT = 32, 48, 128
TYPES = {int: (4, "<I"), float: (6, "<f"), bool: (7, "<?")}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value(item):
    """A metadata value with its type."""
    if isinstance(item, str):
        return struct.pack("<I", 8) + text(item)
    if isinstance(item, list):
        kind = 8 if isinstance(item[0], str) else 5 if isinstance(item[0], int) else 6
        form = {5: "<i", 6: "<f"}.get(kind)
        items = b"".join(text(each) if kind == 8 else struct.pack(form, each) for each in item)
        return struct.pack("<IIQ", 9, kind, len(item)) + items
    kind, form = TYPES[type(item)]
    return struct.pack("<I", kind) + struct.pack(form, item)


def write(path):
    generator = random.Random(7)
    tokens = ["<s>", "<pad>", "</s>", "<unk>", "▁"] + list("abcdefghijklmnopqrstuvwxyz")
    metadata = {
        "general.architecture": "bert", "general.name": "tiny reranker", "bert.context_length": CONTEXT,
        "bert.embedding_length": WIDTH, "bert.block_count": 1, "bert.feed_forward_length": FEED_FORWARD,
        "bert.attention.head_count": 2, "bert.attention.layer_norm_epsilon": 1e-5, "bert.attention.causal": False,
        "bert.pooling_type": 4, "bert.vocab_size": len(tokens), "tokenizer.ggml.model": "t5",
        "tokenizer.ggml.pre": "default", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [0.0] * 4 + [-6.0 - index / 100 for index in range(len(tokens) - 4)],
        "tokenizer.ggml.token_type": [3, 3, 3, 2] + [1] * (len(tokens) - 4),
        "tokenizer.ggml.unknown_token_id": 3, "tokenizer.ggml.padding_token_id": 1,
        "tokenizer.ggml.bos_token_id": 0, "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.seperator_token_id": 2,
        "tokenizer.ggml.cls_token_id": 0, "tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.add_eos_token": True,
        "tokenizer.ggml.add_space_prefix": True, "tokenizer.ggml.token_type_count": 1,
    }
    shapes = {
        "token_embd.weight": [WIDTH, len(tokens)], "token_types.weight": [WIDTH, 1], "token_embd_norm": WIDTH,
        "position_embd.weight": [WIDTH, CONTEXT],
        **{f"blk.0.attn_{name}": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")},
        "blk.0.attn_output_norm": WIDTH, "blk.0.ffn_up": (WIDTH, FEED_FORWARD), "blk.0.ffn_down": (FEED_FORWARD, WIDTH),
        "blk.0.layer_output_norm": WIDTH, "cls": (WIDTH, WIDTH), "cls.output": (WIDTH, 1),
    }
    tensors = {}
    for name, shape in shapes.items():
        if isinstance(shape, list):
            tensors[name] = shape, 0.5, 0
        elif isinstance(shape, tuple):
            tensors[f"{name}.weight"] = list(shape), 0.5, 0
            tensors[f"{name}.bias"] = [shape[1]], 0.1, 0
        else:
            tensors[f"{name}.weight"] = [shape], 0.1, 1
            tensors[f"{name}.bias"] = [shape], 0.1, 0
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(text(name) + value(item) for name, item in metadata.items())
    data = b""
    for name, (shape, spread, mean) in tensors.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(data))
        values = [generator.gauss(mean, spread) for _ in range(count)]
        data += struct.pack(f"<{count}f", *values)
        data += b"\0" * (-len(data) % 32)
    path.write_bytes(head + b"\0" * (-len(head) % 32) + data)
