// Nothing that was written is lost: other versions of messages are branches beside them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { api, contents, isDone, page, say, stored, tool } from "./fixture.mjs";
import { error, json, stream } from "./server.mjs";

const numbered = (response, _, number) => stream(response, [`answer ${number}`]);
const versions = () => page.evaluate(() =>
  [...document.querySelectorAll("#messages > li")].map((item) => item.querySelector(".version")?.textContent ?? ""));

/** Clicks an arrow of a message. */
const arrow = (index, name) => page.evaluate((index, name) => {
  document.querySelectorAll("#messages > li")[index].querySelector(`.tools button[aria-label="${name}"]`).click();
}, index, name);

async function editTo(index, text) {
  await tool(index, "Edit");
  await page.evaluate(() => document.activeElement.select());
  await page.type(text);
}

test("regenerating keeps the answers before, with arrows between them", async () => {
  api.reply = numbered;
  await say("One");
  await isDone();
  await tool(1, "Regenerate");
  await isDone();
  assert.deepEqual(await contents(), ["One", "answer 2"]);
  assert.deepEqual(api.asked[1].messages, [{ role: "user", content: "One" }]);
  assert.deepEqual(await versions(), ["", "2/2"]);
  await arrow(1, "Previous version");
  assert.deepEqual(await contents(), ["One", "answer 1"]);
  assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), "Next version", "the other arrow has the focus");
  await say("Two");
  await isDone();
  assert.deepEqual(api.asked[2].messages.map(({ content }) => content), ["One", "answer 1", "Two"]);
  await arrow(1, "Next version");
  assert.deepEqual(await contents(), ["One", "answer 2"]);
  await arrow(1, "Previous version");
  await page.reload();
  assert.deepEqual(await contents(), ["One", "answer 1", "Two", "answer 3"]);
  await page.photograph("branches");
});

test("an answer in the middle is regenerated, and what followed it stays", async () => {
  api.reply = numbered;
  await say("One");
  await isDone();
  await say("Two");
  await isDone();
  await tool(1, "Regenerate");
  await isDone();
  assert.deepEqual(await contents(), ["One", "answer 3"]);
  await arrow(1, "Previous version");
  assert.deepEqual(await contents(), ["One", "answer 1", "Two", "answer 2"]);
});

test("an older error is tried again without losing what came after it", async () => {
  api.reply = (response) => json(response, 400, error("Not now.", "nope"));
  await say("One");
  await page.has(".error", "Not now.");
  api.reply = numbered;
  await say("Two");
  await isDone();
  assert.deepEqual(await contents(), ["One", "", "Two", "answer 2"]);
  await page.click("Try again");
  await isDone();
  assert.deepEqual(await contents(), ["One", "answer 3"]);
  assert.deepEqual(api.asked[2].messages, [{ role: "user", content: "One" }]);
  await arrow(1, "Previous version");
  assert.deepEqual(await contents(), ["One", "", "Two", "answer 2"]);
});

test("an edited question begins a branch", async () => {
  api.reply = numbered;
  await say("One");
  await isDone();
  await say("Two");
  await isDone();
  await editTo(0, "Other");
  await page.press("Enter");
  await isDone();
  assert.deepEqual(await contents(), ["Other", "answer 3"]);
  assert.deepEqual(await versions(), ["2/2", ""]);
  await arrow(0, "Previous version");
  assert.deepEqual(await contents(), ["One", "answer 1", "Two", "answer 2"]);
  await page.reload();
  assert.deepEqual(await contents(), ["One", "answer 1", "Two", "answer 2"]);
});

test("an edited answer is what the model is told it said", async () => {
  api.reply = numbered;
  await say("One");
  await isDone();
  await editTo(1, "I say\nthis");
  await page.click("Save");
  assert.deepEqual(await contents(), ["One", "I say\nthis"]);
  await page.has("#messages", "Edited.");
  await say("Two");
  await isDone();
  assert.deepEqual(api.asked[1].messages.map(({ content }) => content), ["One", "I say\nthis", "Two"]);
  await arrow(1, "Previous version");
  assert.deepEqual(await contents(), ["One", "answer 1"]);
  await editTo(1, "nothing");
  await page.press("Escape");
  assert.deepEqual(await contents(), ["One", "answer 1"]);
});

const hasTool = (index, name) => page.evaluate((index, name) =>
  [...document.querySelectorAll("#messages > li")[index].querySelectorAll(".tools button")].some((each) => each.textContent === name), index, name);

test("the number of a version stands between its arrows", async () => {
  api.reply = numbered;
  await say("One");
  await isDone();
  await tool(1, "Regenerate");
  await isDone();
  const [left, number, right] = await page.evaluate(() => [...document.querySelectorAll("#messages .assistant .tools > *")].slice(0, 3)
    .map((each) => each.getBoundingClientRect()).map(({ left, right }) => ({ left, right })));
  assert.ok(number.left - left.right < 8 && right.left - number.right < 8, JSON.stringify([left, number, right]));
});

test("an answer is continued where it was cut", async () => {
  api.reply = (response) => stream(response, ["Once", " upon"], { finish: "length" });
  await say("Tell");
  await isDone();
  await page.has("#messages", "Stopped at the maximum length.");
  api.reply = (response) => stream(response, [" a", " time."], { finish: "length" });
  await tool(1, "Continue");
  await isDone();
  assert.deepEqual(await contents(), ["Tell", "Once upon a time."]);
  const { messages, continue_final_message } = api.asked[1];
  assert.deepEqual(messages, [{ role: "user", content: "Tell" }, { role: "assistant", content: "Once upon" }]);
  assert.equal(continue_final_message, true);
  await page.has("#messages .assistant .tools", "4 tokens");
  api.reply = (response) => json(response, 400, error("This template cannot continue.", "bad"));
  await tool(1, "Continue");
  await page.has(".error", "cannot continue");
  assert.deepEqual(await contents(), ["Tell", "Once upon a time."]);
  assert.equal(await hasTool(1, "Continue"), true, "what an error broke off can go on");
  api.reply = (response) => stream(response, [" The end."]);
  await tool(1, "Continue");
  await isDone();
  assert.equal(await hasTool(1, "Continue"), false, "what is complete does not go on");
  await page.reload();
  assert.equal(await hasTool(1, "Continue"), false);
});

test("a deleted version makes room for the one beside it", async () => {
  api.reply = numbered;
  await say("One");
  await isDone();
  await tool(1, "Regenerate");
  await isDone();
  await tool(1, "Delete");
  assert.deepEqual(await contents(), ["One", "answer 1"]);
  await page.click("Undo");
  assert.deepEqual(await contents(), ["One", "answer 2"]);
  assert.equal((await stored())[0].messages.length, 3);
});

test("what was written since a message was deleted stays when it comes back", async () => {
  api.reply = numbered;
  await say("One");
  await isDone();
  await tool(1, "Delete");
  await say("Two");
  await isDone();
  await page.click("Undo");
  assert.deepEqual(await contents(), ["One", "answer 1"]);
  await arrow(1, "Next version");
  assert.deepEqual(await contents(), ["One", "Two", "answer 2"]);
});

test("a tree of messages is followed, and one that is none is refused", async () => {
  const found = await page.evaluate(async () => {
    const { add, choose, connect, removeMessage, shownMessages } = await import("/page/branches.js");
    const shown = (conversation) => shownMessages(conversation).map(({ content }) => content).join(" ");
    const results = {};
    // As it was stored before there were branches.
    const old = { messages: [{ content: "a" }, { content: "b" }] };
    results.old = [connect(old), shown(old)];
    const tree = { messages: [], leaf: null };
    const a = add(tree, { content: "a" });
    const b = add(tree, { content: "b" });
    add(tree, { content: "c" });
    add(tree, { content: "d" }, a.id);
    add(tree, { content: "e" });
    results.latest = shown(tree);
    choose(tree, b);
    results.chosen = shown(tree);
    removeMessage(tree, b);
    results.removed = [shown(tree), tree.messages.length, connect(tree)];
    const bad = (messages) => connect({ messages, leaf: 1 });
    results.bad = [bad([{ id: 1, parent: 2 }, { id: 2, parent: 1 }]), bad([{ id: 1, parent: null }, { id: 1, parent: null }]),
      bad([{ id: "1", parent: null }]), bad([{ id: 1, parent: null }, {}])];
    const lost = { messages: [{ id: 1, parent: null, content: "a" }], leaf: 7 };
    results.lost = [connect(lost), shown(lost)];
    return results;
  });
  assert.deepEqual(found, {
    old: [true, "a b"], latest: "a d e", chosen: "a b c", removed: ["a c", 4, true], bad: [false, false, false, false],
    lost: [true, "a"],
  });
});
