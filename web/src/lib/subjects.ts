// What notes are about: what a page shows, as something to note on, and the way back from a note.

import type { Note, NoteKind } from "../api/types";
import { type Place, type RouteParams, STICKY } from "./route.svelte";
import { VIEWS } from "./views";

export interface Subject {
  kind: NoteKind;
  about: string;
  label: string;
}

/** What the page shows: an object, a group, or a view with its choices. */
export function subjectOf(place: Place): Subject {
  const { view, params } = place;
  if (view === "object" && params.address) {
    return { kind: "object", about: params.address, label: params.address };
  }
  if (view === "group" && params.g) return { kind: "group", about: params.g, label: params.g };
  const query = new URLSearchParams();
  const shown = Object.entries(params).filter(([name, value]) => value !== "" && !STICKY.includes(name));
  for (const [name, value] of shown) query.set(name, value);
  const text = query.toString();
  const title = VIEWS.find((one) => one.id === view)?.title ?? view;
  const choices = shown.map(([name, value]) => `${name} ${value}`).join(", ");
  return {
    kind: "view",
    about: text ? `${view}?${text}` : view,
    label: choices ? `${title}: ${choices}` : title,
  };
}

/** The view that shows what a note is about. */
export function wayTo(note: Subject): { view: string; params: RouteParams } {
  switch (note.kind) {
    case "object":
      return { view: "object", params: { address: note.about } };
    case "group":
      return { view: "group", params: { g: note.about } };
    case "suspect":
      return { view: "start", params: {} };
    case "view": {
      const [view = "start", query = ""] = note.about.split(/\?(.*)/s);
      return { view, params: Object.fromEntries(new URLSearchParams(query)) };
    }
  }
}

/** The note on something, if there is one. */
export function noteOn(notes: Note[], subject: Subject): Note | undefined {
  return notes.find((note) => note.kind === subject.kind && note.about === subject.about);
}
