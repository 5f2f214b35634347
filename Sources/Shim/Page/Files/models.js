// The models of the server and its upstream, the state of both engines, and the model picker.

import { apiKey, listEngines, listModels, properties } from "./api.js";
import { byId, element, percent } from "./dom.js";

const picker = byId("model");
const known = new Map(); // properties by model and its state
let models = [];
let engines = [];

/** Fetches models and engines. Throws `APIError`. */
export async function fetchModels() {
  [models, engines] = await Promise.all([listModels(), listEngines()]);
}

const modelNamed = (id) => models.find((model) => model.id === id);

/** What the server says of a model; `undefined` for one that it does not serve. */
export const cardOf = modelNamed;

/** The cards of this server's own models. */
export const localModels = () => models.filter(({ state }) => state);

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

/** `{text, share}` while a model is loading; else `null`. The share is `undefined` while it waits for another one. */
export function loadingOf(id) {
  const { state, progress } = modelNamed(id) ?? {};
  if (state !== "loading") return null;
  return { text: progress ? `Loading ${id}: ${percent(progress)}` : `Loading ${id}…`, share: progress || undefined };
}

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
  if (state === "loading") return `${id} (loading, ${percent(progress ?? 0)})`;
  return state && state !== "loaded" ? `${id} (${state})` : id;
}

/**
 * @param picked called with the model's id
 * @param refresh called when the list should be fetched again
 * @param isWaiting whether an answer waits, perhaps for its model to load
 */
export function listenForModels({ picked, refresh, isWaiting }) {
  const refreshIfSeen = () => document.visibilityState === "visible" && refresh();
  picker.onchange = () => picked(picker.value);
  picker.onfocus = refresh;
  window.addEventListener("focus", refresh);
  document.addEventListener("visibilitychange", refreshIfSeen);
  let age = 0; // seconds since the list was fetched
  setInterval(() => {
    age += 0.5;
    const isMoving = isWaiting() || models.some(({ state }) => state === "loading");
    if (age < (isMoving ? 0.5 : 10)) return;
    age = 0;
    refreshIfSeen();
  }, 500);
}

const stateKey = (id) => `${id} ${modelNamed(id)?.state}`;

/** The properties of a model (`properties` in api.js); `undefined` or `null` if unknown. */
export const propertiesOf = (id) => known.get(stateKey(id));

/** Fetches a model's properties if they may have changed. */
export async function fetchProperties(id) {
  const key = stateKey(id);
  if (id && !known.get(key)) known.set(key, await properties(id));
}

/**
 * Whether the user may load and remove models: someone at this machine or with a key, to whom the server shows its
 * properties, which need the same right.
 */
export const canManage = () => [...known.values()].some((each) => each !== null)
  && (Boolean(apiKey.get()) || isLoopback(location.hostname));

const isLoopback = (host) => host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
