// Stores the unsent message of each conversation in this browser.

import { preference } from "./store.js";

/** Conversations without messages are not stored and get a new id each time: they share a draft. */
const nameOf = ({ id, messages }) => `draft.${messages.length ? id : "new"}`;

export const draftOf = (conversation) => preference.get(nameOf(conversation)) ?? "";

/** Images that go with the draft: {id, name} of each. */
export function draftImages(conversation) {
  try {
    return JSON.parse(preference.get(`${nameOf(conversation)}.images`)) ?? [];
  } catch {
    return [];
  }
}

export function keepDraftImages(conversation, images) {
  if (images.length) preference.set(`${nameOf(conversation)}.images`, JSON.stringify(images));
  else preference.remove(`${nameOf(conversation)}.images`);
}

export function keepDraft(conversation, text) {
  if (text) preference.set(nameOf(conversation), text);
  else preference.remove(nameOf(conversation));
}
