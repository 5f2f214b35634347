// What the page holds: all conversations, the one that is shown, and the answers that are being written.

import { shownMessages } from "./branches.js";
import { bestModel } from "./models.js";
import { report } from "./notice.js";
import { defaultSettings, loadAll, newConversation, preference, save } from "./store.js";

export const state = {
  conversations: loadAll(),
  /** The conversation that is shown. */
  current: null,
  /** Answers by conversation: each goes on while another conversation is shown. */
  answers: new Map(),
  /** Shows all of it; the page sets it when it is ready. */
  show() {},
};

export const messagesShown = () => shownMessages(state.current);
export const isAnswering = () => state.answers.has(state.current);

/** An empty conversation, which is in the list from now on. */
export function addConversation() {
  const preferred = state.current?.model ?? preference.get("model");
  const conversation = newConversation(bestModel(preferred) ?? preferred, defaultSettings.get());
  state.conversations.unshift(conversation);
  return conversation;
}

/** Stores a conversation that is in the list and has something of its own in it; what cannot be stored is said. */
export function keep(conversation) {
  const hasOwnSettings = JSON.stringify(conversation.settings) !== JSON.stringify(defaultSettings.get());
  if (!conversation.messages.length && !hasOwnSettings) return;
  if (!state.conversations.includes(conversation)) return;
  try {
    save(conversation);
  } catch (error) {
    report(error);
  }
}

/** Stores and shows a conversation that has changed. */
export function changed(conversation) {
  conversation.updated = Date.now();
  keep(conversation);
  state.show();
}
