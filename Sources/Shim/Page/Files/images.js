// The images page: sends prompts to the upstream, shows the result, and keeps it in this browser.

import { createImage, listEngines } from "./api.js";
import { button, byId, element } from "./dom.js";
import { allImages, forgetImage, keepImage, keptImage, keyOf } from "./gallery.js";
import "./theme.js";

let abort = null; // AbortController of the running request
let shown = null; // the image shown
let address = null; // object URL of its blob
const previews = [];

async function create({ isNew }) {
  const body = {
    prompt: byId("prompt").value.trim(), model: byId("image-model").value.trim() || undefined,
    size: byId("size").value || undefined,
  };
  if (!body.prompt || abort) return;
  const key = keyOf(body);
  abort = new AbortController();
  fail("");
  byId("result").hidden = true;
  const end = showProgress();
  try {
    const kept = isNew ? undefined : await keptImage(key).catch(() => undefined); // without storage, create it again
    if (kept) return show(kept, "Saved from an earlier request.");
    const image = { key, ...body, time: Date.now(), ...imageIn(await request(body, abort.signal)) };
    show(image, "");
    await keepImage(image);
  } catch (error) {
    if (error.name !== "AbortError") fail(error.message);
  } finally {
    end();
    abort = null;
    showGallery();
  }
}

/** Requests base64, so that the image can be kept; models that reject `response_format` always send base64. */
async function request(body, signal) {
  try {
    return await createImage({ ...body, n: 1, response_format: "b64_json" }, signal);
  } catch (error) {
    if (error.status !== 400 || !/response_format/.test(error.message)) throw error;
    return createImage({ ...body, n: 1 }, signal);
  }
}

function imageIn({ b64_json: base64, url } = {}) {
  if (base64) {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return { blob: new Blob([bytes], { type: typeOf(bytes) }) };
  }
  if (/^(https?:\/\/|data:image\/)/.test(url ?? "")) return { url };
  throw new Error("The answer has no image.");
}

const typeOf = (bytes) =>
  ({ 0x89: "image/png", 0xff: "image/jpeg", 0x47: "image/gif", 0x52: "image/webp" })[bytes[0]] ?? "image/png";

/** @returns a function that hides the progress */
function showProgress() {
  const started = Date.now();
  const tick = () => (byId("elapsed").textContent = `${Math.round((Date.now() - started) / 1000)} s`);
  const timer = setInterval(tick, 1000);
  tick();
  setBusy(true);
  return () => {
    clearInterval(timer);
    setBusy(false);
  };
}

function setBusy(isBusy) {
  byId("progress").hidden = !isBusy;
  byId("stop").hidden = !isBusy;
  byId("create").hidden = isBusy;
}

function fail(text) {
  byId("failure").hidden = !text;
  byId("failure").replaceChildren(element("p", {}, text));
}

function show(image, remark) {
  fail("");
  shown = image;
  if (address) URL.revokeObjectURL(address);
  address = image.blob ? URL.createObjectURL(image.blob) : null;
  const source = address ?? image.url;
  const extension = { "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp" }[image.blob?.type] ?? "png";
  Object.assign(byId("image"), { alt: image.prompt, src: source, hidden: false });
  byId("caption").textContent = [image.prompt, remark].filter(Boolean).join(" · ");
  // The page may not read images of other origins, so it links to them.
  Object.assign(byId("save"), address ? { href: source, download: `image.${extension}`, target: "" }
    : { href: source, target: "_blank", rel: "noopener noreferrer" });
  byId("result").hidden = false;
}

byId("image").onerror = () => {
  byId("image").hidden = true;
  fail("Failed to load image");
};

async function showGallery() {
  const images = await allImages().catch((error) => {
    fail(`Images cannot be saved: ${error.message}`);
    return [];
  });
  for (const url of previews.splice(0)) URL.revokeObjectURL(url);
  byId("gallery").replaceChildren(...images.map((image) => {
    const source = image.blob ? URL.createObjectURL(image.blob) : image.url;
    if (image.blob) previews.push(source);
    const preview = element("img", { src: source, alt: image.prompt, loading: "lazy" });
    preview.onerror = () => preview.replaceWith(element("span", {}, image.prompt.slice(0, 80)));
    const open = button(image.prompt, () => show(image, new Date(image.time).toLocaleString()), { icon: preview });
    return element("li", {}, open);
  }));
  byId("gallery-empty").hidden = images.length > 0;
}

async function showAvailability() {
  const problem = byId("unavailable");
  const explain = (text) => {
    problem.textContent = text;
    problem.hidden = !text;
  };
  try {
    const upstream = (await listEngines()).find(({ id }) => id === "upstream");
    const models = (upstream?.models ?? []).filter((id) => /image|dall|flux|diffusion|sd/i.test(id));
    byId("image-models").replaceChildren(...models.map((value) => element("option", { value })));
    byId("create").disabled = !upstream;
    if (!upstream) explain("Images need an upstream. Start the server with --upstream URL.");
    else explain(upstream.available ? "" : upstream.reason ?? "The upstream cannot answer at the moment.");
  } catch (error) {
    explain(error.message);
  }
}

byId("request").onsubmit = (event) => {
  event.preventDefault();
  create({ isNew: false });
};
byId("stop").onclick = () => abort?.abort();
byId("again").onclick = () => {
  byId("prompt").value = shown.prompt;
  byId("image-model").value = shown.model ?? "";
  byId("size").value = shown.size ?? "";
  create({ isNew: true });
};
byId("forget").onclick = async () => {
  await forgetImage(shown.key);
  byId("result").hidden = true;
  showGallery();
  byId("prompt").focus();
};
showAvailability();
showGallery();
