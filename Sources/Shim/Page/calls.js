// What an answer has besides its text, as blocks that are folded: thoughts, and calls of tools with their results.

import { button, element } from "./dom.js";

/** What a model thought before it answered: closed, as it is long and seldom wanted. */
export function thoughtsBlock(text) {
  return element("details", { className: "block thoughts" }, element("summary", {}, "Thoughts"), element("p", {}, text));
}

/** A call: the name is seen, the arguments and the result when it is opened. */
export function callBlock(call) {
  const block = element("details", { className: "block call" }, element("summary", {}), element("div", { className: "parts" }));
  updateCall(block, call);
  return block;
}

/** Shows a call that has grown. */
export function updateCall(block, { name, arguments: text, result }) {
  const [summary, parts] = block.children;
  const [state, detail] = result === undefined ? ["Calls", "no result yet"] : ["Called", ""];
  summary.replaceChildren(`${state} `, element("code", {}, name), detail && ` · ${detail}`);
  parts.replaceChildren(part("Arguments", indented(text)));
  if (result !== undefined) parts.append(part("Result", indented(result)));
}

function part(name, text) {
  const shown = element("pre", { tabIndex: 0, role: "region", ariaLabel: name }, element("code", {}, text));
  return element("div", {}, element("p", { className: "note" }, name), shown);
}

/** JSON with line breaks; other text as it is. */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Whether a message ended with calls whose results the model waits for. */
export const waitsForResults = ({ calls }) => Boolean(calls?.some(({ result }) => result === undefined));

/**
 * Fields for the results of calls: the page runs no tools, the user does.
 *
 * @param send is called with the texts, in the order of the calls that have no result
 */
export function resultsForm(calls, send) {
  const fields = calls.filter(({ result }) => result === undefined).map(({ name }) => [
    name, element("textarea", { rows: 2, ariaLabel: `Result of ${name}` }),
  ]);
  const labelled = fields.flatMap(([name, field]) => [element("p", { className: "note" }, `Result of ${name}`), field]);
  const form = element("form", { className: "results", ariaLabel: "Results of the calls" },
    ...labelled, button("Send results", null, { type: "submit" }));
  form.onsubmit = (event) => {
    event.preventDefault();
    send(fields.map(([, field]) => field.value));
  };
  return form;
}
