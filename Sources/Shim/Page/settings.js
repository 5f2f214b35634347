// Settings of a conversation under the API's names: `system` and `tools` are strings, the others numbers.

/** The numbers, which the dialog has inputs for. */
export const samplingSettings = [...document.querySelectorAll("#settings .fields input")].map(({ name }) => name);

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
