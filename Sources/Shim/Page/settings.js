// What the settings of a conversation may be: `system` and `tools` are texts, the others numbers, by the API's names.

export const samplingSettings = ["temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty",
  "max_completion_tokens", "seed"];

/** What is wrong with definitions of tools as OpenAI's API takes them; empty if nothing is. */
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
