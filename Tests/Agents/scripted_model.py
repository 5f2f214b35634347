"""Writes a GGUF file with a model that follows a script, for the unchanged server.

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
{%- if message.role == 'user' and TASK in message.content -%}{%- set script.turn = 0 -%}{%- endif -%}
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
    aside: The answer to requests without tools, which some programs send beside the conversation, for a title.
    """
    starts = [f"<|turn_{index}|>" for index in range(len(turns))] + ["<|aside|>"]
    answers = [*turns, [aside or "Nothing."]]
    control = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", *starts]
    pieces = [piece for answer in answers for piece in answer]
    ends = {(number, answer[-1][start:])
            for number, answer in enumerate(answers) for start in range(1, len(answer[-1]))}
    texts = sorted({end for _, end in ends} - set(pieces))
    tokens = [*control, *BYTES, *(text.replace(" ", "\u2581") for text in [" ", *texts, *pieces])]
    types = [gguf.TokenType.CONTROL] * len(control) + [gguf.TokenType.BYTE] * 256
    types += [gguf.TokenType.NORMAL] * (len(tokens) - len(types))
    types[0] = gguf.TokenType.UNKNOWN

    # Dimension 0 selects the end, dimension i + 1 piece i. One is constant; each answer has one in the embedding
    # of its control token, and one to which attention copies it.
    constant = len(pieces) + 1
    seen, attended = constant + 1, constant + 1 + len(answers)
    width = -(-(attended + len(answers)) // 64) * 64
    first_piece = len(tokens) - len(pieces)
    embedding = numpy.zeros((len(tokens), width), numpy.float32)
    output = numpy.zeros((len(tokens), width), numpy.float32)
    embedding[:, 0] = 1
    embedding[:, constant] = 1
    output[tokens.index("<|im_end|>"), 0] = 1e5
    number = 0
    for index, (start, answer) in enumerate(zip(starts, answers)):
        last = tokens.index(start)
        embedding[last, seen + index] = 1
        for _ in answer:
            embedding[last, 0] = 0
            embedding[last, number + 1] = 1
            last = first_piece + number
            output[last, number + 1] = 1e5
            number += 1
    ids = {text: len(control) + 257 + index for index, text in enumerate(texts)}
    ids |= {piece: first_piece + index for index, piece in enumerate(pieces)}
    for index, end in ends:
        output[ids[end], attended + index] = 1000 + 30 * len(end)

    # The last pair of the head's dimensions does not rotate.
    head = 32
    query, key, value = (numpy.zeros((head, width), numpy.float32) for _ in range(3))
    copy = numpy.zeros((width, head), numpy.float32)
    query[head - 2, constant] = 10
    for index in range(len(answers)):
        key[head - 2, seen + index] = 10
        value[index, seen + index] = 1
        copy[attended + index, index] = 1

    file = gguf.GGUFWriter(str(path), "llama")
    file.add_name("Scripted")
    file.add_context_length(CONTEXT)
    file.add_embedding_length(width)
    file.add_block_count(1)
    file.add_feed_forward_length(32)
    file.add_head_count(1)
    file.add_head_count_kv(1)
    file.add_key_length(head)
    file.add_value_length(head)
    file.add_rope_freq_base(1e12)
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
    for name, literal in values.items():
        template = template.replace(name, literal)
    file.add_chat_template(template)
    weights = {
        "attn_q": query, "attn_k": key, "attn_v": value, "attn_output": copy,
        "ffn_gate": numpy.zeros((32, width), numpy.float32), "ffn_up": numpy.zeros((32, width), numpy.float32),
        "ffn_down": numpy.zeros((width, 32), numpy.float32)}
    file.add_tensor("token_embd.weight", embedding)
    file.add_tensor("output_norm.weight", numpy.ones(width, numpy.float32))
    file.add_tensor("output.weight", output)
    for norm in ("attn_norm", "ffn_norm"):
        file.add_tensor(f"blk.0.{norm}.weight", numpy.ones(width, numpy.float32))
    for name, matrix in weights.items():
        file.add_tensor(f"blk.0.{name}.weight", matrix)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
