// What a person has done to a view that is not part of its address: rows that are expanded, what is selected, how far it
// is scrolled. It is kept for each entry of the browser's history, so that back shows what one has left.

import { untrack } from "svelte";
import { route } from "./route.svelte";

/** Entries of the history that are remembered, the latest ones. */
const MOST = 60;

const visits = new Map<string, Map<string, unknown>>();
const savers = new Set<(entry: string) => void>();

route.onleave((entry) => {
  for (const save of savers) save(entry);
});

function keep(entry: string, name: string, value: unknown): void {
  const visit = visits.get(entry) ?? new Map<string, unknown>();
  visits.delete(entry);
  visits.set(entry, visit);
  visit.set(name, value);
  for (const oldest of visits.keys()) {
    if (visits.size <= MOST) break;
    visits.delete(oldest);
  }
}

/**
 * Saves something whenever the person goes elsewhere, and restores it where they come back to; nothing where they come to
 * for the first time. To be called while a component is made.
 */
export function remember<T>(
  name: () => string,
  save: () => T,
  restore: (saved: T | undefined) => void,
): void {
  $effect(() => {
    const mine = name();
    const saver = (entry: string) => keep(entry, mine, untrack(save));
    savers.add(saver);
    return () => savers.delete(saver);
  });
  $effect(() => {
    const saved = visits.get(route.entry)?.get(name()) as T | undefined;
    untrack(() => restore(saved));
  });
}
