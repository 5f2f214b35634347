"""Writes what train.py goes on from, the vocabulary and a checkpoint, from an exported model.

    python restore.py ../hearth-4m.gguf OUT
"""

import sys
from pathlib import Path

import gguf
import torch
from tokenizers import Tokenizer, models

import tokens
from export import gguf_name
from model import Config, Model


def main():
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    reader = gguf.GGUFReader(source)
    config = Config()
    vocabulary, merges = (reader.fields[f"tokenizer.ggml.{key}"].contents() for key in ("tokens", "merges"))
    ordinary = vocabulary[:len(vocabulary) - len(tokens.SPECIAL)]
    assert len(vocabulary) == config.vocab and vocabulary[len(ordinary):] == tokens.SPECIAL
    tokenizer = tokens.surround(Tokenizer(models.BPE(
        vocab={token: i for i, token in enumerate(ordinary)}, merges=[tuple(m.split(" ")) for m in merges])))
    tokenizer.add_special_tokens(tokens.SPECIAL)
    tokenizer.save(str(out / "tokenizer.json"))

    tensors = {t.name: torch.from_numpy(gguf.quants.dequantize(t.data, t.tensor_type).copy()) for t in reader.tensors}
    weights = {name: tensors[gguf_name(name)] for name in Model(config).state_dict()}
    torch.save({"config": config.dict(), "model": weights}, out / "checkpoint.pt")


if __name__ == "__main__":
    main()
