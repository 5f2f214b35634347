// The choice of engine, this server or its upstream, and its availability.

import { byId, element } from "./dom.js";
import { allEngines, engineOf, loadingOf } from "./models.js";

const choice = byId("engines");
const availability = byId("availability");

/** Shows the model's engine, and why it is unavailable. */
export function showEngines(model) {
  const engines = allEngines();
  const current = engineOf(model);
  choice.hidden = engines.length < 2;
  byId("passes-on").hidden = choice.hidden;
  byId("images-link").hidden = choice.hidden; // only an upstream generates images
  for (const input of choice.querySelectorAll("input")) {
    const engine = engines.find(({ id }) => id === input.value);
    input.checked = input.value === current;
    input.parentElement.classList.toggle("unavailable", engine?.available === false);
  }
  const engine = engines.find(({ id }) => id === current);
  // A model that is loading is shown with its progress, which is nothing to be warned of.
  const text = !engine || engine.available || loadingOf(model) ? "" : engine.reason ?? "It cannot answer at the moment.";
  availability.hidden = !text;
  if (text && availability.textContent !== text) availability.replaceChildren(element("span", {}, text));
}

/** @param picked called with `local` or `upstream` */
export function listenForEngines(picked) {
  choice.onchange = (event) => picked(event.target.value);
}
