// What stays: drafts, defaults, files; and finding it again.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { api, browser, contents, isDone, page, saveDialog, say, stored, titles, tool, until, usePage } from "./fixture.mjs";
import { stream } from "./server.mjs";

const inputText = () => page.evaluate(() => document.querySelector("#input").value);

test("drafts stay with their conversations", async () => {
  await page.type("Half a thought");
  await page.reload();
  assert.equal(await inputText(), "Half a thought");
  await page.press("Enter");
  await isDone();
  assert.equal(await inputText(), "");
  await page.type("To this one");
  await page.click("New conversation");
  assert.equal(await inputText(), "");
  await page.type("To the new one");
  await page.click("Half a thought");
  assert.equal(await inputText(), "To this one");
  await page.reload();
  assert.equal(await inputText(), "To this one");
  await page.press("Alt KeyN");
  assert.equal(await inputText(), "To the new one");
});

test("a default system prompt is kept for new conversations", async () => {
  await say("Before");
  await isDone();
  await page.click("Settings");
  await page.evaluate(() => {
    document.querySelector("#system").value = "Answer in verse.";
    document.querySelector("#settings-default").click();
  });
  await saveDialog();
  await page.click("New conversation");
  await page.reload();
  await say("After");
  await isDone();
  assert.deepEqual(api.asked[1].messages.map(({ role, content }) => [role, content]), [["system", "Answer in verse."], ["user", "After"]]);
  await page.click("New conversation");
  assert.equal((await stored()).length, 2, "an empty conversation with the defaults is not stored");
});

test("searching finds messages of all branches, and shows them where they are", async () => {
  api.reply = (response, { messages }) => stream(response, [`You said ${messages.at(-1).content}`]);
  await say("Apples\nare round");
  await isDone();
  await tool(0, "Edit");
  await page.evaluate(() => document.activeElement.select());
  await page.type("Bananas");
  await page.press("Enter");
  await isDone();
  await page.click("New conversation");
  await say("Cherries");
  await isDone();
  await page.press("Alt KeyF");
  await page.type("aPPles  ".trim());
  assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll("#conversations .title")].map((each) => each.querySelector("mark")?.textContent)), ["Apples"]);
  assert.match(await page.text("#conversations .snippet"), /Apples are round/);
  await page.photograph("search");
  await page.evaluate(() => document.querySelector("#conversations .title").click());
  assert.deepEqual(await contents(), ["Apples\nare round", "You said Apples\nare round"]);
  assert.equal(await page.evaluate(() => document.activeElement.closest("li").className), "user");
  await page.evaluate(() => document.querySelector("#search").select());
  await page.press("Alt KeyF");
  await page.evaluate(() => document.querySelector("#search").select());
  await page.type("no such text");
  assert.deepEqual(await titles(), []);
  assert.equal(await page.text("#nothing-found"), "Nothing found.");
});

test("conversations are saved to files and read again", async () => {
  const folder = mkdtempSync(join(tmpdir(), "page-files-"));
  try {
    await browser.send("Browser.setDownloadBehavior", {
      behavior: "allow", downloadPath: folder, browserContextId: page.context, eventsEnabled: false });
    const download = async (name, label) => {
      await page.click("Export and import");
      await page.photograph("files");
      await page.click(label);
      const file = join(folder, name);
      // Chromium reserves the name with an empty file, over which it moves the finished one.
      await until(() => existsSync(file) && statSync(file).size > 0);
      return { name, text: readFileSync(file, "utf8") };
    };
    const code = "```js\nlet a = 1;\n```\n\n## You\n\n<!-- message user -->\n\\<!-- message x";
    api.reply = (response) => stream(response, [code], { thoughts: ["Hm."] });
    await say("Write: code/it?");
    await isDone();
    await tool(1, "Regenerate");
    await isDone();
    const markdown = await download("Write codeit.md", "Save this conversation as Markdown");
    assert.match(markdown.text, /^# Write: code\/it\?\n\n<!-- message user [\dT:.Z-]+ -->\n\n## You\n\nWrite: code\/it\?\n/);
    const one = await download("Write codeit.json", "Save this conversation as JSON");
    assert.equal(JSON.parse(one.text).conversations[0].messages.length, 3);
    await page.click("New conversation");
    await say("Second");
    await isDone();
    const all = await download("conversations.json", "Save all conversations as JSON");
    assert.equal(JSON.parse(all.text).conversations.length, 2);
    const before = await stored();

    const give = ({ name, text }) => page.evaluate((name, text) => {
      const files = new DataTransfer();
      files.items.add(new File([text], name));
      document.querySelector("#import-file").files = files.files;
      return document.querySelector("#import-file").onchange();
    }, name, text);
    await give(all);
    await page.has("#notice", "Imported 0 conversations. 2 were already here.");
    assert.deepEqual(await stored(), before);

    await usePage(await browser.open(api.url));
    await give(all);
    await page.has("#notice", "Imported 2 conversations.");
    assert.deepEqual((await titles()).sort(), ["New conversation", "Second", "Write: code/it?"]);
    assert.deepEqual((await stored()).map(({ messages, leaf }) => [messages, leaf]), before.map(({ messages, leaf }) => [messages, leaf]));

    await usePage(await browser.open(api.url));
    await give(markdown);
    const [{ title, messages }] = await stored();
    assert.equal(title, "Write: code/it?");
    assert.deepEqual(messages.map(({ role, content, model }) => [role, content, model]),
      [["user", "Write: code/it?", undefined], ["assistant", code, "tiny"]]);

    const history = [{ role: "system", content: "Be brief." }, { role: "user", content: "Hi" }, { role: "assistant", content: "Ho" }];
    await give({ name: "openai.json", text: JSON.stringify({ messages: history }) });
    assert.deepEqual(await contents(), ["Hi", "Ho"]);
    await say("More");
    await isDone();
    assert.deepEqual(api.asked.at(-1).messages.slice(0, 3), history);

    const ours = (conversation) => JSON.stringify({ format: "localllm-conversations", version: 1,
      conversations: [{ id: "a", title: "b", ...conversation }] });
    for (const [text, problem] of [
      ["just text", "bad.json: expected Markdown that this page exported"],
      ["{", "bad.json: expected JSON or Markdown"],
      ["{}", "bad.json: messages: expected a list, found nothing"],
      ['[{"role": "user", "content": 7}]', "bad.json: messages[0].content: expected a string, found 7"],
      ['{"format": "localllm-conversations", "version": 2}', "bad.json: version: expected 1, found 2"],
      [ours({ messages: [{ role: "root" }] }), "bad.json: conversations[0].messages[0].role: expected user or assistant"],
      [ours({ messages: [{ role: "user", content: "", id: 1, parent: 1 }] }), "parents before their children"],
      [ours({ messages: [{ role: "user", content: "", time: 1e300 }] }), "messages[0].time: expected milliseconds"],
      [ours({ messages: [{ role: "user", content: "", calls: [{}] }] }), "calls[0]: expected id, name"],
      [ours({ messages: [], settings: { tools: "{" } }), "settings.tools: expected JSON with a list of tools"],
      [ours({ messages: [], settings: { temperature: "hot" } }), 'settings.temperature: expected a number, found "hot"'],
      [ours({ messages: [], settings: { logit_bias: 1 } }), "settings.logit_bias: expected a setting that this page has"],
    ]) {
      await give({ name: "bad.json", text });
      await page.has("#notice", problem);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
