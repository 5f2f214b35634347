// Files for the message that is being written: images, and documents whose text goes to the model. They are chosen, pasted
// or dropped, seen, and taken out again.

import { imageElement, keepDocument, keepImage } from "./attachments.js";
import { textOf } from "./documents.js";
import { button, byId, element } from "./dom.js";
import { draftAttached, keepDraftAttached } from "./drafts.js";
import { acceptsImages } from "./models.js";
import { notify, report } from "./notice.js";
import { state } from "./state.js";

const picker = byId("file");
const list = byId("attached");

/** Shows what is attached to the message of the current conversation. */
export function showAttached() {
  const { images, documents } = draftAttached(state.current);
  const key = JSON.stringify([images, documents]);
  if (list.dataset.shown === key) return;
  list.dataset.shown = key;
  const entries = [...images.map((each) => [each, imageElement(each)]),
    ...documents.map((each) => [each, element("span", { className: "document", title: each.name }, each.name)])];
  list.replaceChildren(...entries.map(([each, shown]) => element("li", {}, shown,
    button(`Remove ${each.name}`, () => remove(each), { icon: "✕", className: "quiet" }))));
  list.hidden = entries.length === 0;
}

function remove({ id }) {
  const { images, documents } = draftAttached(state.current);
  const others = (files) => files.filter((each) => each.id !== id);
  keepDraftAttached(state.current, { images: others(images), documents: others(documents) });
  showAttached();
  byId("input").focus();
}

/** What is attached, which is taken out. */
export function takeAttached() {
  const attached = draftAttached(state.current);
  keepDraftAttached(state.current);
  showAttached();
  return attached;
}

async function attach(files) {
  const { current } = state;
  for (const file of files) {
    const isImage = file.type.startsWith("image/");
    if (isImage && !acceptsImages(current.model)) {
      notify(`${current.model ?? "This model"} accepts no images.`, { topic: "model" });
      continue;
    }
    try {
      const kept = isImage ? await keepImage(file) : await keepDocument(file.name, await textOf(file));
      const { images, documents } = draftAttached(current);
      keepDraftAttached(current, isImage ? { images: [...images, kept], documents } : { images, documents: [...documents, kept] });
    } catch (error) {
      report(error);
    }
  }
  showAttached();
}

byId("attach").onclick = () => picker.click();
picker.onchange = async () => {
  await attach([...picker.files]);
  picker.value = ""; // so that the same file can be picked again
};
byId("input").addEventListener("paste", (event) => {
  const files = [...(event.clipboardData?.files ?? [])];
  if (!files.length) return;
  event.preventDefault();
  attach(files);
});
// Without this the browser would leave the page and show the file.
document.addEventListener("dragover", (event) => {
  if (event.dataTransfer.types.includes("Files")) event.preventDefault();
});
document.addEventListener("drop", (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  attach([...event.dataTransfer.files]);
});
