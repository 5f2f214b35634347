// Images and texts of documents that go with messages: kept in this browser's IndexedDB. A message has {id, name} of each.

import { openStore } from "./database.js";
import { element } from "./dom.js";

const run = openStore("localllm-pictures", "pictures");
const formats = ["image/png", "image/jpeg", "image/webp", "image/gif"]; // those that models are given
const mostBytes = 4 << 20;
const longestSide = 2048;
const addresses = new Map();

/**
 * Keeps an image's file. One in another format, and one that is larger than models look at, is kept as a JPEG of at most
 * 2048 pixels a side, on white.
 *
 * @throws {Error} if this browser cannot show it as an image
 */
export async function keepImage(file) {
  const name = file.name || "image";
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    throw new Error(`${name} is not an image that this browser can show.`);
  }
  const { width, height } = bitmap;
  const isKept = formats.includes(file.type) && file.size <= mostBytes && Math.max(width, height) <= 2 * longestSide;
  const blob = isKept ? file : await reduced(bitmap);
  bitmap.close();
  return keep(name, blob);
}

/** Keeps the text of a document. */
export const keepDocument = (name, text) => keep(name, new Blob([text], { type: "text/plain" }));

async function keep(name, blob) {
  // Not randomUUID, which browsers offer only to https and to this machine.
  const id = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;
  await put(id, blob);
  return { id, name };
}

async function reduced(bitmap) {
  const scale = Math.min(1, longestSide / Math.max(bitmap.width, bitmap.height));
  const sideOf = (length) => Math.max(1, Math.round(length * scale));
  const canvas = element("canvas", { width: sideOf(bitmap.width), height: sideOf(bitmap.height) });
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.9));
}

const put = (key, blob) => run("readwrite", (images) => images.put({ key, blob, time: Date.now() }));
const get = async (id) => (await run("readonly", (images) => images.get(id)))?.blob;

/** An address for `img`, valid as long as the page; `null` for an image that is not kept any more. */
export async function addressOf(id) {
  if (!addresses.has(id)) {
    const blob = await get(id);
    if (!blob) return null;
    addresses.set(id, URL.createObjectURL(blob));
  }
  return addresses.get(id);
}

/** The image as a `data:` URL; `null` for one that is not kept any more. */
export async function dataURLOf(id) {
  const blob = await get(id);
  if (!blob) return null;
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

/** The text of a document; `null` for one that is not kept any more. */
export const documentText = async (id) => (await (await get(id))?.text()) ?? null;

/** Messages for the API: the ids of images become the images, those of documents their texts before the message. */
export const withAttachments = (messages) => Promise.all(messages.map(async (message) => {
  if (!Array.isArray(message.content)) return message;
  const content = await Promise.all(message.content.map(async ({ type, id, name, ...part }) => {
    if (type === "image") {
      const url = await dataURLOf(id).catch(() => null);
      return url ? { type: "image_url", image_url: { url } } : { type: "text", text: "(An image that was deleted.)" };
    }
    if (type !== "document") return { type, ...part };
    const text = (await documentText(id).catch(() => null)) ?? "(A document that was deleted.)";
    return { type: "text", text: `Document “${name}”:\n\n${text}\n\nEnd of the document “${name}”.` };
  }));
  // Models without images may take no lists.
  const isText = content.every(({ type }) => type === "text");
  return { ...message, content: isText ? content.map(({ text }) => text).join("\n\n") : content };
}));

/** Conversations for a file: their attachments have the contents as `url`. */
export const withContents = (conversations) => mapAttached(conversations, async (each) =>
  ({ ...each, url: (await dataURLOf(each.id).catch(() => null)) ?? undefined }));

/** Conversations of a file, whose attachments are kept from now on. */
export const keepContents = (conversations) => mapAttached(conversations, async ({ id, name, url }) => {
  if (url && !(await get(id))) await put(id, blobOf(url));
  return { id, name };
});

/** The lists of attachments that a message has. */
export const attachedTo = ({ images, documents }) => Object.fromEntries(
  Object.entries({ images, documents }).filter(([, files]) => files?.length));

const mapAttached = (conversations, change) => Promise.all(conversations.map(async (conversation) => ({
  ...conversation,
  messages: await Promise.all(conversation.messages.map(async (message) => {
    const changed = Object.entries(attachedTo(message)).map(async ([kind, files]) => [kind, await Promise.all(files.map(change))]);
    return { ...message, ...Object.fromEntries(await Promise.all(changed)) };
  })),
})));

export const isTextURL = (text) => /^data:text\/plain(;charset=utf-8)?;base64,[A-Za-z0-9+/]*=*$/.test(text);
export const isImageURL = (text) => /^data:image\/(png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+=*$/.test(text);

function blobOf(url) {
  const [head, base64] = url.split(",");
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new Blob([bytes], { type: head.slice("data:".length, -";base64".length) });
}

/** Forgets images that no text in `localStorage` names, if they are older than a day: what was just deleted may come back. */
export async function forgetUnused() {
  const texts = Object.keys(localStorage).filter((key) => key.startsWith("localllm.")).map((key) => localStorage.getItem(key));
  const all = await run("readonly", (images) => images.getAll());
  for (const { key, time } of all) {
    if (Date.now() - time > 86_400_000 && !texts.some((text) => text.includes(key))) {
      await run("readwrite", (images) => images.delete(key));
    }
  }
}

/** Elements that show images; each loads by itself. */
export function imageElement({ id, name }) {
  const image = element("img", { alt: name, title: name });
  const fail = () => image.replaceWith(`${name} (deleted)`);
  addressOf(id).then((address) => (address ? (image.src = address) : fail()), fail);
  return image;
}
