// Images for the message that is being written: chosen, pasted or dropped, seen, and taken out again.

import { button, byId, element } from "./dom.js";
import { draftImages, keepDraftImages } from "./drafts.js";
import { acceptsImages } from "./models.js";
import { notify, report } from "./notice.js";
import { keepAttachment, imageElement } from "./attachments.js";
import { state } from "./state.js";

const picker = byId("image-file");
const list = byId("attached");

/** Shows what is attached to the message of the current conversation, and the button where its model takes images. */
export function showAttached() {
  byId("attach").hidden = !acceptsImages(state.current.model);
  const images = draftImages(state.current);
  const key = JSON.stringify(images);
  if (list.dataset.shown === key) return;
  list.dataset.shown = key;
  list.replaceChildren(...images.map((image) => element("li", {}, imageElement(image),
    button(`Remove ${image.name}`, () => remove(image), { icon: "✕", className: "quiet" }))));
  list.hidden = images.length === 0;
}

function remove({ id }) {
  keepDraftImages(state.current, draftImages(state.current).filter((each) => each.id !== id));
  showAttached();
  byId("input").focus();
}

/** What is attached, which is taken out. */
export function takeAttached() {
  const images = draftImages(state.current);
  keepDraftImages(state.current, []);
  showAttached();
  return images;
}

async function attach(files) {
  const { current } = state;
  if (!acceptsImages(current.model)) return notify(`${current.model ?? "This model"} accepts no images.`, { topic: "model" });
  for (const file of files) {
    try {
      const image = await keepAttachment(file);
      keepDraftImages(current, [...draftImages(current), image]);
    } catch (error) {
      report(error);
    }
  }
  showAttached();
}

const imagesIn = (transfer) => [...(transfer?.files ?? [])].filter(({ type }) => type.startsWith("image/"));

byId("attach").onclick = () => picker.click();
picker.onchange = async () => {
  await attach([...picker.files]);
  picker.value = ""; // so that the same file can be picked again
};
byId("input").addEventListener("paste", (event) => {
  const images = imagesIn(event.clipboardData);
  if (!images.length) return;
  event.preventDefault();
  attach(images);
});
// Without this the browser would leave the page and show the file.
document.addEventListener("dragover", (event) => {
  if (event.dataTransfer.types.includes("Files")) event.preventDefault();
});
document.addEventListener("drop", (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  const images = imagesIn(event.dataTransfer);
  if (images.length) attach(images);
  else notify("Only images can be attached to a message.");
});
