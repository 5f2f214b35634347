"""Lists what becomes of each key that transformers' classes know in the JSON files of a model folder.

    pip install transformers==5.24.0
    python folder_keys.py            # ends with status 1 if a key is neither read nor declared without effect

A key counts as read if Sources/GGUF/Checkpoints or the safetensors reader names it: it is obeyed, or refused by name. Keys
without effect are those in docs/safetensors.md, "Keys without effect".
"""

import inspect
import os
import pathlib
import re
import sys

os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import transformers.tokenization_utils_base as tokenization
from transformers import GenerationConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = [*ROOT.glob("Sources/GGUF/Checkpoints/*.swift"), *ROOT.glob("Sources/GGUF/Safetensors/*.swift")]
READ = set(re.findall(r'"(?:tokenizer\.ggml\.)?([A-Za-z_][A-Za-z0-9_]*)"', "".join(path.read_text() for path in SOURCES)))
# Composed in the sources: "\(role)_token", "\(role)_token_id", "add_\(role)_token".
for role in ["bos", "eos", "unk", "sep", "pad", "cls", "mask"]:
    READ |= {f"{role}_token", f"{role}_token_id", f"add_{role}_token"}
SECTION = (ROOT / "docs/safetensors.md").read_text().split("## Keys without effect")[1].split("\n## ")[0]
INERT = set(re.findall(r"`([a-z_0-9]+)`", SECTION))

# The classes of the supported families (CheckpointFamily).
TYPES = """llama mistral mixtral mistral3 ministral3 smollm3 granite qwen2 qwen3 qwen3_moe qwen3_5 qwen3_5_moe gemma3 gemma3_text
gemma4 gemma4_text phi3 gpt_oss glm4 glm4_moe bert roberta xlm-roberta nomic_bert""".split()


def config_keys():
    for kind in TYPES:
        config = CONFIG_MAPPING[kind]().to_dict()
        yield from config
        if isinstance(config.get("text_config"), dict):
            yield from config["text_config"]


def tokenizer_keys():
    source = inspect.getsource(tokenization)
    yield from re.findall(r'init_kwargs(?:\.get|\.pop)?[\[(]"(\w+)"', source)
    yield from re.findall(r'kwargs\.pop\("(\w+)"', source)
    yield from tokenization.PreTrainedTokenizerBase.SPECIAL_TOKENS_ATTRIBUTES


FILES = {
    "config.json": config_keys(),
    "generation_config.json": GenerationConfig().to_dict(),
    "tokenizer_config.json": tokenizer_keys(),
    "tokenizer.json": ["version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                       "decoder", "model"],
}

unknown = 0
for file, keys in FILES.items():
    print(f"\n{file}")
    for key in sorted(set(keys)):
        fate = "read" if key in READ else "without effect" if key.startswith("_") else "without effect" if key in INERT else "UNKNOWN"
        unknown += fate == "UNKNOWN"
        print(f"  {key:40} {fate}")
print(f"\n{unknown} unknown")
sys.exit(unknown > 0)
