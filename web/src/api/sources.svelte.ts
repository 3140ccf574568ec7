// The files that the server has open, kept up to date while they are read.

import { ApiError, ask, SOURCES_URL } from "./client";
import { listen } from "./events.svelte";
import type { Source } from "./types";

class Sources {
  list = $state.raw<Source[]>([]);
  error = $state.raw<ApiError>();
  known = $state(false);

  async refresh(): Promise<void> {
    try {
      const { sources } = await ask(SOURCES_URL, { fresh: true });
      this.list = sources;
      this.error = undefined;
      this.known = true;
    } catch (cause) {
      if (cause instanceof ApiError) this.error = cause;
      else throw cause;
    }
  }

  find(id: string): Source | undefined {
    return this.list.find((source) => String(source.id) === id);
  }
}

export const sources = new Sources();

const RETRY_MS = 1500;

/** Loads the list, again until the server answers, and follows its changes. */
export async function followSources(): Promise<void> {
  listen(() => void sources.refresh());
  do {
    await sources.refresh();
    if (!sources.known) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  } while (!sources.known);
}
