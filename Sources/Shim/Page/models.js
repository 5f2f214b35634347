// The models of the server and of its upstream, who of the two can answer, and the model that is picked.

import { contextSize, listEngines, listModels } from "./api.js";
import { byId, element } from "./dom.js";

const picker = byId("model");
const contextSizes = new Map();
let models = [];
let engines = [];

/** Asks for what is there now. Throws what the API throws. */
export async function fetchModels() {
  [models, engines] = await Promise.all([listModels(), listEngines()]);
}

const modelNamed = (id) => models.find((model) => model.id === id);

/** Whether this server computes the model itself. Of an upstream's models it does not know the state. */
export const isLocal = (id) => Boolean(modelNamed(id)?.state);
export const engineOf = (id) => (!modelNamed(id) || isLocal(id) ? "local" : "upstream");
/** Who can answer: [{id, available, reason, models}] */
export const allEngines = () => engines;

const canChat = ({ capabilities }) => !capabilities || capabilities.includes("completion");

/**
 * The model for a conversation that has none: the preferred one if it can answer, else one that is in memory, else one
 * that can be loaded, else one of the upstream's. `undefined` if no model can answer.
 *
 * @param engine of which engine, `local` or `upstream`; of any if it is not given
 */
export function bestModel(preferred, engine) {
  const rank = ({ state }) => ["loaded", "loading", "unloaded", undefined].indexOf(state);
  const usable = models
    .filter((model) => canChat(model) && model.state !== "failed" && (!engine || engineOf(model.id) === engine))
    .sort((a, b) => rank(a) - rank(b));
  return (usable.find(({ id }) => id === preferred) ?? usable[0])?.id;
}

export const isServed = (id) => modelNamed(id) !== undefined;

/** Shows the models of the engine; one that a conversation had and the server has no more stays, and says so. */
export function showModels(selected) {
  const isSplit = engines.length > 1;
  const shown = models.filter(({ id }) => !isSplit || engineOf(id) === engineOf(selected));
  const missing = selected && !isServed(selected) ? [{ id: selected, state: "not served here" }] : [];
  const options = [...shown, ...missing].map((model) => [model.id, label(model), !canChat(model)]);
  const key = JSON.stringify(options);
  if (picker.dataset.shown !== key) { // an open list is left alone if nothing has changed
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
 * @param picked is called with the model's id
 * @param refresh is called when the list should be asked for again
 */
export function listenForModels({ picked, refresh }) {
  picker.onchange = () => picked(picker.value);
  picker.onfocus = refresh;
  window.addEventListener("focus", refresh);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && refresh());
  setInterval(() => document.visibilityState === "visible" && refresh(), 10_000);
}

/** Tokens that a conversation with the model may have, once that is fetched and if the server says it. */
export const contextSizeOf = (model) => contextSizes.get(model);

export async function fetchContextSize(model) {
  if (model && !contextSizes.get(model)) contextSizes.set(model, await contextSize(model));
}
