// Folded blocks of an answer: reasoning, and tool calls with their results.

import { button, element } from "./dom.js";

/** The model's reasoning, folded. */
export function thoughtsBlock(text) {
  return element("details", { className: "block thoughts" }, element("summary", {}, "Thoughts"), element("p", {}, text));
}

/** A tool call, folded: shows the name; opened, also arguments and result. */
export function callBlock(call) {
  const block = element("details", { className: "block call" }, element("summary", {}), element("div", { className: "parts" }));
  updateCall(block, call);
  return block;
}

/** Updates the block of a growing call. */
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

/** Whether a message has calls without results. */
export const waitsForResults = ({ calls }) => Boolean(calls?.some(({ result }) => result === undefined));

/**
 * A form for the results of calls: the user gives them, or lets a tool with an address run.
 *
 * @param tools {addressOf(name), run(call)}: where a tool runs, `undefined` if nowhere; runs a call
 * @param send called with the results, in the order of the calls without one
 */
export function resultsForm(calls, { addressOf, run }, send) {
  const waiting = calls.filter(({ result }) => result === undefined);
  const fields = waiting.map(({ name }) => [name, element("textarea", { rows: 2, ariaLabel: `Result of ${name}` })]);
  const labelled = fields.flatMap(([name, field], index) => [
    element("p", { className: "note" }, `Result of ${name}`),
    ...(addressOf(name) ? [runOffer(waiting[index], addressOf(name), field)] : []),
    field,
  ]);
  const form = element("form", { className: "results", ariaLabel: "Results of the calls" },
    ...labelled, button("Send results", null, { type: "submit" }));

  /** Asks before a call goes to its tool: shows where, and with which arguments. */
  function runOffer(call, address, field) {
    const failure = element("p", { className: "note", role: "status" });
    const start = button(`Run ${call.name}`, async () => {
      start.disabled = true;
      failure.textContent = `Running at ${address}…`;
      try {
        field.value = await run(call);
        failure.textContent = "";
        if (fields.every(([, each]) => each.value !== "")) form.requestSubmit();
      } catch (error) {
        failure.textContent = error.message;
        start.disabled = false;
      }
    });
    const sent = element("pre", { tabIndex: 0, role: "region", ariaLabel: `Arguments of ${call.name}` },
      element("code", {}, indented(call.arguments)));
    return element("div", { className: "offer" }, element("p", {}, "Send this to ", element("code", {}, address), "?"), sent, start, failure);
  }

  form.onsubmit = (event) => {
    event.preventDefault();
    send(fields.map(([, field]) => field.value));
  };
  return form;
}
