// The shim, and before it a server that takes the page from the shim and answers the API as a test wants.

import { spawn } from "node:child_process";
import http from "node:http";
import { createInterface } from "node:readline";

/** Starts the program on a free port; the promise has its address once it listens. */
export async function startShim(program, model) {
  const child = spawn(program, ["--model", model, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /Listening on (http:\S+)/.exec(line)?.[1];
    if (url) return { url, stop: () => new Promise((resolve) => child.once("exit", resolve).kill("SIGTERM")) };
  }
  throw new Error(`${program} ended before it listened`);
}

export class ScriptedAPI {
  /** Bodies of the chat requests that came, and their headers. */
  asked = [];
  headers = [];
  /** Chat answers whose client left before their end. */
  abandoned = 0;
  /** `async (response, body, number) => …` answers a chat request. */
  reply = (response) => stream(response, ["Hello", ", ", "world."]);
  models = [{ id: "tiny", object: "model", state: "loaded" }, { id: "other", object: "model", state: "unloaded" }];
  engines = [{ id: "local", available: true, models: ["tiny", "other"] }];
  modelStatus = () => 200;
  /** What `/props` says. */
  properties = { default_generation_settings: { n_ctx: 4096 } };
  /** `(body, response, path) => …` answers a request to load or unload a model. */
  load = (body, response) => json(response, 200, { success: true });
  /** `(body, response) => …` answers a request to download or to delete a model. */
  pull = (body, response) => json(response, 501, { error: "This server has no folder of models." });
  remove = (body, response) => response.writeHead(200).end();
  /** `(body, response) => …` answers what a model can do. */
  show = (body, response) => json(response, 200, { capabilities: ["completion"] });
  /** `(text, response) => …` answers a request for suggestions, `(body, response) => …` one for an image. */
  suggest = (text, response) => json(response, 200, { suggestions: [] });
  draw = (body, response) => json(response, 501, error("Images need an upstream.", "upstream_not_configured"));

  async start(shim) {
    this.server = http.createServer((request, response) => this.#serve(shim, request, response));
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
  }

  stop() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }

  async #serve(shim, request, response) {
    const path = request.url.split("?")[0];
    if (path === "/v1/models") {
      const status = this.modelStatus(request);
      return json(response, status, status === 200 ? { object: "list", data: this.models } : error("No key.", "invalid_api_key"));
    }
    if (path === "/api/engines") return json(response, 200, { engines: this.engines });
    if (path === "/props") return json(response, 200, this.properties);
    const scripted = ["/v1/chat/completions", "/api/suggest", "/v1/images/generations", "/models/load", "/models/unload", "/api/show", "/api/pull", "/api/delete"];
    if (!scripted.includes(path)) {
      return pass(shim + request.url, request, response);
    }
    let text = "";
    for await (const part of request.setEncoding("utf8")) text += part;
    if (path === "/api/suggest") return this.suggest(JSON.parse(text).text, response);
    if (path === "/api/show") return this.show(JSON.parse(text), response);
    if (path === "/api/pull") return this.pull(JSON.parse(text), response);
    if (path === "/api/delete") return this.remove(JSON.parse(text), response);
    if (path.startsWith("/models/")) return this.load(JSON.parse(text), response, path);
    if (path === "/v1/images/generations") return this.draw(JSON.parse(text), response);

    this.asked.push(JSON.parse(text));
    this.headers.push(request.headers);
    response.on("close", () => (this.abandoned += response.writableFinished ? 0 : 1));
    await this.reply(response, this.asked.at(-1), this.asked.length);
  }
}

function pass(url, request, response) {
  const headers = { ...request.headers, host: new URL(url).host };
  const inner = http.request(url, { method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  request.pipe(inner);
}

export const error = (message, code) => ({ error: { message, type: "invalid_request_error", param: null, code } });

export function json(response, status, body, headers = {}) {
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
}

/**
 * Streams thoughts, pieces of text and pieces of calls, `pause` milliseconds apart; with `isOpen` the answer is never
 * finished. `last` is what the last chunk has besides, `each(count)` what the chunk of each piece has.
 */
export async function stream(response, pieces, {
  pause = 0, isOpen = false, finish = "stop", promptTokens = 10, thoughts = [], calls = [], progress = [], last = {}, each = () => ({}),
} = {}) {
  const send = (chunk) => response.write(`data: ${JSON.stringify({ object: "chat.completion.chunk", ...chunk })}\n\n`);
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.write(": ping\r\n\r\n");
  send({ choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }], usage: null });
  for (const prompt_progress of progress) {
    send({ choices: [{ index: 0, delta: {}, finish_reason: null }], prompt_progress });
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  const deltas = [...thoughts.map((thought) => ({ reasoning_content: thought })), ...pieces.map((content) => ({ content })),
    ...calls.map((call) => ({ tool_calls: [call] }))];
  for (const [index, delta] of deltas.entries()) {
    send({ choices: [{ index: 0, delta, finish_reason: null }], usage: null, ...each(index + 1) });
    if (pause) await new Promise((resolve) => setTimeout(resolve, pause));
    if (response.destroyed) return;
  }
  if (isOpen) return;
  send({ choices: [{ index: 0, delta: {}, finish_reason: finish }], usage: null, ...last });
  const usage = { prompt_tokens: promptTokens, completion_tokens: pieces.length, total_tokens: promptTokens + pieces.length };
  send({ choices: [], usage });
  response.end("data: [DONE]\n\n");
}
