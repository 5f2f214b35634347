// Tools that the page runs itself, each call after a question: functions with an address, and MCP servers.

import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";
import { api, contents, isDone, others, page, saveDialog, say } from "./fixture.mjs";
import { json, stream } from "./server.mjs";

/** A server on another port, which lets pages call it. `answer(body, request, response)` */
async function serve(t, answer) {
  const server = http.createServer(async (request, response) => {
    for (const name of ["Origin", "Headers"]) response.setHeader(`Access-Control-Allow-${name}`, "*");
    response.setHeader("Access-Control-Expose-Headers", "Mcp-Session-Id");
    if (request.method === "OPTIONS") return response.writeHead(204).end();
    let text = "";
    for await (const part of request.setEncoding("utf8")) text += part;
    answer(JSON.parse(text), request, response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${server.address().port}`;
  others.push(url);
  return url;
}

const calls = (name, text) => [{ index: 0, id: "call_1", type: "function", function: { name, arguments: text } }];

const setTools = (text) => page.evaluate((text) => {
  const field = document.querySelector("#tools");
  field.value = text;
  field.dispatchEvent(new Event("input"));
}, text);

test("a function runs at its address, and only when it is told to", async (t) => {
  const got = [];
  const url = await serve(t, (body, request, response) => {
    got.push([request.url, body, request.headers.authorization]);
    json(response, 200, { sky: "rain" });
  });
  const tool = { type: "function", function: { name: "weather", parameters: { type: "object" } } };
  await page.click("Settings");
  await setTools(JSON.stringify([{ ...tool, url: "javascript:alert(1)" }]));
  await page.click("Save");
  assert.equal(await page.evaluate(() => document.querySelector("#settings").open), true, "only http and https");
  await setTools(JSON.stringify([{ ...tool, url: `${url}/weather` }]));
  await saveDialog();
  await page.evaluate(() => localStorage.setItem("localllm.key", "secret"));
  api.reply = (response) => stream(response, [], { calls: calls("weather", '{"city":"Paris"}'), finish: "tool_calls" });
  await say("How is Paris?");
  await isDone();
  assert.deepEqual(api.asked[0].tools, [tool], "the model is not told the address");
  await page.has(".offer", `Send this to ${url}/weather?`);
  await page.has(".offer pre", '"city": "Paris"');
  assert.deepEqual(got, [], "nothing is sent before the user agrees");
  await page.photograph("tool-offer");
  api.reply = (response) => stream(response, ["It rains."]);
  await page.click("Run weather");
  await page.has("#messages", "It rains.");
  assert.deepEqual(got, [["/weather", { city: "Paris" }, undefined]], "without the server's key");
  assert.deepEqual(api.asked[1].messages.at(-1), { role: "tool", tool_call_id: "call_1", content: '{"sky":"rain"}' });
});

test("a tool that fails is said, and the user can give the result instead", async (t) => {
  const url = await serve(t, (body, request, response) => response.writeHead(500).end("Out of order"));
  await page.click("Settings");
  await setTools(JSON.stringify([{ type: "function", function: { name: "weather" }, url }]));
  await saveDialog();
  api.reply = (response) => stream(response, [], { calls: calls("weather", "{}"), finish: "tool_calls" });
  await say("How is Paris?");
  await isDone();
  await page.click("Run weather");
  await page.has(".offer", "answered 500: Out of order");
  api.reply = (response) => stream(response, ["Fine."]);
  await page.evaluate(() => (document.querySelector('[aria-label="Result of weather"]').value = "sun"));
  await page.click("Send results");
  await isDone();
  assert.equal(api.asked[1].messages.at(-1).content, "sun");
});

test("the tools of an MCP server are listed, chosen, and called", async (t) => {
  const got = [];
  const url = await serve(t, ({ id, method, params }, request, response) => {
    got.push([method, request.headers["mcp-session-id"], request.headers["mcp-protocol-version"]]);
    if (method === "notifications/initialized") return response.writeHead(202).end();
    const results = {
      initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "test", version: "1" } },
      "tools/list": { tools: ["add", "remove"].map((name) => ({ name, description: `Can ${name}`, inputSchema: { type: "object" } })) },
      "tools/call": { content: [{ type: "text", text: `Called ${params?.name} with ${JSON.stringify(params?.arguments)}` }] },
    };
    const message = { jsonrpc: "2.0", id, result: results[method] };
    if (method === "initialize") response.setHeader("Mcp-Session-Id", "s1");
    if (method !== "tools/call") return json(response, 200, message);
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: {} })}\n\n`);
    response.write(`data: ${JSON.stringify(message)}\n\n`); // and the stream stays open
  });
  await page.click("Settings");
  await page.evaluate((url) => {
    document.querySelector("#tools").closest("details").open = true;
    document.querySelector("#mcp").value = `${url}/mcp`;
  }, url);
  await page.click("List its tools");
  await page.has("#mcp-tools", "Can add");
  assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll("#mcp-tools input")].map(({ checked }) => checked)), [false, false]);
  await page.photograph("mcp");
  await page.evaluate(() => document.querySelector("#mcp-tools input").click());
  await saveDialog();
  api.reply = (response) => stream(response, [], { calls: calls("add", '{"a":1}'), finish: "tool_calls" });
  await say("Add");
  await isDone();
  assert.deepEqual(api.asked[0].tools, [{ type: "function", function: { name: "add", description: "Can add", parameters: { type: "object" } } }]);
  const before = got.length;
  api.reply = (response) => stream(response, ["Done."]);
  await page.click("Run add");
  await page.has("#messages", "Done.");
  assert.equal(api.asked[1].messages.at(-1).content, 'Called add with {"a":1}');
  assert.deepEqual(got.slice(before), [["initialize", undefined, undefined], ["notifications/initialized", "s1", "2025-06-18"],
    ["tools/call", "s1", "2025-06-18"]]);
  assert.equal((await contents()).at(-1), "Done.");
});

test("an address that nobody answers is said", async () => {
  others.push("http://127.0.0.1:1/");
  await page.click("Settings");
  await page.evaluate(() => (document.querySelector("#mcp").value = "http://127.0.0.1:1/"));
  await page.evaluate(() => document.querySelector("#list-tools").click());
  await page.has("#mcp-state", "cannot be reached");
});

test("the page itself may reach nobody but its server", async () => {
  const result = await page.evaluate(() => fetch("http://127.0.0.1:1/").then(() => "reached", (error) => error.message));
  assert.notEqual(result, "reached");
  assert.ok(page.complaints.splice(0).some((text) => text.includes("Content Security Policy")));
});

test("a frame that does not load is said, and tried again", async () => {
  await page.send("Network.setBlockedURLs", { urls: ["*/page/toolframe.js"] });
  await page.click("Settings");
  await page.evaluate(() => (document.querySelector("#mcp").value = "http://127.0.0.1:1/"));
  await page.evaluate(() => document.querySelector("#list-tools").click());
  await page.has("#mcp-state", "A part of this page did not load.");
  await page.send("Network.setBlockedURLs", { urls: [] });
  others.push("http://127.0.0.1:1/");
  await page.evaluate(() => document.querySelector("#list-tools").click());
  await page.has("#mcp-state", "cannot be reached");
});
