"""Writes a GGUF file with a model that follows a script, for a server that is the product's own.

The chat template counts the answers since the task and ends the prompt with a control token of that number. Each piece
of the script is one token. The layers add nothing to the embedding of the last token, which selects the next
piece, or the end. So the server renders, tokenizes, computes, caches and parses as with any other model.
"""

import json

import gguf
import numpy

TEMPLATE = """{%- if tools -%}
{{- '<|im_start|>system\\n' -}}
{%- if messages[0].role == 'system' -%}{{- messages[0].content + '\\n\\n' -}}{%- endif -%}
{{- '# Tools\\n' -}}{%- for tool in tools -%}{{- tool | tojson + '\\n' -}}{%- endfor -%}
{{- '<|im_end|>\\n' -}}
{%- endif -%}
{%- set script = namespace(turn=0) -%}
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}{%- set script.turn = script.turn + 1 -%}{%- endif -%}
{%- if TASK in (message.content or '') -%}{%- set script.turn = 0 -%}{%- endif -%}
{%- if not (tools and loop.first and message.role == 'system') -%}
{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') -}}
{%- for call in message.tool_calls or [] -%}
{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' -}}
{{- call.function.arguments | tojson + '}\\n</tool_call>' -}}
{%- endfor -%}
{{- '<|im_end|>\\n' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|im_start|>assistant\\n' -}}
{%- if NEEDS_TOOLS and not tools -%}{{- '<|aside|>' -}}
{%- else -%}{{- '<|turn_' + ([script.turn, LAST_TURN] | min | string) + '|>' -}}{%- endif -%}
{%- endif -%}"""
CONTEXT = 262_144
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def call(name, **arguments):
    """A call as the template writes it."""
    arguments = json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)
    return f'\n<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


def write(path, task, turns, aside=None):
    """Writes the model.

    task: Text of the message that begins the conversation; programs may put others before it, with answers.
    turns: The answers to it in order, each a list of pieces; the last is repeated.
    aside: The answer to requests without tools, of programs that have such beside the conversation.
    """
    starts = [f"<|turn_{index}|>" for index in range(len(turns))] + ["<|aside|>"]
    answers = [*turns, [aside or "Nothing."]]
    control = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", *starts]
    pieces = [piece.replace(" ", "\u2581") for answer in answers for piece in answer]
    tokens = [*control, *BYTES, "\u2581", *pieces]
    types = [gguf.TokenType.CONTROL] * len(control) + [gguf.TokenType.BYTE] * 256
    types += [gguf.TokenType.NORMAL] * (1 + len(pieces))
    types[0] = gguf.TokenType.UNKNOWN

    # Dimension 0 selects the end, dimension i + 1 piece i.
    width = -(-(len(pieces) + 1) // 64) * 64
    first_piece = len(tokens) - len(pieces)
    embedding = numpy.zeros((len(tokens), width), numpy.float32)
    output = numpy.zeros((len(tokens), width), numpy.float32)
    embedding[:, 0] = 1
    output[tokens.index("<|im_end|>"), 0] = 100
    number = 0
    for start, answer in zip(starts, answers):
        last = tokens.index(start)
        for _ in answer:
            embedding[last] = 0
            embedding[last, number + 1] = 1
            last = first_piece + number
            output[last, number + 1] = 100
            number += 1

    file = gguf.GGUFWriter(str(path), "llama")
    file.add_name("Scripted")
    file.add_context_length(CONTEXT)
    file.add_embedding_length(width)
    file.add_block_count(1)
    file.add_feed_forward_length(32)
    file.add_head_count(1)
    file.add_head_count_kv(1)
    file.add_key_length(32)
    file.add_value_length(32)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_tokenizer_model("llama")
    file.add_token_list(tokens)
    file.add_token_scores([0.0] * len(tokens))
    file.add_token_types(types)
    file.add_bos_token_id(1)
    file.add_eos_token_id(tokens.index("<|im_end|>"))
    file.add_add_bos_token(False)
    file.add_add_space_prefix(False)
    values = {"NEEDS_TOOLS": "true" if aside else "false", "LAST_TURN": str(len(turns) - 1), "TASK": repr(task)}
    template = TEMPLATE
    for name, value in values.items():
        template = template.replace(name, value)
    file.add_chat_template(template)
    shapes = {"attn_q": (32, width), "attn_k": (32, width), "attn_v": (32, width), "attn_output": (width, 32),
              "ffn_gate": (32, width), "ffn_up": (32, width), "ffn_down": (width, 32)}
    file.add_tensor("token_embd.weight", embedding)
    file.add_tensor("output_norm.weight", numpy.ones(width, numpy.float32))
    file.add_tensor("output.weight", output)
    for norm in ("attn_norm", "ffn_norm"):
        file.add_tensor(f"blk.0.{norm}.weight", numpy.ones(width, numpy.float32))
    for name, shape in shapes.items():
        file.add_tensor(f"blk.0.{name}.weight", numpy.zeros(shape, numpy.float32))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
