// Progress of what the server works on, as server-sent events. Read with fetch, since an EventSource cannot send
// the token.

import { SvelteMap } from "svelte/reactivity";
import { EVENTS_URL } from "./client";
import { authorization } from "./token";
import type { ServerEvent } from "./types";

export interface Progress {
  phase: string;
  /** From 0 to 1; null if it cannot be told. */
  share: number | null;
}

/** What is being done, by the job it is done for. */
export const jobs = new SvelteMap<string, Progress>();

const RETRY_MS = 2000;

/** Follows the events; `onSources` is called when the sources may have changed, and when the server is away. */
export function listen(onSources: () => void): void {
  void follow(onSources);
}

async function follow(onSources: () => void): Promise<never> {
  for (;;) {
    try {
      const response = await fetch(EVENTS_URL, { headers: authorization(), cache: "no-store" });
      if (response.ok && response.body) {
        onSources();
        await read(response.body, onSources);
      }
    } catch {
      // The server is away: asking for the sources tells the person.
    }
    onSources();
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function read(body: ReadableStream<Uint8Array>, onSources: () => void): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) take(event, onSources);
  }
}

function take(event: string, onSources: () => void): void {
  const data = event
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).trim())
    .join("\n");
  if (!data) return;
  let message: ServerEvent;
  try {
    message = JSON.parse(data);
  } catch {
    return;
  }
  if (message.event === "sources") onSources();
  else for (const job of message.jobs) jobs.set(job, { phase: message.phase, share: message.share });
}
