// Formulas and code with Debian's KaTeX and highlight.js, and without.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { api, isDone, page, say, shim } from "./fixture.mjs";
import { stream } from "./server.mjs";
import { formulas, showcase } from "./texts.mjs";

const folder = "/usr/share/javascript";
const lacks = (file, name) => !existsSync(`${folder}/${file}`) && `the Debian package ${name} is not installed`;
const withoutKatex = lacks("katex/katex.min.js", "libjs-katex");
const withoutHighlight = lacks("highlight.js/highlight.min.js", "libjs-highlight.js");

test("KaTeX shows formulas", { skip: withoutKatex }, async () => {
  api.reply = (response) => stream(response, formulas.match(/[^]{1,9}/g));
  await say("Formulas");
  await isDone();
  await page.until(() => document.querySelectorAll(".math .katex").length === 5);
  const found = await page.evaluate(() => ({
    display: document.querySelectorAll(".math .katex-display").length,
    fraction: document.querySelector(".math math mfrac") !== null,
    money: document.querySelector("#messages .assistant .body").textContent.includes("It costs $5, or $6 for two:"),
    font: [...document.querySelectorAll(".katex .mathnormal")].every((node) => getComputedStyle(node).fontFamily.includes("KaTeX_Math")),
  }));
  assert.deepEqual(found, { display: 3, fraction: true, money: true, font: true });
  await page.evaluate(() => document.fonts.ready);
  assert.ok(await page.evaluate(() => [...document.fonts].some((font) => font.family === "KaTeX_Math" && font.status === "loaded")));
  await page.photograph("formulas");
});

test("a formula that KaTeX does not take, or that asks too much, stays text", { skip: withoutKatex }, async () => {
  const bad = ["\\nosuchcommand{x}", "\\frac{1", "\\href{javascript:globalThis.wasRun=1}{a}", "\\includegraphics{https://example.org/x.png}",
    `\\def\\a{${"x".repeat(30)}}${"\\def\\b{\\a\\a\\a\\a}\\def\\a{\\b\\b\\b\\b}".repeat(9)}\\a`, "x".repeat(5000)];
  api.reply = (response) => stream(response, [`$x$\n\n${bad.map((text) => `\\(${text}\\)`).join("\n\n")}`]);
  await say("Formulas");
  await isDone();
  await page.until(() => document.querySelector(".math .katex"));
  await page.until(() => !document.querySelector(".math:not(.done)"));
  const texts = await page.evaluate(() => [...document.querySelectorAll(".math")].slice(1).map((node) => node.textContent));
  assert.deepEqual(texts.slice(0, 2), bad.slice(0, 2).map((text) => `\\(${text}\\)`));
  assert.equal(texts.at(-1), `\\(${bad.at(-1)}\\)`);
  assert.deepEqual(await page.evaluate(() => [document.querySelectorAll(".math a, .math img").length, globalThis.wasRun ?? 0]), [0, 0]);
});

test("thousands of formulas leave the page usable", { skip: withoutKatex }, async () => {
  api.reply = (response) => stream(response, [Array.from({ length: 5000 }, (_, index) => `$x_{${index}}$`).join(" ")]);
  await say("Formulas");
  await isDone();
  await page.until(() => !document.querySelector(".math:not(.done)"));
  assert.equal(await page.evaluate(() => document.querySelectorAll(".math .katex").length), 1000);
});

test("highlight.js colours code", { skip: withoutHighlight }, async () => {
  const code = 'if (a < b && "<b>" != \'x\') { return `&amp;`; } // <script>\n';
  api.reply = (response) => stream(response, [`\`\`\`js\n${code}\`\`\`\n\n\`\`\`nonsense\n<b>\n\`\`\`\n\n${showcase}`]);
  await say("Code");
  await isDone();
  await page.until(() => document.querySelectorAll("code.done").length === 3);
  const found = await page.evaluate(() => {
    const [first, other, swift] = document.querySelectorAll(".code code");
    return [first.textContent, first.querySelector(".hljs-keyword")?.textContent, first.querySelector(".hljs-comment")?.textContent,
      other.innerHTML, swift.querySelector(".hljs-keyword")?.textContent];
  });
  assert.deepEqual(found, [code.trimEnd(), "if", "// <script>", "&lt;b&gt;", "struct"]);
  await page.photograph("code");
});

test("without the libraries the text stays as it was written", async () => {
  await page.send("Network.setBlockedURLs", { urls: ["*/page/katex/*", "*/page/highlight.js/*"] });
  api.reply = (response) => stream(response, [`${formulas}\n\n\`\`\`js\nlet a;\n\`\`\``]);
  await say("Formulas");
  await isDone();
  const text = await page.evaluate(() => document.querySelector("#messages .assistant .body").textContent);
  for (const line of formulas.split("\n").filter((line) => line && !line.startsWith("- "))) assert.ok(text.includes(line), line);
  assert.ok(text.includes("let a;"));
  await page.photograph("formulas-text");
});

test("only the files that the page uses are served", async () => {
  for (const path of ["/page/katex/katex.js", "/page/katex/contrib/mhchem.js", "/page/katex/../../../../etc/passwd", "/page/katex/%2e%2e/x",
    "/page/highlight.js/styles/github.css", "/page/katex/fonts/KaTeX_Main-Regular.ttf", "/page/katex/", "/page/nothing.js"]) {
    assert.equal((await fetch(shim.url + path)).status, 404, path);
  }
  if (withoutKatex) return;
  const font = await fetch(`${shim.url}/page/katex/fonts/KaTeX_Main-Regular.woff2`);
  assert.deepEqual([font.status, font.headers.get("content-type")], [200, "font/woff2"]);
  assert.match(font.headers.get("content-security-policy"), /default-src 'none'/);
});
