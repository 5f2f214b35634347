// Actions on the messages of the current conversation. Edits and new answers become branches, so no text is lost
// (branches.js).

import { Answer, emptyAnswer } from "./answer.js";
import { attachedTo } from "./attachments.js";
import { add, alternatives, choose, isEmptyAttempt, removeMessage } from "./branches.js";
import { askKey } from "./dialogs.js";
import { announce } from "./dom.js";
import { keepDraft } from "./drafts.js";
import { focusInput } from "./keys.js";
import { LiveAnswer, isScrolledToEnd, scrollToEnd } from "./live.js";
import { focusRow, showMessages, spokenText } from "./messages.js";
import { isLocal } from "./models.js";
import { notify, report } from "./notice.js";
import { changed, isAnswering, keep, messagesShown, state } from "./state.js";
import { shortened, stopTitling, titleSoon } from "./titles.js";
import { addressOf, runCall } from "./tools.js";

/** Shows the messages and the running answer. */
export function showTurns() {
  const { current } = state;
  const answer = state.answers.get(current);
  const messages = messagesShown();
  showMessages(messages.filter((message) => message !== answer?.message), { ...actions, isBusy: Boolean(answer), report });
  for (const each of state.answers.values()) each.leave();
  if (answer && messages.includes(answer.message)) answer.show(new LiveAnswer(answer.message));
}

const actions = {
  alternatives: (message) => alternatives(state.current, message),

  choose(message) {
    choose(state.current, message);
    keep(state.current);
    state.show();
  },

  edit(message, text) {
    const { role, parent, model } = message;
    const isQuestion = role === "user";
    const kept = isQuestion ? attachedTo(message) : { model, isEdited: true };
    add(state.current, { role, content: text, time: Date.now(), ...kept }, parent);
    if (isQuestion) respond();
    else changed(state.current);
    focusInput();
  },

  regenerate(message) {
    if (isAnswering()) return;
    if (isEmptyAttempt(state.current, message)) removeMessage(state.current, message);
    state.current.leaf = message.parent;
    respond();
    focusInput();
  },

  /** Whether an answer was cut and can be continued, which only local models support. */
  canProceed: (message) => message.role === "assistant" && message.content !== "" && !message.calls?.length
    && isCut(message) && isLocal(state.current.model ?? message.model),

  proceed(message) {
    run(message);
    focusInput();
  },

  tools: {
    addressOf: (name) => addressOf(state.current.settings, name),
    run: (call) => runCall(state.current.settings, call),
  },

  giveResults(message, results) {
    const waiting = message.calls.filter(({ result }) => result === undefined);
    waiting.forEach((call, index) => (call.result = results[index]));
    respond();
    focusInput();
  },

  remove(message) {
    const conversation = state.current;
    const index = messagesShown().indexOf(message);
    const putBack = removeMessage(conversation, message);
    changed(conversation);
    const action = () => {
      putBack();
      changed(conversation);
    };
    notify("Deleted a message.", { label: "Undo", action });
    if (messagesShown().length) focusRow(index);
    else focusInput();
  },
};

/** Whether an answer ended too early, or was edited: its model has not said that it is complete. */
const isCut = ({ finish, isEdited }) => isEdited || finish === null || ["length", "stopped", "interrupted"].includes(finish);

/** @param attached {images, documents} that go with the text */
export function ask(text, attached = {}) {
  const { current } = state;
  keepDraft(current, "");
  if (!current.isNamed && !current.messages.length) {
    current.title = shortened(text) || shortened(Object.values(attachedTo(attached))[0][0].name);
  }
  add(current, { role: "user", content: text, time: Date.now(), ...attachedTo(attached) });
  respond();
}

/** Regenerates the last answer, or answers a question without one. */
export function regenerateLast() {
  const last = messagesShown().at(-1);
  if (!last || isAnswering()) return;
  if (last.role === "assistant") actions.regenerate(last);
  else respond();
}

/** Starts an answer to the messages shown. */
function respond() {
  run(add(state.current, emptyAnswer(state.current.model)));
}

/** A conversation has got a title. */
function titled(conversation) {
  keep(conversation);
  state.showLibrary();
}

/** Runs an answer, or continues one. */
async function run(message) {
  const conversation = state.current;
  const before = messagesShown().filter((each) => each !== message);
  const answer = new Answer(conversation, before, message);
  state.answers.set(conversation, answer);
  changed(conversation);
  scrollToEnd();
  announce("Answering.");
  stopTitling();
  state.asked();

  await answer.run({
    changed: () => conversation === state.current && state.showFigures(),
    keep: () => keep(conversation),
    needsKey: (reason) => askKey(reason),
  });
  state.answers.delete(conversation);
  answer.leave();
  keep(conversation);
  if (!message.error) titleSoon(conversation, titled);
  if (conversation !== state.current) return;
  const { activeElement } = document;
  const isAtEnd = isScrolledToEnd();
  state.show();
  if (isAtEnd) scrollToEnd();
  if (!activeElement.isConnected) focusInput();
  announce(message.error ?? spokenText(message));
  state.answered();
}
