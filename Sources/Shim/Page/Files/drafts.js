// Stores the unsent message of each conversation in this browser.

import { preference } from "./store.js";

/** Conversations without messages are not stored and get a new id each time: they share a draft. */
const nameOf = ({ id, messages }) => `draft.${messages.length ? id : "new"}`;

export const draftOf = (conversation) => preference.get(nameOf(conversation)) ?? "";

/** What goes with the draft: {images, documents}, lists with {id, name} of each. */
export function draftAttached(conversation) {
  try {
    return { ...nothing, ...JSON.parse(preference.get(`${nameOf(conversation)}.attached`)) };
  } catch {
    return nothing;
  }
}

const nothing = { images: [], documents: [] };

export function keepDraftAttached(conversation, { images, documents } = nothing) {
  const name = `${nameOf(conversation)}.attached`;
  if (images.length || documents.length) preference.set(name, JSON.stringify({ images, documents }));
  else preference.remove(name);
}

export function keepDraft(conversation, text) {
  if (text) preference.set(nameOf(conversation), text);
  else preference.remove(nameOf(conversation));
}
