// The dialog that exports and imports conversations.

import { byId, element } from "./dom.js";
import { keepContents, withContents } from "./attachments.js";
import { parseFile, toJSON, toMarkdown } from "./transfer.js";

/**
 * @param actions {current(), all(), take(conversations), report(error)}; `take` gets the conversations of an imported
 *   file
 */
export function listenForFiles({ current, all, take, report }) {
  const dialog = byId("files");
  const input = byId("import-file");
  const close = () => dialog.close();
  const onclick = (id, action) => (byId(id).onclick = () => {
    close();
    return Promise.resolve(action()).catch(report);
  });
  const save = async (name, conversations) => download(name, "application/json", toJSON(await withContents(conversations)));
  byId("open-files").onclick = () => dialog.showModal();
  onclick("export-markdown", () => download(`${fileName(current().title)}.md`, "text/markdown", toMarkdown(current())));
  onclick("export-json", () => save(`${fileName(current().title)}.json`, [current()]));
  onclick("export-all", () => save("conversations.json", all()));
  byId("import").onclick = () => input.click();
  input.onchange = async () => {
    close();
    try {
      for (const file of input.files) take(await keepContents(parseFile(await file.text(), file.name)));
    } catch (error) {
      report(error);
    }
    input.value = ""; // so that the same file can be picked again
  };
}

/** A title without characters that some file systems forbid. */
const fileName = (title) => title.replace(/[^\p{L}\p{N} ._-]+/gu, "").trim().slice(0, 60) || "conversation";

function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // the browser may ask the user first
}
