// The page's state: all conversations, the current one, and the running answers.

import { shownMessages } from "./branches.js";
import { bestModel } from "./models.js";
import { report } from "./notice.js";
import { defaultSettings, loadAll, newConversation, preference, save } from "./store.js";

export const state = {
  conversations: loadAll(),
  /** The current conversation. */
  current: null,
  /** Running answers by conversation; they continue while another conversation is shown. */
  answers: new Map(),
  /** Renders everything; chat.js sets it. */
  show() {},
  /** Renders the list of conversations and the title; chat.js sets it. */
  showLibrary() {},
  /** Called when an answer has begun to wait; chat.js sets it. */
  asked() {},
};

export const messagesShown = () => shownMessages(state.current);
export const isAnswering = () => state.answers.has(state.current);

/** Adds an empty conversation to the list. */
export function addConversation() {
  const preferred = state.current?.model ?? preference.get("model");
  const conversation = newConversation(bestModel(preferred) ?? preferred, defaultSettings.get());
  state.conversations.unshift(conversation);
  return conversation;
}

/** Stores a listed conversation that has messages or its own settings; reports a failure. */
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
