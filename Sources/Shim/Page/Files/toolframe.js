// Calls tools at their addresses, for the page (frames.js): functions, and MCP servers over "Streamable HTTP".

import { events } from "./api.js";
import { answerPage } from "./framed.js";

const patience = 60_000; // milliseconds for one call
const mostCharacters = 200_000; // of a result
const versions = ["2025-06-18", "2025-03-26"];

answerPage(async ({ function: url, body, server, call, arguments: given }) => {
  if (url) return limited(await (await reach(url, body || "{}")).text());
  const session = await begin(server);
  if (!call) return (await ask(session, "tools/list", {})).tools ?? [];
  const { content = [], structuredContent, isError } = await ask(session, "tools/call", { name: call, arguments: given });
  const texts = content.map((part) => (part.type === "text" ? part.text : `(${part.type})`));
  const text = limited(texts.join("\n") || JSON.stringify(structuredContent ?? null));
  return isError ? `Error: ${text}` : text;
});

function limited(text) {
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters)}…` : text;
}

/** @throws {Error} if the server cannot be reached or does not answer with success */
async function reach(url, body, headers = {}) {
  let response;
  try {
    response = await fetch(url, {
      method: "POST", headers: { "Content-Type": "application/json", ...headers }, body, credentials: "omit",
      signal: AbortSignal.timeout(patience),
    });
  } catch {
    throw new Error(`${url} cannot be reached, or does not allow this page to call it (CORS).`);
  }
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${(await response.text()).slice(0, 500)}`);
  return response;
}

// MCP

/** Begins a session: {server, headers, count}. */
async function begin(server) {
  const session = { server, headers: {}, count: 0 };
  const { protocolVersion } = await ask(session, "initialize", {
    protocolVersion: versions[0], capabilities: {}, clientInfo: { name: "LocalLLM", version: "1" },
  });
  if (!versions.includes(protocolVersion)) throw new Error(`${server} speaks version ${protocolVersion} of MCP, not ${versions.join(" or ")}.`);
  session.headers["MCP-Protocol-Version"] = protocolVersion;
  await send(session, { method: "notifications/initialized" });
  return session;
}

function send({ server, headers }, message) {
  return reach(server, JSON.stringify({ jsonrpc: "2.0", ...message }), { ...headers, Accept: "application/json, text/event-stream" });
}

async function ask(session, method, params) {
  const id = (session.count += 1);
  const response = await send(session, { id, method, params });
  const name = response.headers.get("Mcp-Session-Id");
  if (name) session.headers["Mcp-Session-Id"] = name;
  const { result, error } = await answerTo(id, response);
  if (error) throw new Error(`${session.server}: ${error.message}`);
  return result ?? {};
}

/** The answer to a request: the whole body, or one of the messages of a stream. */
async function answerTo(id, response) {
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) return response.json();
  for await (const data of events(response.body)) {
    const message = JSON.parse(data);
    if (message.id === id) return message;
  }
  throw new Error("The MCP server ended its stream without an answer.");
}
