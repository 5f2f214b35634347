// Settings of a conversation under the API's names: `system` and `tools` are strings, the others numbers.

export const samplingSettings = ["temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty",
  "max_completion_tokens", "seed"];

/** Error in a JSON list of tools in OpenAI's form; empty if valid. */
export function toolsProblem(text) {
  if (text.trim() === "") return "";
  try {
    const tools = JSON.parse(text);
    const areTools = Array.isArray(tools) && tools.every((tool) => typeof tool?.function?.name === "string");
    return areTools ? "" : 'Expected a list of {"type": "function", "function": {"name": …}}.';
  } catch (error) {
    return `Expected JSON: ${error.message}`;
  }
}
