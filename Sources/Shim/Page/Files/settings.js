// Settings of a conversation: `system`, `stop`, `schema` and `tools` are texts, the others numbers under the API's names.

import { toolsProblem } from "./tools.js";

/** The numbers, which the dialog has inputs for. */
export const samplingSettings = [...document.querySelectorAll("#settings .fields input")].map(({ name }) => name);

/** The texts, with functions that say what is wrong with one; empty if nothing is. */
export const textSettings = { system: () => "", stop: () => "", schema: schemaProblem, tools: toolsProblem };

function schemaProblem(text) {
  if (text.trim() === "") return "";
  try {
    const schema = JSON.parse(text);
    return typeof schema === "object" && schema !== null && !Array.isArray(schema) ? "" : "Expected a JSON schema: an object.";
  } catch (error) {
    return `Expected JSON: ${error.message}`;
  }
}

/** The fields of a request for the settings, but for the system prompt and the tools. */
export function requestFields({ system, tools, stop, schema, ...sampling }) {
  const fields = { ...sampling };
  const stops = (stop ?? "").split("\n").filter((line) => line !== "");
  if (stops.length) fields.stop = stops;
  if (schema) fields.response_format = { type: "json_schema", json_schema: { name: "answer", schema: JSON.parse(schema) } };
  return fields;
}
