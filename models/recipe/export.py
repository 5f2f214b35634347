"""Writes a checkpoint as GGUF: matrices in Q8_0, norms in float32.

    python export.py OUT ../hearth-4m.gguf
"""

import json
import sys
from pathlib import Path

import gguf
import torch

import tokens

# ChatML. Tools are declared one to a line behind the system message, as tools.py writes them; calls are JSON without white space.
TEMPLATE = """{%- if tools -%}
{{- '<|im_start|>system\\n' -}}
{%- if messages[0].role == 'system' -%}{{- messages[0].content + '\\n' -}}{%- endif -%}
{{- 'Functions:\\n' -}}
{%- for tool in tools -%}
{%- set parameters = tool.function.parameters or {} -%}
{{- tool.function.name + '(' -}}
{%- for name, property in (parameters.properties or {}) | items -%}
{{- ', ' if not loop.first -}}{{- name + ('' if name in (parameters.required or []) else '?') + ': ' -}}
{%- if property.enum -%}{{- property.enum | join('|') -}}
{%- else -%}{{- property.type if property.type is string else 'any' -}}{%- endif -%}
{%- endfor -%}
{{- '): ' + (tool.function.description or '') + ('' if loop.last else '\\n') -}}
{%- endfor -%}
{{- '<|im_end|>\\n' -}}
{%- endif -%}
{%- for message in messages -%}
{%- if not (tools and loop.first and message.role == 'system') -%}
{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') -}}
{%- for call in message.tool_calls or [] -%}
{{- '<tool_call>{"name":"' + call.function.name + '","arguments":' -}}
{{- call.function.arguments if call.function.arguments is string else call.function.arguments | tojson(separators=(',', ':')) -}}
{{- '}</tool_call>' -}}
{%- endfor -%}
{{- '<|im_end|>\\n' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}"""
ABOUT = "A very small English chat model trained from scratch on generated text, for first runs and tests of LocalLLM."
NAMES = {"attn_norm": "attn_norm", "attn.q": "attn_q", "attn.k": "attn_k", "attn.v": "attn_v", "attn.o": "attn_output",
         "attn.q_norm": "attn_q_norm", "attn.k_norm": "attn_k_norm", "ffn_norm": "ffn_norm",
         "ffn.gate": "ffn_gate", "ffn.up": "ffn_up", "ffn.down": "ffn_down"}


def gguf_name(name):
    if name == "embed.weight":
        return "token_embd.weight"
    if name == "norm.weight":
        return "output_norm.weight"
    _, block, rest = name.split(".", 2)
    return f"blk.{block}.{NAMES[rest.removesuffix('.weight')]}.weight"


def main():
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    saved = torch.load(source / "checkpoint.pt", map_location="cpu")
    c, weights = saved["config"], saved["model"]
    w = gguf.GGUFWriter(str(target), "qwen3")
    w.add_name("Hearth 4M")
    w.add_description(ABOUT)
    w.add_license("CC0-1.0")
    w.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    w.add_float32("general.sampling.temp", 0.2)
    w.add_float32("general.sampling.top_p", 0.9)
    w.add_context_length(c["context"])
    w.add_embedding_length(c["dim"])
    w.add_block_count(c["layers"])
    w.add_feed_forward_length(c["ff"])
    w.add_head_count(c["heads"])
    w.add_head_count_kv(c["kv_heads"])
    w.add_key_length(c["head_dim"])
    w.add_value_length(c["head_dim"])
    w.add_layer_norm_rms_eps(c["eps"])
    w.add_rope_freq_base(c["rope_base"])
    w.add_vocab_size(c["vocab"])

    bpe = json.loads((source / "tokenizer.json").read_text())
    ids = {**bpe["model"]["vocab"], **{t["content"]: t["id"] for t in bpe["added_tokens"]}}
    merges = [m if isinstance(m, str) else " ".join(m) for m in bpe["model"]["merges"]]
    vocabulary = sorted(ids, key=ids.get)
    assert [ids[t] for t in vocabulary] == list(range(c["vocab"]))
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("qwen2")
    w.add_token_list(vocabulary)
    w.add_token_types([gguf.TokenType.CONTROL if t in tokens.SPECIAL else gguf.TokenType.NORMAL for t in vocabulary])
    w.add_token_merges(merges)
    w.add_eos_token_id(ids[tokens.END])
    w.add_eot_token_id(ids[tokens.END])
    w.add_pad_token_id(ids[tokens.END_OF_TEXT])
    w.add_add_bos_token(False)
    w.add_chat_template(TEMPLATE)

    for name, t in weights.items():
        a = t.float().numpy()
        if a.ndim == 1:
            w.add_tensor(gguf_name(name), a)
        else:
            kind = gguf.GGMLQuantizationType.Q8_0
            w.add_tensor(gguf_name(name), gguf.quants.quantize(a, kind), raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    print(f"{target.name}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
