// Tools that the model may call: a list in OpenAI's form, as JSON. A tool with `url` is a function that gets its
// arguments there; one with `server` belongs to the MCP server at that address. Others are run by the user.

import { askFrame } from "./frames.js";

/** Error in a list of tools; empty if valid. */
export function toolsProblem(text) {
  if (text.trim() === "") return "";
  try {
    const tools = JSON.parse(text);
    const areTools = Array.isArray(tools) && tools.every((tool) => typeof tool?.function?.name === "string");
    if (!areTools) return 'Expected a list of {"type": "function", "function": {"name": …}}.';
    const wrong = tools.flatMap(({ url, server }) => [url, server]).find((each) => each !== undefined && !isAddress(each));
    return wrong === undefined ? "" : `Expected an http or https address, found ${JSON.stringify(wrong)}.`;
  } catch (error) {
    return `Expected JSON: ${error.message}`;
  }
}

function isAddress(text) {
  return typeof text === "string" && URL.canParse(text) && ["http:", "https:"].includes(new URL(text).protocol);
}

const listed = ({ tools }) => (tools ? JSON.parse(tools) : []);

/** The tools as the API takes them, without addresses; `undefined` if there are none. */
export function toolsForRequest(settings) {
  const tools = listed(settings).map(({ url, server, ...tool }) => tool);
  return tools.length ? tools : undefined;
}

/** The address at which a tool runs; `undefined` if the user gives its results. */
export function addressOf(settings, name) {
  const { url, server } = listed(settings).find((tool) => tool.function.name === name) ?? {};
  return url ?? server;
}

/**
 * Runs a call at its tool's address, after the user has agreed.
 *
 * @returns the result as text
 * @throws {Error} that says what went wrong
 */
export async function runCall(settings, { name, arguments: text }) {
  const { url, server } = listed(settings).find((tool) => tool.function.name === name);
  if (url) return askFrame("tools", { function: url, body: text });
  return askFrame("tools", { server, call: name, arguments: JSON.parse(text || "{}") });
}

/** The tools of an MCP server, in the form of the list. */
export async function toolsOf(server) {
  if (!isAddress(server)) throw new Error("Expected an http or https address.");
  const found = await askFrame("tools", { server });
  return found.map(({ name, description, inputSchema }) =>
    ({ type: "function", function: { name, description, parameters: inputSchema }, server }));
}
