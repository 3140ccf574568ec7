// The size of the heap that shares are of.

import { answer } from "../api/answer.svelte";
import { about } from "./source.svelte";

/** Bytes of all reachable objects, as soon as they are known. To be called while a component is made. */
export function heapSize(): { readonly bytes: number | undefined } {
  const summary = answer(() => about("summary", { brief: true }));
  return {
    get bytes() {
      return summary.data?.reachable.shallow;
    },
  };
}
