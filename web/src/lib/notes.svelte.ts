// The notes on the heap that is shown, kept by the server beside its index.

import { ApiError, fetchText, notesUrl } from "../api/client";
import type { Note, Notes } from "../api/types";
import type { Subject } from "./subjects";
import { cut } from "./text";

const LONGEST_LABEL = 1000;

/** Which heap notes are on. */
export interface NotedHeap {
  source: number;
  at?: string;
}

class NoteBook {
  list = $state.raw<Note[]>([]);
  error = $state.raw<ApiError>();
  /** Whether the panel is open. */
  open = $state(false);
  /** What a view wants to be noted on, instead of what the page shows. */
  subject = $state.raw<Subject>();
  private heap: NotedHeap | undefined;

  /** Opens the panel to write about something. */
  write(subject: Subject): void {
    this.subject = subject;
    this.open = true;
  }

  async show(heap: NotedHeap | undefined): Promise<void> {
    this.heap = heap;
    this.list = [];
    this.subject = undefined;
    await this.ask("GET");
  }

  keep(subject: Subject, text: string): Promise<boolean> {
    const { kind, about } = subject;
    const label = cut(subject.label, LONGEST_LABEL);
    return this.ask("PUT", {}, JSON.stringify({ kind, about, label, text }));
  }

  remove(note: Note): Promise<boolean> {
    return this.ask("DELETE", { kind: note.kind, about: note.about });
  }

  private async ask(method: string, params: Record<string, string> = {}, body?: string): Promise<boolean> {
    const heap = this.heap;
    this.error = undefined;
    if (!heap) return false;
    try {
      const url = notesUrl(heap.source, { at: heap.at, ...params });
      const { notes } = JSON.parse(await fetchText(url, { method, body })) as Notes;
      if (heap === this.heap) this.list = notes;
      return true;
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      if (heap === this.heap) this.error = cause;
      return false;
    }
  }
}

export const noteBook = new NoteBook();
