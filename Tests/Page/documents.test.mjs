// Documents: text and PDF files whose text goes with a message.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { api, isDone, page, say, stored, tool } from "./fixture.mjs";

const withoutPDF = !existsSync("/usr/share/javascript/pdf/build/pdf.js") && "the Debian package libjs-pdf is not installed";

const give = (name, bytes, type = "") => page.evaluate((name, bytes, type) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([Uint8Array.from(bytes)], name, { type }));
  const field = document.querySelector("#file");
  field.files = transfer.files;
  return field.onchange();
}, name, [...Buffer.from(bytes)], type);
const attached = () => page.evaluate(() => [...document.querySelectorAll("#attached .document")].map((each) => each.textContent));

/** A PDF file of a page for each text. */
function pdf(texts) {
  const objects = ["<</Type/Catalog/Pages 2 0 R>>",
    `<</Type/Pages/Count ${texts.length}/Kids[${texts.map((_, index) => `${4 + 2 * index} 0 R`).join(" ")}]>>`,
    "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"];
  texts.forEach((text, index) => {
    const content = `BT /F1 24 Tf 72 700 Td (${text}) Tj ET`;
    objects.push(`<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents ${5 + 2 * index} 0 R>>`,
      `<</Length ${content.length}>>\nstream\n${content}\nendstream`);
  });
  let file = "%PDF-1.4\n";
  const places = objects.map((object, index) => {
    const place = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, "0")} 00000 n \n`;
  });
  return `${file}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.join("")}trailer\n<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${file.length}\n%%EOF`;
}

test("the text of a document goes before the question, in this turn and the next", async () => {
  await give("notes.txt", "Red is ü.\n<b>Bold</b>");
  await give("data.csv", "a,b\n1,2\n", "text/csv");
  assert.deepEqual(await attached(), ["notes.txt", "data.csv"]);
  await page.reload();
  assert.deepEqual(await attached(), ["notes.txt", "data.csv"]);
  await page.photograph("documents");
  await page.click("Remove data.csv");
  await say("What is red?");
  await isDone();
  const expected = "Document “notes.txt”:\n\nRed is ü.\n<b>Bold</b>\n\nEnd of the document “notes.txt”.\n\nWhat is red?";
  assert.equal(api.asked[0].messages[0].content, expected);
  assert.deepEqual(await attached(), []);
  await page.evaluate(() => document.querySelector(".document summary").click());
  await page.has(".document pre", "Red is ü.\n<b>Bold</b>");
  await page.photograph("document");
  assert.ok(!JSON.stringify(await stored()).includes("Red is"), "texts are not in localStorage");
  await page.reload();
  await say("Sure?");
  await isDone();
  assert.equal(api.asked[1].messages[0].content, expected);
  await tool(0, "Edit");
  await page.evaluate(() => document.activeElement.select());
  await page.type("And green?");
  await page.press("Enter");
  await isDone();
  assert.ok(api.asked[2].messages[0].content.endsWith("End of the document “notes.txt”.\n\nAnd green?"));
});

test("a document alone is a message, and goes into files of conversations", async () => {
  await give("notes.txt", "Red.");
  await page.press("Enter");
  await isDone();
  assert.equal((await stored())[0].title, "notes.txt");
  const [json, markdown] = await page.evaluate(async () => {
    const { withContents } = await import("/page/attachments.js");
    const { parseFile, toJSON, toMarkdown } = await import("/page/transfer.js");
    const { state } = await import("/page/state.js");
    const text = toJSON(await withContents([state.current]));
    return [parseFile(text, "a.json")[0].messages[0].documents[0], toMarkdown(state.current)];
  });
  assert.match(json.url, /^data:text\/plain;base64,UmVkLg==$/);
  assert.ok(markdown.includes("*Document: notes.txt*"));
});

test("what is no text is refused", async () => {
  for (const [name, bytes, text] of [["a.bin", [0xff, 0xfe, 0], "a.bin is no image, no PDF file and no text in UTF-8."],
    ["b.bin", "a\0b", "b.bin is no image"], ["empty.txt", " \n", "empty.txt contains no text."],
    ["long.txt", "x".repeat(1_000_001), "long.txt has more than 1,000,000 characters."]]) {
    await give(name, bytes);
    await page.has("#notice", text);
  }
  assert.deepEqual(await attached(), []);
});

test("the text of a PDF file is read", { skip: withoutPDF }, async () => {
  await give("paper.pdf", pdf(["The sky is blue.", "The end."]), "application/pdf");
  assert.deepEqual(await attached(), ["paper.pdf"]);
  await say("What is the sky?");
  await isDone();
  assert.match(api.asked[0].messages[0].content, /^Document “paper\.pdf”:\n\nThe sky is blue\.\n+The end\.\n\nEnd of the document/);
  await give("broken.pdf", "%PDF-1.4\nnothing");
  await page.has("#notice", "broken.pdf: ");
  await give("empty.pdf", pdf([""]));
  await page.has("#notice", "empty.pdf contains no text; its pages may be images.");
});

test("without the library PDF files are refused, with what is missing", async () => {
  await page.send("Network.setBlockedURLs", { urls: ["*/page/pdf/*"] });
  await give("paper.pdf", pdf(["The sky is blue."]));
  await page.has("#notice", "paper.pdf: this server reads no PDF files; it needs the Debian package libjs-pdf.");
});
