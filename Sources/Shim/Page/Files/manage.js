// The dialog in which someone who may do so loads, unloads, downloads and deletes models of the server.

import { deleteModel, loadModel, properties, pullModel, unloadModel } from "./api.js";
import { button, byId, element, percent, showShare } from "./dom.js";
import { localModels } from "./models.js";
import { bytesText, countText } from "./units.js";

const dialog = byId("models");
const list = byId("model-list");
const state = byId("models-state");
let memory; // bytes that are free; `undefined` if unknown
let refresh = () => {};
let leaving = null; // id of the model that the user is asked about

/** @param refreshed called when the models have changed; fetches them */
export function listenForManagement(refreshed) {
  refresh = refreshed;
  byId("open-models").onclick = async () => {
    leaving = null;
    if (!abort) say("");
    showList();
    dialog.showModal();
    await refreshMemory();
  };
}

/** Shows the models, if the dialog is open. */
export function showManagement() {
  if (dialog.open) showList();
}

function showList() {
  const models = localModels();
  const key = JSON.stringify([models, memory, leaving]);
  if (list.dataset.shown === key) return; // kept, since one of the buttons may have the focus
  list.dataset.shown = key;
  list.replaceChildren(...models.map(row));
  byId("free-memory").textContent = memory === undefined ? "" : `${bytesText(memory)} of memory free.`;
}

async function refreshMemory() {
  const [first] = localModels();
  memory = first && (await properties(first.id))?.memory_available;
  showFitting();
  showManagement();
}

/** A small, a medium and a large one of the known models that the server's free memory has room for. */
function showFitting() {
  const fitting = [...byId("known-models").options].filter(({ dataset }) => dataset.bytes * 1.25 + 3e8 <= memory);
  const chosen = new Set([0, Math.floor(fitting.length / 2), fitting.length - 1].map((index) => fitting[index]).filter(Boolean));
  byId("fitting").hidden = !chosen.size;
  byId("fitting").replaceChildren(...[...chosen].map(({ value, text }) =>
    button(`${value}, ${text}`, () => (byId("pull-name").value = value), { className: "quiet" })));
}

function row(model) {
  const { id } = model;
  const actions = leaving === id
    ? [element("span", {}, "Delete its file?"), button("Delete the file", () => act(() => deleteModel(id), `Deleted ${id}.`)),
      button("Keep", () => leave(null))]
    : [...stateActions(model), button(`Delete ${id}`, () => leave(id), { icon: "Delete", className: "quiet" })];
  return element("li", {}, element("div", {}, element("strong", {}, id), element("p", { className: "note" }, describe(model))),
    element("div", { className: "actions" }, ...actions));
}

function stateActions({ id, state: phase }) {
  if (phase === "loaded") return [button(`Unload ${id}`, () => act(() => unloadModel(id)), { icon: "Unload", className: "quiet" })];
  if (phase === "loading") return [];
  return [button(`Load ${id}`, () => act(() => loadModel(id)), { icon: "Load", className: "quiet" })];
}

/** `135 million parameters · 98 MB · in memory` */
function describe({ meta, state: phase, progress, reason }) {
  const phases = { loaded: "in memory", loading: `loading, ${percent(progress ?? 0)}`, failed: `failed: ${reason ?? "no reason is known"}`,
    unloaded: fitText(meta?.size) };
  return [meta?.n_params && countText(meta.n_params), meta?.size && bytesText(meta.size), phases[phase]].filter(Boolean).join(" · ");
}

/** Weights are the most of what a model needs; the server decides with the rest. */
function fitText(size) {
  if (size === undefined || memory === undefined) return "not in memory";
  return size < memory ? "fits into the free memory" : "larger than the free memory";
}

function leave(id) {
  leaving = id;
  showManagement();
  list.querySelector(".actions button")?.focus();
}

async function act(change, done = "") {
  leaving = null;
  say("");
  setTimeout(refresh, 100); // shows a model that is loading
  let text = done;
  try {
    await change();
  } catch (error) {
    text = error.message;
  }
  await refresh();
  await refreshMemory();
  say(text);
}

function say(text) {
  state.textContent = text;
  state.hidden = !text;
}

// Downloads. One goes on while the dialog is closed, and ends with the page; the next one resumes it.

const form = byId("pull");
const bar = byId("pull-progress");
let abort = null;

form.onsubmit = async (event) => {
  event.preventDefault();
  if (abort) return;
  const name = byId("pull-name").value.trim().replace(/^(https?:\/\/)?(hf\.co|huggingface\.co)\/|^hf:/i, "");
  abort = new AbortController();
  showPull();
  say(`Asking Hugging Face for ${name}…`);
  try {
    // A name without an owner is one of the models that the server knows.
    const source = name.includes("/") ? `hf.co/${name}` : name;
    for await (const { status, total, completed } of pullModel(source, abort.signal)) {
      if (status === "success") continue;
      const isCounted = completed !== undefined;
      showShare(bar, isCounted && total ? completed / total : undefined);
      say(isCounted ? `${status}: ${bytesText(completed)}${total ? ` of ${bytesText(total)}` : ""}` : status);
    }
    say(`Downloaded ${name}.`);
    byId("pull-name").value = "";
  } catch (error) {
    say(error.name === "AbortError" ? "The download was stopped. The next one resumes it." : error.message);
  }
  abort = null;
  showPull();
  await refresh();
  await refreshMemory();
};

byId("stop-pull").onclick = () => abort?.abort();

function showPull() {
  bar.hidden = byId("stop-pull").hidden = !abort;
  byId("start-pull").hidden = Boolean(abort);
}
