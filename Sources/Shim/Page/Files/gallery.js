// Stores generated images in this browser's IndexedDB.

import { openStore } from "./database.js";

const run = openStore("localllm", "images");

/** Key of a request; the same request finds its image again. */
export const keyOf = ({ prompt, model = "", size = "" }) => JSON.stringify([prompt, model, size]);

/** An image is {key, prompt, model, size, time, blob}, or has `url` instead of `blob` if only that is known. */
export const keptImage = (key) => run("readonly", (images) => images.get(key));
export const keepImage = (image) => run("readwrite", (images) => images.put(image));
export const forgetImage = (key) => run("readwrite", (images) => images.delete(key));
/** The latest first. */
export const allImages = async () =>
  (await run("readonly", (images) => images.getAll())).sort((a, b) => b.time - a.time);
