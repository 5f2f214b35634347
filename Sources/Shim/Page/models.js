// The models of the server, and the one that is picked.

import { contextSize, listModels } from "./api.js";
import { byId, element } from "./dom.js";

const picker = byId("model");
const contextSizes = new Map();
let models = [];

/** Throws what the API throws. */
export async function fetchModels() {
  models = await listModels();
}

export const defaultModel = () => models[0]?.id;

/** Shows the models in the picker; one that a conversation had and the server has no more stays, and says so. */
export function showModels(selected) {
  const isMissing = selected && !models.some(({ id }) => id === selected);
  const missing = isMissing ? [{ id: selected, state: "not served here" }] : [];
  const options = [...models, ...missing].map(({ id, state }) =>
    element("option", { value: id }, state && state !== "loaded" ? `${id} (${state})` : id));
  picker.replaceChildren(...options);
  picker.value = selected ?? "";
}

/** @param picked is called with the model's id. */
export function listenForPicks(picked) {
  picker.onchange = () => picked(picker.value);
  picker.onfocus = () => fetchModels().catch(() => {}); // their states, for when it is next shown
}

/** Tokens that a conversation with the model may have, once that is fetched and if the server says it. */
export const contextSizeOf = (model) => contextSizes.get(model);

export async function fetchContextSize(model) {
  if (model && !contextSizes.get(model)) contextSizes.set(model, await contextSize(model));
}
