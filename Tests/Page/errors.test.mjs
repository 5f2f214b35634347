// What goes wrong: errors, full storage, two tabs, leaving in the middle.

import assert from "node:assert/strict";
import { test } from "node:test";
import { api, browser, contents, isDone, page, say, usePage } from "./fixture.mjs";
import { error, json, stream } from "./server.mjs";

test("closing the page in mid-answer loses nothing", async () => {
  api.reply = (response) => stream(response, ["half ", "an answer"], { isOpen: true });
  await say("Begin");
  await page.has(".live .body", "half an answer");
  await page.reload();
  assert.deepEqual(await contents(), ["Begin", "half an answer"]);
  await page.has("#messages", "The page was closed before this answer");
});

test("a server that wants a key is given one, from then on", async () => {
  const hasKey = (headers) => headers.authorization === "Bearer secret";
  api.modelStatus = ({ headers }) => (hasKey(headers) ? 200 : 401);
  api.reply = (response, _, number) =>
    hasKey(api.headers[number - 1]) ? stream(response, ["let in"]) : json(response, 401, error("No key.", "invalid_api_key"));
  await page.reload();
  await page.has("#key-reason", "No key.");
  await page.type("secret");
  await page.press("Enter");
  await page.until(() => document.querySelector("#model option"));
  await say("Hi");
  await isDone();
  assert.equal((await contents())[1], "let in");
  await page.reload();
  await say("Again");
  await isDone();
  assert.equal(api.headers[1].authorization, "Bearer secret");
});

test("a busy or loading server is asked again", async () => {
  const later = { "Retry-After": "1" };
  api.reply = (response, _, number) => {
    if (number === 1) json(response, 503, error("The model is still loading.", "model_loading"), later);
    else if (number === 2) json(response, 429, error("The queue is full.", "rate_limit"), later);
    else stream(response, ["at last"]);
  };
  await say("Hi");
  await page.has(".live", "The model is still loading.");
  await isDone();
  assert.equal((await contents())[1], "at last");
});

test("errors say what is wrong, and can be tried again", async () => {
  api.reply = (response) => json(response, 400, error("This model's maximum context length is 10 tokens.", "context_length_exceeded"));
  await say("Hi");
  await page.has(".error", "maximum context length is 10 tokens. Delete earlier messages");
  await page.photograph("error");
  let broken;
  api.reply = (response) => stream((broken = response), ["half"], { isOpen: true });
  await page.click("Try again");
  await page.has(".live .body", "half");
  broken.destroy();
  await page.has(".error", "connection was lost");
  assert.equal((await contents())[1], "half");
  api.reply = (response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.end(`data: ${JSON.stringify(error("The engine failed.", "server_error"))}\n\n`);
  };
  await page.click("Try again");
  await page.has(".error", "The engine failed.");
  api.reply = (response) => response.writeHead(502).end("<h1>Bad gateway</h1>");
  await page.click("Try again");
  await page.has(".error", "502");
  api.reply = (response) => stream(response, ["fine"]);
  await page.click("Try again");
  await isDone();
  assert.deepEqual(await contents(), ["Hi", "fine"]);
});

test("server-sent events, however they are cut", async () => {
  const text = "\uFEFFdata: a\r\n\r\ndata:b\rdata: ü€\r\r: comment\nid: 7\ndata\n\ndata:  c\n\ndata: unfinished";
  const found = await page.evaluate(async (text) => {
    const { events } = await import("/page/api.js");
    const bytes = new TextEncoder().encode(text);
    const results = new Set();
    for (const size of [1, 2, 3, 1000]) {
      const stream = new ReadableStream({
        start(controller) {
          for (let i = 0; i < bytes.length; i += size) controller.enqueue(bytes.slice(i, i + size));
          controller.close();
        },
      });
      results.add(JSON.stringify(await Array.fromAsync(events(stream))));
    }
    return [...results];
  }, text);
  assert.deepEqual(found, [JSON.stringify(["a", "b\nü€", "", " c"])]);
});

test("full storage is said, and what was stored stays", async () => {
  await say("One");
  await isDone();
  await page.evaluate(() => {
    for (let size = 4 << 20; size > 16; size /= 2) {
      for (let i = 0; ; i += 1) {
        try {
          localStorage.setItem(`filler${size}.${i}`, "x".repeat(size));
        } catch {
          break;
        }
      }
    }
  });
  await say("Two");
  await isDone();
  await page.has("#notice", "storage for the page is full");
  assert.equal((await contents()).length, 4);
  await page.reload();
  assert.deepEqual(await contents(), ["One", "Hello, world."]);
});

test("two tabs do not overwrite each other", async () => {
  const context = await browser.newContext();
  await usePage(await browser.open(api.url, context));
  await say("One");
  await isDone();
  const other = await browser.open(api.url, context);
  await other.has("#messages", "Hello, world.");
  await page.send("Page.bringToFront"); // a hidden page draws no frames
  // Both write at once: this tab's answer is not finished when the other one's is stored.
  let finish;
  api.reply = async (response, { messages }) => {
    const isHere = messages.at(-1).content === "Here";
    await stream(response, ["text"], { isOpen: isHere });
    finish = () => response.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
  };
  await say("Here");
  await page.has(".live .body", "text");
  const finishHere = finish;
  await other.evaluate(() => {
    document.querySelector("#input").value = "There";
    document.querySelector("#send").click();
  });
  await other.until(() => document.querySelectorAll("#messages > li:not(.live)").length >= 4);
  finishHere();
  await isDone();
  await page.reload();
  const all = await page.evaluate(() =>
    Object.keys(localStorage).filter((key) => key.includes("conversation.")).map((key) => localStorage[key]).join());
  assert.ok(all.includes("Here") && all.includes("There"));
  await other.close();
});
