// Documents: the text of text files, and of PDF files with Debian's pdf.js (docs/page.md).

import { documentText } from "./attachments.js";
import { element } from "./dom.js";
import { askFrame } from "./frames.js";

const mostBytes = 32 << 20;
const mostCharacters = 1_000_000;

/**
 * The text of a file.
 *
 * @throws {Error} if it has none, or too much
 */
export async function textOf(file) {
  if (file.size > mostBytes) throw new Error(`${file.name} has more than ${mostBytes >> 20} MiB.`);
  const bytes = await file.arrayBuffer();
  const isPDF = new TextDecoder("latin1").decode(bytes.slice(0, 5)) === "%PDF-";
  const text = isPDF ? await textOfPDF(file.name, bytes) : decoded(file.name, bytes);
  if (text.trim() === "") throw new Error(`${file.name} contains no text${isPDF ? "; its pages may be images" : ""}.`);
  if (text.length > mostCharacters) throw new Error(`${file.name} has more than ${mostCharacters.toLocaleString()} characters.`);
  return text;
}

async function textOfPDF(name, bytes) {
  try {
    return await askFrame("pdf", { bytes, mostCharacters });
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
}

function decoded(name, bytes) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {
    // Not UTF-8.
  }
  throw new Error(`${name} is no image, no PDF file and no text in UTF-8.`);
}

/** A document of a message, folded; its text is read when it is opened. */
export function documentBlock({ id, name }) {
  const text = element("pre", { tabIndex: 0, role: "region", ariaLabel: name });
  const block = element("details", { className: "block document" }, element("summary", {}, name), element("div", { className: "parts" }, text));
  block.ontoggle = async () => {
    if (block.open && !text.textContent) text.textContent = (await documentText(id)) ?? "(This document was deleted.)";
  };
  return block;
}
