"""Which fields of requests the server reads, and which docs/connect.md lists as without effect."""

import re
from pathlib import Path

# Fields whose contents clients choose: the keys below them are not checked.
OPAQUE = {"parameters", "input_schema", "arguments", "schema", "metadata", "client_metadata"}

READ = {
    "chats": {
        "model", "messages", "stream", "stream_options", "stream_options.include_usage", "temperature", "top_p",
        "max_tokens", "max_completion_tokens", "tool_choice", "tool_choice.type", "tool_choice.function",
        "tool_choice.function.name", "parallel_tool_calls", "n", "stop", "seed",
        "response_format", "response_format.type", "response_format.json_schema", "response_format.json_schema.name",
        "response_format.json_schema.schema", "reasoning_effort", "tools", "tools[].type", "tools[].function",
        "tools[].function.name", "tools[].function.description", "tools[].function.parameters",
        *(f"messages[].{rest}" for rest in (
            "role", "content", "content[].type", "content[].text", "tool_call_id", "tool_calls", "tool_calls[].id",
            "tool_calls[].type", "tool_calls[].function", "tool_calls[].function.name",
            "tool_calls[].function.arguments", "name"))},
    "messages": {
        "model", "messages", "system", "system[].type", "system[].text", "stream", "max_tokens", "temperature",
        "thinking", "thinking.type", "thinking.budget_tokens", "output_config", "tools", "tools[].name",
        "tools[].description", "tools[].input_schema", "tools[].defer_loading", "tool_choice", "tool_choice.type",
        *(f"messages[].{rest}" for rest in (
            "role", "content", "content[].type", "content[].text", "content[].id", "content[].name", "content[].input",
            "content[].tool_use_id", "content[].content", "content[].content[].type", "content[].content[].text",
            "content[].is_error"))},
    "responses": {
        "model", "input", "instructions", "stream", "store", "temperature", "max_output_tokens", "reasoning",
        "reasoning.summary", "reasoning.effort", "include", "tool_choice", "parallel_tool_calls", "tools",
        "tools[].type", "tools[].name", "tools[].description", "tools[].parameters", "tools[].format",
        "tools[].tools", "tools[].tools[].type", "tools[].tools[].name", "tools[].tools[].description",
        "tools[].tools[].parameters",
        *(f"input[].{rest}" for rest in (
            "type", "role", "content", "content[].type", "content[].text", "call_id", "name", "arguments", "output",
            "output[].type", "output[].text"))},
}


def without_effect(api):
    """The fields that the table of docs/connect.md lists for an API."""
    page = (Path(__file__).parents[2] / "docs/connect.md").read_text()
    path = {"chats": "chat/completions"}.get(api, api)
    row = re.search(rf"^\| `/v1/{path}` \|(.*)\|$", page, re.MULTILINE).group(1)
    return set(re.findall(r"`([^`]+)`", row))


def unknown(api, body):
    """Paths of a request's fields that are neither read nor listed."""
    listed = without_effect(api)
    found = set()

    def walk(value, path):
        if isinstance(value, list):
            for element in value:
                walk(element, f"{path}[]")
        elif isinstance(value, dict):
            for key, inner in value.items():
                field = f"{path}.{key}" if path else key
                if field in listed or f".{key}" in listed:
                    continue
                if field not in READ[api]:
                    found.add(field)
                elif key not in OPAQUE and not field.endswith("content[].input"):
                    walk(inner, field)

    walk(body, "")
    return found
