// A model's text as elements, and that it stays text.

import assert from "node:assert/strict";
import { test } from "node:test";
import { api, isDone, page, say, shim } from "./fixture.mjs";
import { stream } from "./server.mjs";
import { formulas, hostile, hugeTable, showcase } from "./texts.mjs";

test("hostile Markdown is text", async () => {
  api.reply = (response) => stream(response, [...hostile.match(/[^]{1,7}/g), `\n~~~\n${hugeTable}`]);
  await say("Attack <img src=x onerror=alert(1)>");
  await isDone();
  const found = await page.evaluate(() => ({
    names: [...new Set([...document.querySelectorAll("#messages .body *")].map((node) => node.localName))].sort(),
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
  }, [hostile, showcase, formulas]);
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
    ["- [x] a\n- [ ] **b**\n- [ ]c",
      '<ul><li class="task"><span class="box" role="img" aria-label="Done">☑</span><div><p>a</p></div></li>'
      + '<li class="task"><span class="box" role="img" aria-label="Not done">☐</span><div><p><strong>b</strong></p></div></li>'
      + "<li><p>[ ]c</p></li></ul>"],
    ["a <b>b</b> &lt; <!-- c -->", "<p>a &lt;b&gt;b&lt;/b&gt; &amp;lt; &lt;!-- c --&gt;</p>"],
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

test("formulas stay as they were written", async () => {
  const cases = [
    ["$a_1 * b_1 * c$ and *d*", ["a_1 * b_1 * c"]],
    ["\\(a_b\\) \\[c^*\\] $$d_e$$", ["a_b", "c^*", "d_e"]],
    ["$$\n\\begin{pmatrix}\n1 & 2 \\\\\n- 3 & 4\n\\end{pmatrix}\n$$", ["\n\\begin{pmatrix}\n1 & 2 \\\\\n- 3 & 4\n\\end{pmatrix}\n"]],
    ["\\[\n+ x\n\\]", ["\n+ x\n"]],
    ["\\begin{align*}\na &= b\n\\end{align*}", ["\\begin{align*}\na &= b\n\\end{align*}"]],
    ["- $x_1$\n\n  $$\n  y_1\n  $$", ["x_1", "\ny_1\n"]],
    ["$5 and $6, US$5 and US$6, 5$ and 6$, $5/$6 and `$x` or $y`", []],
    ["\\$5$ is money", []],
    ["a \\( b", []],
    ["$$\nnever closed\n\n- a", []],
    ["$a`b$c`", []],
  ];
  const found = await page.evaluate(async (texts) => {
    const { MarkdownView } = await import("/page/markdown.js");
    return texts.map((text) => {
      const root = document.createElement("div");
      new MarkdownView(root).show(text);
      const formulas = [...root.querySelectorAll(".math")];
      return { formulas: formulas.map((node) => node.dataset.tex), shown: formulas.map((node) => node.textContent),
        marks: root.querySelectorAll(".math em, .math strong, .math li").length };
    });
  }, cases.map(([text]) => text));
  cases.forEach(([text, formulas], index) => {
    assert.deepEqual(found[index].formulas, formulas, text);
    assert.equal(found[index].marks, 0);
    for (const shown of found[index].shown) assert.ok(text.replaceAll("\n  ", "\n").includes(shown), `${text} shows ${shown}`);
  });
});

test("no text makes Markdown work long or nest deep", { timeout: 60_000 }, async () => {
  const depth = await page.evaluate(async () => {
    const { MarkdownView } = await import("/page/markdown.js");
    const n = 50_000;
    const texts = ["*a ", "**a **", "[", "](", "![a](", "`", "``a`", "> ", "- ", "_*", "~~a", "<https://a", "[a](    ", "|",
      "\\", "http://a)))", "***", "1. "].map((part) => part.repeat(n));
    texts.push("[a](" + " ".repeat(n), "http://a" + ")".repeat(n), "#" + " ".repeat(n) + "#", "- - ".repeat(n) + "a",
      "|a".repeat(n) + "\n" + "|-".repeat(n), "$a".repeat(n), "$$a ".repeat(n), "\\(".repeat(n), "\\[\n".repeat(n) + "\n\na",
      "$a$ ".repeat(n), "$$\n".repeat(n), "\\begin{a}\n".repeat(n) + "\n\na", "- [ ] a\n".repeat(n), "*".repeat(n) + "a" + "*".repeat(n), "`".repeat(n) + " " + "``".repeat(n));
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
