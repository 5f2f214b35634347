// Stores the unsent message of each conversation in this browser.

import { preference } from "./store.js";

/** Conversations without messages are not stored and get a new id each time: they share a draft. */
const nameOf = ({ id, messages }) => `draft.${messages.length ? id : "new"}`;

export const draftOf = (conversation) => preference.get(nameOf(conversation)) ?? "";

export function keepDraft(conversation, text) {
  if (text) preference.set(nameOf(conversation), text);
  else preference.remove(nameOf(conversation));
}
