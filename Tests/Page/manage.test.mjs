// Managing the server's models: loading, unloading, downloading, deleting.

import assert from "node:assert/strict";
import { test } from "node:test";
import { api, browser, others, page, usePage } from "./fixture.mjs";
import { json } from "./server.mjs";

const local = (id, state, size) => ({ id, object: "model", owned_by: "local", state, capabilities: ["completion"], meta: { n_params: 2e9, size } });
const rows = () => page.evaluate(() => [...document.querySelectorAll("#model-list li")].map((row) => row.querySelector("p").textContent));
const has = (text) => page.has("#model-list", text);

async function open() {
  api.properties = { default_generation_settings: { n_ctx: 4096 }, memory_available: 5e9 };
  api.models = [local("tiny", "loaded", 98_000_000), local("large", "unloaded", 9e9), local("other", "unloaded", 1e9)];
  await usePage(await browser.open(api.url));
  await page.click("Models");
  await page.has("#free-memory", "5.0 GB of memory free.");
}

test("models are listed with what they need, and loaded and unloaded", async () => {
  await open();
  assert.deepEqual(await rows(), ["2 billion parameters · 98 MB · in memory", "2 billion parameters · 9.0 GB · larger than the free memory",
    "2 billion parameters · 1.0 GB · fits into the free memory"]);
  await page.photograph("models");
  const asked = [];
  api.load = (body, response, path) => {
    asked.push([path, body.model]);
    api.models = [local("tiny", path === "/models/load" ? "loaded" : "unloaded", 98_000_000)];
    json(response, 200, { success: true });
  };
  await page.click("Unload tiny");
  await has("98 MB · fits into the free memory");
  await page.click("Load tiny");
  await has("98 MB · in memory");
  assert.deepEqual(asked, [["/models/unload", "tiny"], ["/models/load", "tiny"]]);
  api.load = (body, response) => json(response, 409, { error: { message: "The model `tiny` is answering; try again later." } });
  await page.click("Unload tiny");
  await page.has("#models-state", "is answering; try again later.");
});

test("a model is deleted only after a question", async () => {
  await open();
  const removed = [];
  api.remove = (body, response) => {
    removed.push(body.model);
    api.models = api.models.filter(({ id }) => id !== body.model);
    response.writeHead(200).end();
  };
  await page.click("Delete other");
  await page.click("Keep");
  await page.click("Delete other");
  assert.deepEqual(removed, []);
  await page.click("Delete the file");
  await page.has("#models-state", "Deleted other.");
  assert.deepEqual(removed, ["other"]);
  assert.equal((await rows()).length, 2);
  api.remove = (body, response) => json(response, 400, { error: "'large' is not in the server's folder of models" });
  await page.click("Delete large");
  await page.click("Delete the file");
  await page.has("#models-state", "'large' is not in the server's folder of models");
});

test("a model is downloaded, with progress, stopped, and refused", async () => {
  await open();
  const write = (response, state) => response.write(`${JSON.stringify(state)}\n`);
  let pulled, pull;
  api.pull = (body, response) => {
    [pulled, pull] = [body, response];
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    write(response, { status: "pulling manifest" });
    write(response, { status: "pulling a.gguf", digest: "sha256:0", total: 2e9, completed: 5e8 });
  };
  const enter = async (name) => {
    await page.evaluate(() => document.querySelector("#pull-name").focus());
    await page.type(name);
    await page.press("Enter");
  };
  await enter("https://huggingface.co/someone/Some-GGUF:Q4_K_M");
  await page.has("#models-state", "pulling a.gguf: 500 MB of 2.0 GB");
  assert.equal(await page.evaluate(() => document.querySelector("#pull-progress").value), 0.25);
  assert.deepEqual(pulled, { model: "hf.co/someone/Some-GGUF:Q4_K_M" });
  await page.photograph("pull");
  // It goes on while the dialog is closed.
  await page.press("Escape");
  api.models.push(local("a", "unloaded", 2e9));
  write(pull, { status: "success" });
  pull.end();
  await page.until(() => [...document.querySelectorAll("#model option")].some(({ value }) => value === "a"));
  await page.click("Models");
  await has("a");
  await enter("someone/Other");
  await page.has("#models-state", "500 MB");
  await page.click("Stop");
  await page.has("#models-state", "The download was stopped. The next one resumes it.");
  api.pull = (body, response) => {
    response.writeHead(200);
    response.end(`${JSON.stringify({ error: "No such repository." })}\n`);
  };
  await page.press("Enter");
  await page.evaluate(() => document.querySelector("#start-pull").click());
  await page.has("#models-state", "No such repository.");
  api.pull = (body, response) => json(response, 501, { error: "This server has no folder of models." });
  await page.evaluate(() => document.querySelector("#start-pull").click());
  await page.has("#models-state", "This server has no folder of models.");
});

test("known models that fit the free memory are proposed, and downloaded by their names", async () => {
  await open();
  const proposed = await page.evaluate(() => [...document.querySelectorAll("#fitting button")].map(({ textContent }) => textContent));
  assert.deepEqual(proposed.map((text) => text.split(",")[0]), ["smollm2:135m", "smollm2:1.7b", "qwen3:4b"]);
  let pulled;
  api.pull = (body, response) => {
    pulled = body;
    response.writeHead(200).end(`${JSON.stringify({ status: "success" })}\n`);
  };
  await page.click(proposed[0]);
  await page.evaluate(() => document.querySelector("#start-pull").click());
  await page.has("#models-state", "Downloaded smollm2:135m.");
  assert.deepEqual(pulled, { model: "smollm2:135m" });
});

test("only who may manage the server sees it", async () => {
  const isOffered = () => page.evaluate(() => document.querySelector("#open-models").checkVisibility());
  await open();
  assert.equal(await isOffered(), true);
  // Someone at another machine: with a key only.
  const elsewhere = api.url.replace("127.0.0.1", "shim.test");
  others.push(elsewhere);
  await usePage(await browser.open(elsewhere));
  await page.until(() => document.querySelector("#figures").textContent);
  assert.equal(await isOffered(), false);
  await page.evaluate(() => localStorage.setItem("localllm.key", "secret"));
  await page.reload();
  await page.until(() => document.querySelector("#open-models").checkVisibility());
  // Someone to whom the server does not show its properties.
  api.properties = null;
  await usePage(await browser.open(api.url));
  await page.until(() => document.querySelector("#model").value);
  assert.equal(await isOffered(), false);
});
