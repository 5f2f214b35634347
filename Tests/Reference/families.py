"""Makes the reference data of model families: families/NAME.json, one file a case.

    pip install -r requirements.txt          # the CPU build of torch is enough
    python families.py                       # all cases of family_table.py
    python families.py llama qwen3           # some of them
    python families.py --check BENCH llama   # also compares the logits of the program `bench`; writes what it agrees with

A case is a tiny model with the logits of every position of a few tokens, computed by transformers (or by a plain
implementation after the paper, family_papers.py) in double precision. The file has no weights: each weight is a function of
its tensor's name and its index (`weights` below; ReferenceModel.swift has the same function). All weights are numbers that
F32 holds exactly.

A case of kind "folder" is a folder as transformers publishes it: config.json, and tensors by transformers' names, in published
order. A case of kind "gguf" has GGUF's keys and tensors. For these, family_table.py says how a tensor of transformers'
model is made of GGUF's, which is the inverse of what a converter does.
"""

import argparse
import base64
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import types
import zlib

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import gguf
import numpy as np
import torch
import transformers

torch.set_num_threads(1)
torch.set_grad_enabled(False)

FOLDER = pathlib.Path(__file__).resolve().parent / "families"
VOCABULARY = 48
# Logits of tokens that a model never gives are lower.
SUPPRESSED = -1e38
SEQUENCES = [[(5 * i * i + 7 * i + k) % 45 + 3 for i in range(count)] for k, count in enumerate([17, 4, 31])]
TOKENS = [(7 * i * i + 11 * i + 5) % 45 + 3 for i in range(40)]


# MARK: Weights


def fnv1a64(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & (1 << 64) - 1
    return value


def weights(name, shape, center, spread, seed):
    """Values around `center`, up to `spread` away, both in units of 1/1024. All are multiples of 2^-21 below 2^3."""
    count = math.prod(shape)
    with np.errstate(over="ignore"):
        z = np.uint64(fnv1a64(f"{seed}:{name}")) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    parts = (z >> np.uint64(52)).astype(np.int64) - 2048
    return ((center * 2048 + spread * parts) / (2048 * 1024)).reshape(shape)


class Weights:
    """The tensors of a case. `get` makes one, by its name in the file."""

    # A tensor whose values are all the same, to see whether it matters.
    flat = None

    def __init__(self, seed, ranges):
        self.seed = seed
        self.ranges = ranges  # Pairs of a part of a name and (center, spread), in units of 1.
        self.tensors = {}

    def range(self, name, shape):
        for part, found in self.ranges:
            if part in name:
                return round(found[0] * 1024), round(found[1] * 1024)
        is_norm = "norm" in name or ".ln" in name or "ln_" in name or "layernorm" in name.lower()
        if is_norm and not name.endswith("bias") and len(shape) <= 2:
            return 1024, 512
        if "sinks" in name:
            return 1024, 1024
        if len(shape) <= 1 or name.endswith("bias"):
            return 0, 300
        if any(part in name for part in ["token_embd", "position_embd", "embed_tokens", "embeddings."]):
            return 0, 1024
        # The products have about two thirds of the input's variance, so that the residual stream changes little by little.
        return 0, min(4096, round(1024 * 1.4 / math.sqrt(shape[-1])))

    def get(self, name, shape, center=None, spread=None):
        """Values in row-major order, as float64. A tensor may be read several times."""
        shape = tuple(shape)
        if name in self.tensors:
            found, center, spread = self.tensors[name]
            assert math.prod(found) == math.prod(shape), (name, found, shape)
        else:
            if center is None:
                center, spread = self.range(name, shape)
            else:
                center, spread = round(center * 1024), round(spread * 1024)
            if name == Weights.flat:
                spread = 0
            self.tensors[name] = (shape, center, spread)
        return weights(name, shape, center, spread, self.seed)


def unpaired(values, heads):
    """Rows of heads whose rotated pairs are adjacent, as transformers orders them: first the first of each pair."""
    shape = values.shape
    return values.reshape(heads, shape[0] // heads // 2, 2, -1).swapaxes(1, 2).reshape(shape)


# MARK: Cases

CASES = {}


class Case:
    """One tiny model.

    model: transformers' class. config: arguments of its configuration, beside those that all cases share.
    kind: "folder" or "gguf". keys: GGUF's keys, without the architecture's prefix; a function of the configuration, or a
    dictionary. fill(name, shape, weights): the values of a tensor of transformers' model; None: by its name alone.
    vectors(output, weights): the vector of a sequence, for models that make vectors. attention_mask: "all" if tokens attend to
    later ones, too.
    """

    def __init__(self, name, model, architecture=None, kind="gguf", keys=None, fill=None, seed=0, ranges=(), pairs=False,
                 like=None, shift=0.0, names=None, note="", prepare=None, forward=None, drop=(), raw_keys=None, tokens=None,
                 vectors=None, attention_mask=None, encoder_tokens=None, **config):
        self.name, self.model, self.architecture = name, model, architecture or name
        self.kind, self.keys, self.fill, self.seed, self.ranges = kind, keys, fill, seed, list(ranges)
        self.pairs, self.like, self.shift, self.names = pairs, like, shift, names or {}
        self.note, self.prepare, self.forward, self.drop, self.raw_keys = note, prepare, forward, drop, raw_keys
        self.tokens, self.vectors, self.attention_mask, self.config = tokens or TOKENS, vectors, attention_mask, config
        self.encoder_tokens = encoder_tokens
        assert name not in CASES, name
        CASES[name] = self

    # What transformers' model is.

    def configuration(self):
        model = getattr(transformers, self.model)
        if self.model.endswith("TextModel") and not self.vectors:
            model = headed(model)
        kind = model.config_class
        shared = dict(
            vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, head_dim=32, max_position_embeddings=2048, tie_word_embeddings=False,
            bos_token_id=1, eos_token_id=2, pad_token_id=0, use_cache=False, attn_implementation="eager")
        config = {**shared, **self.config}
        config = {key: value for key, value in config.items() if value is not REMOVED}
        return model, kind(**config)

    def make(self):
        """Returns the file's content."""
        torch.manual_seed(0)
        if self.forward:
            content, logits = self.forward(self)
        elif self.kind == "folder":
            content, logits = self.folder()
        else:
            content, logits = self.gguf()
        logits = np.asarray(logits, dtype=np.float64)
        assert np.isfinite(logits).all(), "not finite"
        is_image = "image" in content
        assert is_image or logits.shape[0] == len(SEQUENCES if self.vectors else self.tokens), logits.shape
        spread = logits[logits > SUPPRESSED].std()
        assert 0.02 < spread < 50, f"logits have a standard deviation of {spread}"
        return {
            "architecture": self.architecture, "made_with": content.pop("made_with", self.made_with()), **({"note": self.note} if self.note else {}),
            "seed": self.seed, **content, **({} if is_image else {"sequences": SEQUENCES} if self.vectors else {"tokens": self.tokens}),
            **({"encoder_tokens": self.encoder_tokens} if self.encoder_tokens else {}),
            "columns": logits.shape[1], "results": base64.b64encode(logits.astype("<f4").tobytes()).decode(),
        }

    def made_with(self):
        return f"transformers {transformers.__version__}, {self.model}, float64"

    def run(self, model, made):
        model = model.double().eval()
        options = {} if self.vectors else {"use_cache": False}
        if self.encoder_tokens:
            logits = model(
                input_ids=torch.tensor([self.encoder_tokens]), decoder_input_ids=torch.tensor([self.tokens]), **options).logits
            return logits[0].double().numpy()
        results = []
        for tokens in SEQUENCES if self.vectors else [self.tokens]:
            if self.attention_mask == "all":
                options["attention_mask"] = torch.zeros(1, 1, len(tokens), len(tokens), dtype=torch.float64)
            output = model(input_ids=torch.tensor([tokens]), **options)
            results.append(self.vectors(output, made) if self.vectors else output.logits[0].double().numpy())
        return np.array(results) if self.vectors else results[0]

    def folder(self):
        kind, config = self.configuration()
        with tempfile.TemporaryDirectory() as place:
            kind(config).save_pretrained(place)
            shapes = read_shapes(place)
            made = Weights(self.seed, self.ranges)
            tensors = {}
            for name, shape in sorted(shapes.items()):
                center = None
                if self.shift and "norm" in name and "linear_attn.norm" not in name and not any(part in name for part, _ in self.ranges):
                    tensors[name] = made.get(name, shape, 1 - self.shift, 0.5)
                else:
                    tensors[name] = made.get(name, shape)
            write_safetensors(f"{place}/model.safetensors", tensors)
            text = json.loads(pathlib.Path(f"{place}/config.json").read_text())
            model, info = kind.from_pretrained(
                place, dtype=torch.float64, attn_implementation="eager", experts_implementation="eager",
                output_loading_info=True)
            unused = [name for name in info["unexpected_keys"]]
            assert not info["missing_keys"] and not unused, (info["missing_keys"], unused)
            logits = self.run(model, made)
        return {"kind": "folder", "config": text, "tensors": described(made)}, logits

    def gguf(self):
        kind, config = self.configuration()
        config._experts_implementation = "eager"
        for part in ["text_config"]:
            if getattr(config, part, None) is not None:
                getattr(config, part)._experts_implementation = "eager"
        model = kind(config)
        if self.prepare:
            self.prepare(model)
        made = Weights(self.seed, self.ranges)
        self.load(model, config, made)
        logits = self.run(model, made)
        return {"kind": "gguf", "keys": typed(self.gguf_keys(config)), "tensors": described(made)}, logits

    def load(self, model, config, made):
        names = gguf.get_tensor_name_map(architecture_of(self.like or self.architecture), 64)
        text = config.get_text_config()
        parameters = dict(model.named_parameters())
        state = model.state_dict()
        parameters |= {name: buffer for name, buffer in model.named_buffers() if name in state and buffer.is_floating_point()}
        lost = []
        for name, parameter in parameters.items():
            shape = tuple(parameter.shape)
            values = self.fill(name, shape, made) if self.fill else None
            values = experts(name, shape, made) if values is None else values
            if values is IGNORED:
                continue
            if values is None:
                other = self.named(name, names)
                if other is None:
                    lost.append(f"{name} {shape}")
                    continue
                if other is IGNORED:
                    continue
                values = self.plain(name, other, shape, made, text)
            values = np.asarray(values)
            assert values.shape == shape, (name, values.shape, shape)
            parameter.data = torch.from_numpy(values.copy())
        assert not lost, "no place for " + ", ".join(lost)

    def plain(self, name, other, shape, made, config):
        if self.shift and "norm" in name and other.endswith("weight"):
            return made.get(other, shape) - self.shift
        values = made.get(other, shape)
        if self.pairs and (".attn_q." in other or ".attn_k." in other):
            heads = config.num_attention_heads if ".attn_q." in other else getattr(config, "num_key_value_heads", None) or config.num_attention_heads
            values = unpaired(values, heads)
        return values

    def named(self, name, names):
        """GGUF's name of a tensor of transformers' model."""
        for part, other in self.names.items():
            match = re.fullmatch(part, name)
            if match:
                return other if other is IGNORED else match.expand(other)
        if names.get_name(name, try_suffixes=(".weight", ".bias")) is None:
            for part, other in USUAL.items():
                if match := re.fullmatch(part, name):
                    return match.expand(other)
        match = re.fullmatch(r".*layers\.(\d+)\..*(?:router|gate)\.(weight|bias)", name)
        if match and names.get_name(name, try_suffixes=(".weight", ".bias")) is None:
            return f"blk.{match[1]}.ffn_gate_inp.{match[2]}"
        return names.get_name(name, try_suffixes=(".weight", ".bias")) or names.get_name(name)

    def gguf_keys(self, config):
        if getattr(config, "per_layer_config", None):
            config.allow_global_per_layer_attribute_access = True
        keys = common_keys(config.get_text_config())
        own = self.keys(config.get_text_config()) if callable(self.keys) else self.keys or {}
        keys |= own
        for key in self.drop:
            keys.pop(key, None)
        keys = {f"{self.architecture}.{key}": value for key, value in keys.items() if value is not None}
        return {"general.architecture": self.architecture, **keys, **(self.raw_keys or {})}


def experts(name, shape, made):
    """Matrices of all experts, and what belongs to their selection."""
    match = re.fullmatch(r"(?:model\.)?(?:language_model\.)?layers\.(\d+)\..*?(?:experts\.)?(gate_up_proj|down_proj|e_score_correction_bias)", name)
    if not match or not (len(shape) == 3 or match[2].startswith("e_score")):
        return None
    layer = f"blk.{match[1]}."
    if match[2] == "gate_up_proj":
        half = (shape[0], shape[1] // 2, shape[2])
        return np.concatenate([made.get(layer + "ffn_gate_exps.weight", half), made.get(layer + "ffn_up_exps.weight", half)], 1)
    if match[2] == "down_proj":
        return made.get(layer + "ffn_down_exps.weight", shape)
    return made.get(layer + "exp_probs_b.bias", shape)


# What multimodal models do to the logits of their text model.
HEADS = {
    "MuseGlimmerTextModel": lambda config, logits: config.final_logit_softcapping * torch.tanh(
        logits * config.output_multiplier / config.final_logit_softcapping),
}


def headed(body):
    """A text model with an output projection. Of multimodal models, this is the part that makes text."""

    class Headed(torch.nn.Module):
        config_class = body.config_class

        def __init__(self, config):
            super().__init__()
            self.model = body(config)
            self.config = config
            self.lm_head = torch.nn.Linear(config.hidden_size, config.vocab_size, bias=False)

        def forward(self, input_ids, use_cache):
            states = self.model(input_ids=input_ids, use_cache=use_cache).last_hidden_state
            return types.SimpleNamespace(logits=HEADS.get(body.__name__, lambda config, logits: logits)(self.config, self.lm_head(states)))

    return Headed


# Names that gguf's map has for few architectures only.
USUAL = {
    r"model\.layers\.(\d+)\.\w+\.shared_experts?\.(gate|up|down)_proj\.weight": r"blk.\1.ffn_\2_shexp.weight",
    r"model\.layers\.(\d+)\.mlp\.(gate|up|down)_proj\.weight": r"blk.\1.ffn_\2.weight",
    r"model\.layers\.(\d+)\.self_attn\.sinks": r"blk.\1.attn_sinks.weight",
    r"model\.layers\.(\d+)\.self_attn\.(?:gate|g)_proj\.weight": r"blk.\1.attn_gate.weight",
    r"model\.layers\.(\d+)\.self_attn\.([qk])_norm\.weight": r"blk.\1.attn_\2_norm.weight",
}

REMOVED = object()
IGNORED = object()


def architecture_of(name):
    return {value: key for key, value in gguf.MODEL_ARCH_NAMES.items()}[name]


def common_keys(config):
    """The keys that most architectures share."""
    def first(*names):
        for name in names:
            value = getattr(config, name, None)
            if value is not None and not isinstance(value, (dict,)):
                return value
        return None

    keys = {
        "block_count": first("num_hidden_layers", "n_layer", "n_layers"),
        "context_length": first("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length") or 2048,
        "embedding_length": first("hidden_size", "n_embd", "d_model"),
        "feed_forward_length": first("intermediate_size", "n_inner", "ffn_hidden_size"),
        "attention.head_count": first("num_attention_heads", "n_head", "n_heads"),
        "attention.head_count_kv": first("num_key_value_heads"),
        "attention.layer_norm_rms_epsilon": first("rms_norm_eps", "layernorm_epsilon" if hasattr(config, "rms_norm_eps") else "rms_norm_eps"),
        "attention.layer_norm_epsilon": first("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps"),
        "expert_count": first("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"),
        "expert_used_count": first("num_experts_per_tok", "moe_k", "moe_topk"),
        "attention.key_length": first("head_dim"),
        "attention.value_length": first("head_dim"),
    }
    rope = getattr(config, "rope_parameters", None) or {}
    rope = rope.get("full_attention", rope)
    if rope.get("rope_theta"):
        keys["rope.freq_base"] = float(rope["rope_theta"])
        width = first("head_dim") or keys["embedding_length"] // keys["attention.head_count"]
        keys["rope.dimension_count"] = int(width * (rope.get("partial_rotary_factor") or 1))
    return {key: value for key, value in keys.items() if value is not None}


# MARK: Files


def typed(keys):
    """Keys grouped by their type in GGUF."""
    groups = {}
    for key, value in keys.items():
        if isinstance(value, (list, tuple)):
            kind = {bool: "bools", int: "int32s", float: "float32s", str: "strings"}[type(value[0])]
            value = list(value)
        else:
            kind = {bool: "bool", int: "uint32", float: "float32", str: "string"}[type(value)]
        groups.setdefault(kind, {})[key] = value
    return groups


def described(made):
    """[center, spread, shape...], the shape in row-major order."""
    return {name: [center, spread, *shape] for name, (shape, center, spread) in sorted(made.tensors.items())}


def read_shapes(folder):
    shapes = {}
    for path in pathlib.Path(folder).glob("*.safetensors"):
        data = path.read_bytes()
        header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
        shapes |= {name: tuple(entry["shape"]) for name, entry in header.items() if name != "__metadata__"}
    return shapes


def write_safetensors(path, tensors):
    header, data, offset = {}, [], 0
    for name, values in tensors.items():
        part = values.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [offset, offset + len(part)]}
        data.append(part)
        offset += len(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))


def write_gguf(path, content):
    writer = gguf.GGUFWriter(path, content["architecture"])
    add = {
        "uint32": writer.add_uint32, "float32": writer.add_float32, "bool": writer.add_bool, "string": writer.add_string,
        "int32s": writer.add_array, "float32s": writer.add_array, "bools": writer.add_array, "strings": writer.add_array,
    }
    for kind, entries in content["keys"].items():
        for key, value in entries.items():
            if key != "general.architecture":
                add[kind](key, value)
    for name, (center, spread, *shape) in content["tensors"].items():
        values = weights(name, tuple(shape), center, spread, content["seed"]).astype(np.float32)
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_model(content, place):
    """Writes the model of a case; returns its path."""
    if content["kind"] == "gguf":
        write_gguf(f"{place}/model.gguf", content)
        return f"{place}/model.gguf"
    pathlib.Path(f"{place}/config.json").write_text(json.dumps(content["config"]))
    tensors = {
        name: weights(name, tuple(shape), center, spread, content["seed"])
        for name, (center, spread, *shape) in content["tensors"].items()}
    write_safetensors(f"{place}/model.safetensors", tensors)
    return place


def write_png(path, width, height):
    import family_vision

    rows = b"".join(b"\0" + row.tobytes() for row in family_vision.pixels(width, height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pathlib.Path(path).write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def difference(found, expected):
    """The normalized mean squared error, without logits that are suppressed in both."""
    given = ~((found <= SUPPRESSED) & (expected <= SUPPRESSED))
    return ((found - expected)[given] ** 2).sum() / (expected[given] ** 2).sum()


def check(content, bench):
    """The normalized mean squared errors of bench's logits: at once, token by token, and with a KV cache of fewer bits."""
    expected = np.frombuffer(base64.b64decode(content["results"]), "<f4").astype(np.float64)
    errors = []
    variants = [(512, "f16"), (1, "f16"), (512, "q8_0"), (512, "q4")]
    with tempfile.TemporaryDirectory() as place:
        path = write_model(content, place)
        for chunk, cache in variants[:1] if "tokens" not in content else variants:
            command = [bench, "logits", "-m", path, "--tokens", ",".join(map(str, content.get("tokens", []))), "--out", f"{place}/out",
                       "--chunk", str(chunk), "-t", "1", "--cache-type", cache, "--unchecked"]
            if "sequences" in content:
                command = [bench, "embed", "-m", path, "--raw", "--out", f"{place}/out", "-t", "1"]
                command += ["--pooling", "rank"] if content["columns"] == 1 else []
                for tokens in content["sequences"]:
                    command += ["--tokens", ",".join(map(str, tokens))]
            if "image" in content:
                write_gguf(f"{place}/text.gguf", json.loads((FOLDER / "qwen3vl.json").read_text()))
                write_png(f"{place}/image.png", *content["image"])
                command = [bench, "image", "-m", f"{place}/text.gguf", "--mmproj", path, "--image", f"{place}/image.png", "--out", f"{place}/out"]
            if "encoder_tokens" in content:
                command += ["--encoder-tokens", ",".join(map(str, content["encoder_tokens"]))]
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode:
                return (result.stderr.strip() or result.stdout.strip())[-600:]
            found = np.fromfile(f"{place}/out", "<f4").astype(np.float64)
            if found.shape != expected.shape:
                return f"{found.shape} instead of {expected.shape} logits"
            errors.append(difference(found, expected))
    return errors


def insensitive(case, content):
    """The tensors that hardly change the results, with the change: those that an engine could ignore unnoticed."""
    found, expected = [], np.frombuffer(base64.b64decode(content["results"]), "<f4").astype(np.float64)
    for name, (center, spread, *shape) in content["tensors"].items():
        if spread == 0:
            continue
        Weights.flat = name
        try:
            other = np.frombuffer(base64.b64decode(case.make()["results"]), "<f4").astype(np.float64)
        except AssertionError:
            continue  # It matters so much that the results are out of range.
        finally:
            Weights.flat = None
        change = difference(other, expected)
        if change < 1e-4:
            found.append((name, change))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--check", metavar="BENCH")
    parser.add_argument("--only-check", action="store_true", help="compare the stored data, without making it")
    parser.add_argument("--sensitivity", action="store_true", help="also name the tensors that hardly change the results")
    options = parser.parse_args()
    import family_papers  # noqa: F401  fills CASES
    import family_table  # noqa: F401
    import family_vision  # noqa: F401

    names = options.names or list(CASES)
    failures = 0
    FOLDER.mkdir(exist_ok=True)
    for name in names:
        path = FOLDER / f"{name}.json"
        try:
            if options.only_check:
                content = json.loads(path.read_text())
            else:
                content = CASES[name].make()
            line = f"{name:24} {len(json.dumps(content)) / 1024:5.1f} KB"
            good = True
            if options.check:
                found = check(content, options.check)
                # Gemma 4 does not scale its scores, so a cache of fewer bits changes them more.
                loose = 20 if name.startswith("gemma4") else 1
                good = not isinstance(found, str) and max(found[:2]) < 1e-5
                good = good and max(found[:3]) < 8e-4 * loose and max(found) < 2.5e-2 * loose
                failures += not good
                line += "  " + ("  ".join(f"{error:.1e}" for error in found) if not isinstance(found, str) else found)
                line += "" if good else "  DIFFERS"
            if options.sensitivity:
                line += "".join(f"\n    {tensor} {change:.0e}" for tensor, change in insensitive(CASES[name], content))
            if not options.only_check and good:
                path.write_text(dumped(content))
            print(line, flush=True)
        except Exception as error:
            failures += 1
            if os.environ.get("TRACE"):
                raise
            print(f"{name:24} {type(error).__name__}: {str(error)[:1500]}", flush=True)
    sys.exit(failures > 0)


def dumped(content):
    """JSON with one line for each entry, so that a changed case shows what changed."""
    lines = []
    for key, value in content.items():
        if isinstance(value, dict):
            inner = ",\n".join(f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in value.items())
            lines.append(f" {json.dumps(key)}: {{\n{inner}\n }}")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    sys.modules["families"] = sys.modules["__main__"]
    main()
