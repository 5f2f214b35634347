// Images that go with messages.

import assert from "node:assert/strict";
import { test } from "node:test";
import { api, isDone, page, say, stored, tool, until } from "./fixture.mjs";
import { stream } from "./server.mjs";

const seeing = [
  { id: "tiny", object: "model", state: "loaded", capabilities: ["completion", "multimodal"] },
  { id: "other", object: "model", state: "unloaded", capabilities: ["completion"] },
];
// Red, 4 by 4.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEElEQVR4nGP4z8AARwzEcQCukw/x0F8jngAAAABJRU5ErkJggg==";

async function useSeeingModel() {
  api.models = seeing;
  await page.reload();
  await page.until(() => document.querySelector("#model").options.length === 2);
}

/** Gives files to the page as the browser does: `chosen`, `pasted` or `dropped`. */
const give = (how, ...files) => page.evaluate(async (how, files) => {
  const transfer = new DataTransfer();
  for (const { name, type, base64 } of files) {
    transfer.items.add(new File([Uint8Array.from(atob(base64), (each) => each.charCodeAt(0))], name, { type }));
  }
  const options = { bubbles: true, cancelable: true };
  if (how === "chosen") {
    const field = document.querySelector("#file");
    field.files = transfer.files;
    return field.onchange();
  }
  const event = how === "pasted" ? new ClipboardEvent("paste", { ...options, clipboardData: transfer })
    : new DragEvent("drop", { ...options, dataTransfer: transfer });
  document.querySelector("#input").dispatchEvent(event);
  return event.defaultPrevented;
}, how, files);

const image = (name = "red.png", type = "image/png", base64 = png) => ({ name, type, base64 });
const attached = () => page.evaluate(() => [...document.querySelectorAll("#attached img")].map((each) => each.alt));
const waitForAttached = (count) => until(async () => (await attached()).length === count);

test("images are chosen, pasted and dropped, seen, taken out, and sent with the message", async () => {
  await useSeeingModel();
  await give("chosen", image("one.png"), image("two.png"));
  await waitForAttached(2);
  assert.equal(await give("pasted", image("three.png")), true);
  await waitForAttached(3);
  assert.equal(await give("dropped", image("four.png")), true);
  await waitForAttached(4);
  await page.until(() => [...document.querySelectorAll("#attached img")].every((each) => each.naturalWidth === 4));
  await page.photograph("attached");
  await page.evaluate(() => document.querySelector('[aria-label="Remove two.png"]').click());
  assert.deepEqual(await attached(), ["one.png", "three.png", "four.png"]);

  await say("What is this?");
  await isDone();
  assert.deepEqual(await attached(), []);
  const { content } = api.asked[0].messages[0];
  const url = `data:image/png;base64,${png}`;
  assert.deepEqual(content, [...Array(3).fill({ type: "image_url", image_url: { url } }), { type: "text", text: "What is this?" }]);
  await page.until(() => [...document.querySelectorAll("#messages img")].filter((each) => each.naturalWidth === 4).length === 3);
  await page.photograph("attachments");
});

test("images stay with the conversation, its next turns, other versions and drafts", async () => {
  await useSeeingModel();
  await give("chosen", image());
  await waitForAttached(1);
  await page.reload();
  await waitForAttached(1);
  await page.press("Enter");
  await isDone();
  assert.equal((await stored())[0].title, "red.png");
  await page.reload();
  await page.until(() => document.querySelector("#messages img")?.naturalWidth === 4);
  await say("And its colour?");
  await isDone();
  const [first] = api.asked.at(-1).messages;
  assert.deepEqual(first.content, [{ type: "image_url", image_url: { url: `data:image/png;base64,${png}` } }]);
  await tool(0, "Edit");
  await page.type("What?");
  await page.press("Enter");
  await isDone();
  assert.deepEqual(api.asked.at(-1).messages[0].content.map(({ type }) => type), ["image_url", "text"]);
  assert.ok((await stored())[0].messages.every(({ images }) => !images || !("url" in images[0])), "contents are not in localStorage");
});

test("only a model that looks at images is given some", async () => {
  api.models = [seeing[1]];
  await page.reload();
  await page.until(() => document.querySelector("#model").value === "other");
  assert.equal(await give("dropped", image()), true, "the browser would leave the page");
  await page.has("#notice", "other accepts no images.");
  await useSeeingModel();
  await page.evaluate(() => {
    document.querySelector("#model").value = "tiny";
    document.querySelector("#model").onchange();
  });
  await give("chosen", image("text.png", "image/png", Buffer.from("no image").toString("base64")));
  await page.has("#notice", "text.png is not an image that this browser can show.");
  assert.deepEqual(await attached(), []);
});

test("large images and those of other formats become JPEGs", async () => {
  await useSeeingModel();
  const large = await page.evaluate(async () => {
    const canvas = new OffscreenCanvas(5000, 100);
    canvas.getContext("2d").fillRect(0, 0, 10, 10);
    const bytes = new Uint8Array(await (await canvas.convertToBlob({ type: "image/png" })).arrayBuffer());
    return btoa(String.fromCharCode(...bytes));
  });
  const bmp = "Qk06AAAAAAAAADYAAAAoAAAAAQAAAAEAAAABABgAAAAAAAQAAAATCwAAEwsAAAAAAAAAAAAAAAD/AA==";
  const gif = "R0lGODdhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=";
  await give("chosen", image("large.png", "image/png", large), image("a.gif", "image/gif", gif), image("a.bmp", "image/bmp", bmp));
  await waitForAttached(3);
  await page.until(() => [...document.querySelectorAll("#attached img")].every((each) => each.naturalWidth > 0));
  const widths = await page.evaluate(() => [...document.querySelectorAll("#attached img")].map((each) => each.naturalWidth));
  assert.deepEqual(widths, [2048, 1, 1]);
  await page.press("Enter");
  await isDone();
  const types = api.asked[0].messages[0].content.map(({ image_url: { url } }) => /^data:([^;]*);base64,/.exec(url)[1]);
  assert.deepEqual(types, ["image/jpeg", "image/gif", "image/jpeg"]);
});

test("a file of conversations has their images, and gives them back", async () => {
  await useSeeingModel();
  await give("chosen", image());
  await waitForAttached(1);
  api.reply = (response) => stream(response, ["Red."]);
  await say("Which colour?");
  await isDone();
  const text = await page.evaluate(async () => {
    const { withContents } = await import("/page/attachments.js");
    const { toJSON, toMarkdown } = await import("/page/transfer.js");
    const { state } = await import("/page/state.js");
    return [toJSON(await withContents([state.current])), toMarkdown(state.current)];
  });
  assert.ok(text[0].includes(`data:image/png;base64,${png}`) && text[1].includes("*Image: red.png*"));
  await page.evaluate(() => new Promise((resolve, reject) => {
    localStorage.clear();
    const request = indexedDB.open("localllm-pictures", 1);
    request.onsuccess = () => {
      const transaction = request.result.transaction("pictures", "readwrite");
      transaction.objectStore("pictures").clear();
      transaction.oncomplete = resolve;
      transaction.onerror = reject;
    };
  }));
  await page.reload();
  const take = (name, content) => page.evaluate((name, content) => {
    const files = new DataTransfer();
    files.items.add(new File([content], name));
    document.querySelector("#import-file").files = files.files;
    return document.querySelector("#import-file").onchange();
  }, name, content);
  await take("a.json", text[0]);
  await page.until(() => document.querySelector("#messages img")?.naturalWidth === 4);
  await say("Sure?");
  await isDone();
  assert.equal(api.asked.at(-1).messages[0].content[0].image_url.url, `data:image/png;base64,${png}`);
  const messages = [{ role: "user", content: [{ type: "text", text: "Hi" }, { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } }] }];
  await take("openai.json", JSON.stringify(messages));
  await page.until(() => document.querySelector("#messages img")?.naturalWidth === 4);
  messages[0].content[1].image_url.url = "https://example.com/a.png";
  await take("bad.json", JSON.stringify(messages));
  await page.has("#notice", "messages[0].content[1]: expected a text, or a user's image");
});

test("an image that the browser has given up is said", async () => {
  await useSeeingModel();
  await give("chosen", image());
  await waitForAttached(1);
  await say("What?");
  await isDone();
  await page.evaluate(() => new Promise((resolve) => {
    const request = indexedDB.open("localllm-pictures", 1);
    request.onsuccess = () => {
      const transaction = request.result.transaction("pictures", "readwrite");
      transaction.objectStore("pictures").clear();
      transaction.oncomplete = resolve;
    };
  }));
  await page.reload();
  await page.until(() => document.querySelector("#messages .images")?.textContent.includes("deleted"));
  await say("And now?");
  await isDone();
  assert.equal(api.asked.at(-1).messages[0].content, "(An image that was deleted.)\n\nWhat?");
});
