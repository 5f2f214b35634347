// The models of the server and its upstream, the state of both engines, and the model picker.

import { contextSize, listEngines, listModels } from "./api.js";
import { byId, element } from "./dom.js";

const picker = byId("model");
const contextSizes = new Map();
let models = [];
let engines = [];

/** Fetches models and engines. Throws `APIError`. */
export async function fetchModels() {
  [models, engines] = await Promise.all([listModels(), listEngines()]);
}

const modelNamed = (id) => models.find((model) => model.id === id);

/** Whether the model is local: only local models have a state. */
export const isLocal = (id) => Boolean(modelNamed(id)?.state);
export const engineOf = (id) => (!modelNamed(id) || isLocal(id) ? "local" : "upstream");
/** The engines: [{id, available, reason, models}] */
export const allEngines = () => engines;

/** Whether a model looks at images. Of an upstream's models nobody says it: they may. */
export const acceptsImages = (id) => {
  const { capabilities } = modelNamed(id) ?? { capabilities: [] };
  return !capabilities || capabilities.includes("multimodal");
};

const canChat = ({ capabilities }) => !capabilities || capabilities.includes("completion");

/**
 * The model for a conversation that has none: the preferred one if usable, else a loaded, loading, unloaded or upstream
 * model, in this order. `undefined` if no model is usable.
 *
 * @param engine `local` or `upstream`; any if omitted
 */
export function bestModel(preferred, engine) {
  const rank = ({ state }) => ["loaded", "loading", "unloaded", undefined].indexOf(state);
  const usable = models
    .filter((model) => canChat(model) && model.state !== "failed" && (!engine || engineOf(model.id) === engine))
    .sort((a, b) => rank(a) - rank(b));
  return (usable.find(({ id }) => id === preferred) ?? usable[0])?.id;
}

export const isServed = (id) => modelNamed(id) !== undefined;

/** Shows the models of the selected model's engine. A selected model that is no longer served stays, marked. */
export function showModels(selected) {
  const isSplit = engines.length > 1;
  const shown = models.filter(({ id }) => !isSplit || engineOf(id) === engineOf(selected));
  const missing = selected && !isServed(selected) ? [{ id: selected, state: "not served here" }] : [];
  const options = [...shown, ...missing].map((model) => [model.id, label(model), !canChat(model)]);
  const key = JSON.stringify(options);
  if (picker.dataset.shown !== key) { // an unchanged list is kept, since it may be open
    picker.dataset.shown = key;
    picker.replaceChildren(...options.map(([value, text, disabled]) => element("option", { value, disabled }, text)));
  }
  picker.value = selected ?? "";
  picker.title = modelNamed(selected)?.reason ?? "";
}

function label(model) {
  const { id, state, progress } = model;
  if (!canChat(model)) return `${id} (answers no chats)`;
  if (state === "loading") return `${id} (loading, ${Math.floor(100 * (progress ?? 0))} %)`;
  return state && state !== "loaded" ? `${id} (${state})` : id;
}

/**
 * @param picked called with the model's id
 * @param refresh called when the list should be fetched again
 */
export function listenForModels({ picked, refresh }) {
  picker.onchange = () => picked(picker.value);
  picker.onfocus = refresh;
  window.addEventListener("focus", refresh);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && refresh());
  setInterval(() => document.visibilityState === "visible" && refresh(), 10_000);
}

/** Context length of the model in tokens; `undefined` or `null` if unknown. */
export const contextSizeOf = (model) => contextSizes.get(model);

export async function fetchContextSize(model) {
  if (model && !contextSizes.get(model)) contextSizes.set(model, await contextSize(model));
}
