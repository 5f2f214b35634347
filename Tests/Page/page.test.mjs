// What the page does, in Chromium. `make page-test`; SCREENSHOTS=folder keeps pictures.

import assert from "node:assert/strict";
import { after, before, beforeEach, afterEach, test } from "node:test";
import { Browser } from "./browser.mjs";
import { ScriptedAPI, error, json, startShim, stream } from "./server.mjs";
import { hostile, hugeTable, showcase } from "./texts.mjs";

const [program, model, chromium] = ["SHIM", "MODEL", "CHROMIUM"].map((name) => process.env[name]);
let shim, browser, api, page;

before(async () => {
  shim = await startShim(program, model);
  browser = new Browser(chromium);
});
after(async () => {
  await browser?.close();
  await shim?.stop();
});
beforeEach(async () => {
  api = new ScriptedAPI();
  await api.start(shim.url);
  page = await browser.open(api.url);
});
afterEach(async () => {
  // Whatever a test does, the page has nothing to complain about and asks nobody but its server.
  assert.deepEqual(page.complaints, []);
  assert.deepEqual(page.requests.filter((url) => !url.startsWith(api.url) && !url.startsWith(shim.url)), []);
  await page.close();
  await api.stop();
});

async function say(text) {
  await page.evaluate(() => document.querySelector("#input").focus());
  await page.type(text);
  await page.press("Enter");
}

const isDone = () => page.until(() => !document.querySelector(".live") && document.querySelector("#stop").hidden);
const contents = () => page.evaluate(() =>
  [...document.querySelectorAll("#messages > li .body")].map((body) => body.textContent));
const titles = () => page.evaluate(() =>
  [...document.querySelectorAll("#conversations .title")].map((title) => title.textContent));

/** Clicks a tool of a message. */
const tool = (index, name) => page.evaluate((index, name) => {
  const item = document.querySelectorAll("#messages > li")[index];
  [...item.querySelectorAll(".tools button")].find((each) => each.textContent.startsWith(name)).click();
}, index, name);

test("a message is answered, and both are there after a reload", async () => {
  assert.equal(await page.evaluate(() => document.activeElement.id), "input");
  await say("Hi there");
  await isDone();
  assert.deepEqual(await contents(), ["Hi there", "Hello, world."]);
  assert.deepEqual(api.asked, [{
    model: "tiny", messages: [{ role: "user", content: "Hi there" }], stream: true, stream_options: { include_usage: true },
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
  await page.click("Save");
  await say("One");
  await isDone();
  await say("Two");
  await isDone();
  const { messages, temperature, seed, max_completion_tokens, ...rest } = api.asked[1];
  assert.deepEqual(messages.map(({ role, content }) => [role, content]), [
    ["system", "Be brief."], ["user", "One"], ["assistant", "Hello, world."], ["user", "Two"],
  ]);
  assert.deepEqual({ temperature, seed, max_completion_tokens }, { temperature: 0.5, seed: 7, max_completion_tokens: 100 });
  assert.deepEqual(Object.keys(rest), ["model", "stream", "stream_options"]);
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
  const deadline = Date.now() + 10_000;
  while (api.abandoned === 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10));
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

test("closing the page in mid-answer loses nothing", async () => {
  api.reply = (response) => stream(response, ["half ", "an answer"], { isOpen: true });
  await say("Begin");
  await page.has(".live .body", "half an answer");
  await page.reload();
  assert.deepEqual(await contents(), ["Begin", "half an answer"]);
  await page.has("#messages", "The page was closed before the end");
});

test("regenerate, edit, delete and undo", async () => {
  api.reply = (response, _, number) => stream(response, [`answer ${number}`]);
  await say("One");
  await isDone();
  await tool(1, "Regenerate");
  await isDone();
  assert.deepEqual(await contents(), ["One", "answer 2"]);
  assert.deepEqual(api.asked[1].messages, [{ role: "user", content: "One" }]);

  await say("Two");
  await isDone();
  await tool(0, "Edit");
  await page.type(" more");
  await page.press("Enter");
  await isDone();
  assert.deepEqual(await contents(), ["One more", "answer 4"]);
  await page.click("Undo");
  assert.deepEqual(await contents(), ["One", "answer 2", "Two", "answer 3"]);

  await tool(1, "Delete");
  assert.deepEqual(await contents(), ["One", "Two", "answer 3"]);
  await page.click("Undo");
  await page.reload();
  assert.deepEqual(await contents(), ["One", "answer 2", "Two", "answer 3"]);
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

test("the model is picked, and its state is seen", async () => {
  assert.deepEqual(
    await page.evaluate(() => [...document.querySelectorAll("#model option")].map((option) => option.textContent)),
    ["tiny", "other (unloaded)"]);
  await page.evaluate(() => {
    const picker = document.querySelector("#model");
    picker.value = "other";
    picker.dispatchEvent(new Event("change"));
  });
  await say("Hi");
  await isDone();
  assert.equal(api.asked[0].model, "other");
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
  await page.has(".error", "broke off");
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

test("hostile Markdown is text", async () => {
  api.reply = (response) => stream(response, [...hostile.match(/[^]{1,7}/g), `\n~~~\n${hugeTable}`]);
  await say("Attack <img src=x onerror=alert(1)>");
  await isDone();
  const found = await page.evaluate(() => ({
    names: [...new Set([...document.querySelectorAll("#messages *")].map((node) => node.localName))].sort(),
    targets: [...document.querySelectorAll("#messages a")].map((link) => [link.protocol, link.rel, link.target]),
    handlers: [...document.querySelectorAll("#messages *")].flatMap((node) => node.getAttributeNames())
      .filter((name) => name.startsWith("on") || name === "src" || name === "style"),
    wasRun: globalThis.wasRun ?? false,
    text: document.querySelector("#messages .assistant .body").textContent,
  }));
  const harmless = ["a", "blockquote", "button", "code", "del", "div", "em", "h2", "h3", "hr", "li", "ol", "p", "pre", "span",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"];
  assert.deepEqual(found.names.filter((name) => !harmless.includes(name)), []);
  assert.ok(found.targets.length > 0);
  for (const [protocol, rel, target] of found.targets) {
    assert.match(protocol, /^https?:$/);
    assert.deepEqual([rel, target], ["noopener noreferrer", "_blank"]);
  }
  assert.deepEqual(found.handlers, []);
  assert.ok(found.text.includes("|b|b|b|"), "a table without measure is shown as it was written");
  assert.equal(found.wasRun, false);
  for (const text of ["<img src=x onerror=", "<script>globalThis.wasRun", "javascript:globalThis.wasRun", "inner fence"]) {
    assert.ok(found.text.includes(text), text);
  }
});

test("a policy forbids what the page does not do", async () => {
  const { headers } = await fetch(shim.url);
  const policy = headers.get("content-security-policy");
  for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"]) {
    assert.ok(policy.includes(rule), rule);
  }
  assert.doesNotMatch(policy, /unsafe|\*|data:/);
  const outcome = await page.evaluate(() => {
    try {
      document.body.innerHTML = "<b>markup</b>";
    } catch (error) {
      return error.name;
    }
  });
  assert.equal(outcome, "TypeError");
  page.complaints = page.complaints.filter((text) => !text.includes("TrustedHTML"));
});

test("Markdown is shown the same however it was cut", async () => {
  const differences = await page.evaluate(async (texts) => {
    const { MarkdownView } = await import("/page/markdown.js");
    const whole = (text) => {
      const root = document.createElement("div");
      new MarkdownView(root).show(text);
      return root.innerHTML;
    };
    const differences = [];
    for (const text of texts) {
      for (const step of [1, 3, 17]) {
        const root = document.createElement("div");
        const view = new MarkdownView(root);
        for (let end = step; end < text.length; end += step) view.show(text.slice(0, end));
        view.show(text);
        if (root.innerHTML !== whole(text)) differences.push([step, root.innerHTML, whole(text)]);
      }
    }
    return differences;
  }, [hostile, showcase]);
  assert.deepEqual(differences, []);
});

test("Markdown's elements", async () => {
  const cases = [
    ["**a** *b* ~~c~~ `d*` _e_f_", "<p><strong>a</strong> <em>b</em> <del>c</del> <code>d*</code> <em>e_f</em></p>"],
    ["***a** b*", "<p><em><strong>a</strong> b</em></p>"],
    ["snake_case and 2 * 3 * 4 **", "<p>snake_case and 2 * 3 * 4 **</p>"],
    ["\\*a\\* \\q", "<p>*a* \\q</p>"],
    ["[a *b*](https://x.y/z_(w)) (https://x.y/a).",
      '<p><a href="https://x.y/z_(w)" rel="noopener noreferrer" target="_blank">a <em>b</em></a> '
      + '(<a href="https://x.y/a" rel="noopener noreferrer" target="_blank">https://x.y/a</a>).</p>'],
    ["[a](javascript:b) ![c](data:d) [e](/f)", "<p>[a](javascript:b) ![c](data:d) [e](/f)</p>"],
    ["1. a\n   - b\n2. c\n\ntext", "<ol start=\"1\"><li><p>a</p><ul><li><p>b</p></li></ul></li><li><p>c</p></li></ol><p>text</p>"],
    ["> a\n> > b", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>"],
    ["a\n# b\n---\nc", '<p>a</p><h3 class="level-1">b</h3><hr><p>c</p>'],
  ];
  const shown = await page.evaluate(async (texts) => {
    const { MarkdownView } = await import("/page/markdown.js");
    return texts.map((text) => {
      const root = document.createElement("div");
      new MarkdownView(root).show(text);
      return root.innerHTML;
    });
  }, cases.map(([text]) => text));
  assert.deepEqual(shown, cases.map(([, html]) => html));
});

test("no text makes Markdown work long or nest deep", { timeout: 60_000 }, async () => {
  const depth = await page.evaluate(async () => {
    const { MarkdownView } = await import("/page/markdown.js");
    const n = 50_000;
    const texts = ["*a ", "**a **", "[", "](", "![a](", "`", "``a`", "> ", "- ", "_*", "~~a", "<https://a", "[a](    ", "|",
      "\\", "http://a)))", "***", "1. "].map((part) => part.repeat(n));
    texts.push("[a](" + " ".repeat(n), "http://a" + ")".repeat(n), "#" + " ".repeat(n) + "#", "- - ".repeat(n) + "a",
      "|a".repeat(n) + "\n" + "|-".repeat(n), "*".repeat(n) + "a" + "*".repeat(n), "`".repeat(n) + " " + "``".repeat(n));
    let deepest = 0;
    for (const text of texts) {
      const root = document.createElement("div");
      new MarkdownView(root).show(text);
      const depths = new Map([[root, 0]]);
      for (const node of root.querySelectorAll("*")) {
        depths.set(node, depths.get(node.parentNode) + 1);
        deepest = Math.max(deepest, depths.get(node));
      }
    }
    return deepest;
  });
  assert.ok(depth < 300, `${depth}`);
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
  await page.close();
  page = await browser.open(api.url, context);
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

test("light, dark and the system's choice", async () => {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  api.reply = (response) => stream(response, [showcase]);
  await say("Show me what you can write");
  await isDone();
  await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "light" }] });
  const light = await ground();
  await page.photograph("light");
  await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
  const dark = await ground();
  assert.notEqual(light, dark);
  await page.photograph("dark");
  await page.click("Theme: system");
  assert.equal(await ground(), light);
  await page.reload();
  assert.equal(await ground(), light);
  await page.click("Theme: light");
  await page.send("Emulation.setEmulatedMedia", { features: [] });
  assert.equal(await ground(), dark);
});

test("a phone", async () => {
  api.reply = (response) => stream(response, [showcase]);
  await say("Show me what you can write");
  await isDone();
  await page.resize(390, 844, true);
  await page.photograph("phone");
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out");
  const isHidden = () => page.until(() => !document.querySelector("#new").checkVisibility({ visibilityProperty: true }));
  await isHidden();
  await page.click("Show the conversations");
  await page.until(() => document.querySelector("#sidebar").getBoundingClientRect().left === 0);
  await page.photograph("phone-list");
  await page.press("Escape");
  await isHidden();
  assert.equal(await page.evaluate(() => document.activeElement.id), "open-sidebar");
});

test("by keyboard alone", async () => {
  await page.type("One");
  await page.press("Shift Enter");
  await page.type("line two");
  await page.press("Enter");
  await isDone();
  assert.equal(api.asked[0].messages[0].content, "One\nline two");
  await page.press("ArrowUp");
  await page.until(() => document.activeElement.ariaLabel === "Edit the message");
  await page.type("!");
  await page.press("Enter");
  await isDone();
  assert.equal(api.asked[1].messages[0].content, "One\nline two!");
  await page.press("Alt KeyR");
  await isDone();
  assert.equal(api.asked.length, 3);
  await page.press("Alt KeyS");
  await page.until(() => document.activeElement.id === "system");
  await page.press("Escape");
  await page.until(() => document.activeElement.id === "input");
  await page.press("Alt KeyN");
  assert.deepEqual(await contents(), []);
  await page.press("Alt KeyL");
  await page.press("Tab"); // rename
  await page.press("Tab"); // delete
  await page.press("Tab"); // the one before
  await page.press("Enter");
  assert.equal((await contents()).length, 2);
  await page.press("Alt Slash");
  await page.has("#help[open]", "Stop the answer");
  await page.photograph("shortcuts");
  await page.press("Escape");
});

test("everything that can be used has a name, and the page its landmarks", async () => {
  api.reply = (response) => stream(response, [showcase]);
  await say("Show me");
  await isDone();
  const check = async () => {
    const nodes = await page.accessibilityNodes();
    const usable = ["button", "textbox", "combobox", "spinbutton", "link", "dialog", "region", "navigation", "complementary"];
    const unnamed = nodes.filter(({ role, name }) => usable.includes(role?.value) && !name?.value);
    assert.deepEqual(unnamed.map(({ role, backendDOMNodeId }) => `${role.value} ${backendDOMNodeId}`), []);
    return nodes.map(({ role, name }) => `${role?.value} ${name?.value ?? ""}`.trim());
  };
  const names = await check();
  for (const expected of ["main", "complementary Conversations", "navigation Conversations", "form Write a message", "list Messages", "textbox Message",
    "button Send", "combobox Model", "heading You", "heading tiny", "region Code, swift", "button Copy code"]) {
    assert.ok(names.includes(expected), expected);
  }
  await page.click("Settings");
  assert.ok((await check()).includes("dialog Settings of this conversation"));
});

test("the shim itself, and its model", async () => {
  const real = await browser.open(shim.url);
  await real.until(() => document.querySelector("#model option"));
  await real.evaluate(() => document.querySelector("#input").focus());
  await real.type("What is the capital of France?");
  await real.press("Enter");
  await real.until(() => document.querySelector("#messages .assistant .tools"));
  assert.match(await real.text("#messages .assistant .body"), /\w/);
  await real.until(() => /of [\d,]+ tokens of context used/.test(document.querySelector("#figures").textContent));
  await real.photograph("shim");
  assert.deepEqual(real.complaints, []);
  await real.close();
});
