// Conversations: what is sent, shown and kept.

import assert from "node:assert/strict";
import { test } from "node:test";
import { api, contents, isDone, page, saveDialog, say, titles, tool, until } from "./fixture.mjs";
import { stream } from "./server.mjs";

test("a message is answered, and both are there after a reload", async () => {
  assert.equal(await page.evaluate(() => document.activeElement.id), "input");
  await say("Hi there");
  await isDone();
  assert.deepEqual(await contents(), ["Hi there", "Hello, world."]);
  assert.deepEqual(api.asked, [{
    model: "tiny", messages: [{ role: "user", content: "Hi there" }], timings_per_token: true, return_progress: true,
    stream: true, stream_options: { include_usage: true },
  }]);
  await page.has("#figures", "13 of 4,096 tokens of context used");
  await page.has("#announcer", "Hello, world.");
  await page.reload();
  assert.deepEqual(await contents(), ["Hi there", "Hello, world."]);
  assert.deepEqual(await titles(), ["Hi there"]);
});

test("history, system prompt and sampling settings are sent", async () => {
  await page.click("Settings");
  await page.evaluate(() => {
    const { elements } = document.querySelector("#settings form");
    Object.entries({ system: "Be brief.", temperature: "0.5", seed: "7", max_completion_tokens: "100" })
      .forEach(([name, value]) => (elements[name].value = value));
  });
  await page.photograph("settings");
  await saveDialog();
  await say("One");
  await isDone();
  await say("Two");
  await isDone();
  const { messages, temperature, seed, max_completion_tokens, ...rest } = api.asked[1];
  assert.deepEqual(messages.map(({ role, content }) => [role, content]), [
    ["system", "Be brief."], ["user", "One"], ["assistant", "Hello, world."], ["user", "Two"],
  ]);
  assert.deepEqual({ temperature, seed, max_completion_tokens }, { temperature: 0.5, seed: 7, max_completion_tokens: 100 });
  assert.deepEqual(Object.keys(rest), ["model", "timings_per_token", "return_progress", "stream", "stream_options"]);
  await page.click("New conversation");
  await say("Three");
  await isDone();
  assert.deepEqual(api.asked[2].messages, [{ role: "user", content: "Three" }]);
  assert.equal(api.asked[2].temperature, undefined);
});

test("a setting out of its range is not taken", async () => {
  await page.click("Settings");
  await page.evaluate(() => (document.querySelector("[name=temperature]").value = "3"));
  await page.click("Save");
  assert.equal(await page.evaluate(() => document.querySelector("#settings").open), true);
  await page.press("Escape");
  await page.until(() => !document.querySelector("#settings").open);
});

test("an answer is shown while it comes, and Escape stops it", async () => {
  api.reply = (response) => stream(response, Array(200).fill("word "), { pause: 20 });
  await say("Go on");
  await page.has(".live .body", "word word word");
  await page.until(() => /\d+ tokens, [\d.]+ tokens\/s/.test(document.querySelector("#figures").textContent));
  await page.photograph("streaming");
  await page.press("Escape");
  await isDone();
  await page.has("#messages", "Stopped.");
  const text = (await contents())[1];
  assert.ok(text.startsWith("word word") && text.length < 1000, text);
  await until(() => api.abandoned > 0);
  assert.equal(api.abandoned, 1, "the server sees that nobody listens");
});

test("an answer goes on while another conversation is shown", async () => {
  let finish;
  api.reply = async (response, { messages }) => {
    if (messages[0].content !== "Slow") return stream(response, ["quick"]);
    await stream(response, ["first "], { isOpen: true });
    finish = () => {
      response.write('data: {"choices":[{"index":0,"delta":{"content":"last"},"finish_reason":"stop"}]}\n\n');
      response.end("data: [DONE]\n\n");
    };
  };
  await say("Slow");
  await page.has(".live .body", "first");
  await page.click("New conversation");
  await say("Quick");
  await isDone();
  assert.deepEqual(await contents(), ["Quick", "quick"]);
  finish();
  await page.click("Slow");
  await page.has("#messages", "first last");
  await isDone();
});

test("a deleted message comes back", async () => {
  api.reply = (response, _, number) => stream(response, [`answer ${number}`]);
  await say("One");
  await isDone();
  await say("Two");
  await isDone();
  await tool(1, "Delete");
  assert.deepEqual(await contents(), ["One", "Two", "answer 2"]);
  await page.click("Undo");
  await page.reload();
  assert.deepEqual(await contents(), ["One", "answer 1", "Two", "answer 2"]);
});

test("conversations are renamed, deleted, brought back", async () => {
  await say("One");
  await isDone();
  await page.click("Rename “One”");
  await page.evaluate(() => document.activeElement.select());
  await page.type("First");
  await page.press("Enter");
  assert.deepEqual(await titles(), ["First"]);
  await page.click("New conversation");
  await say("Second");
  await isDone();
  assert.deepEqual(await titles(), ["Second", "First"]);
  await page.click("Delete “First”");
  assert.deepEqual(await titles(), ["Second"]);
  await page.click("Undo");
  await page.reload();
  assert.deepEqual((await titles()).sort(), ["First", "Second"]);
});
