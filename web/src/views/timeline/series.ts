// What the timeline shows: the heap in layers, or as a whole as long as nobody has split it.

import type { Layers, TimelineState } from "../../api/types";
import { plural } from "../../lib/format";

export type Measure = "bytes" | "objects";

export interface Layer {
  name: string;
  values: number[];
}

/** Layers of the heap at some moments. */
export interface Stack {
  times: number[];
  layers: Layer[];
}

export function stack(states: TimelineState[], split: Layers | undefined, measure: Measure): Stack {
  if (!split) {
    const whole = states.map((state) =>
      measure === "bytes"
        ? (state.reachable_bytes ?? state.bytes)
        : (state.reachable_objects ?? state.objects),
    );
    return { times: states.map((state) => state.time), layers: [{ name: "heap", values: whole }] };
  }
  const layers = split.rows.map((row) => ({ name: row.key, values: row[measure] }));
  if (split.others.rows > 0) {
    layers.push({ name: plural(split.others.rows, "other"), values: split.others[measure] });
  }
  // A recording that grows may have states that the split does not know yet, never the other way round.
  return { times: split.states.map((place) => states[place]?.time ?? 0), layers };
}

/** The name of a layer as it fits beside others: the last keys say most. */
export function shortened(name: string, most: number): string {
  const keys = name.split(" > ");
  let dropped = 0;
  while (dropped < keys.length - 1 && keys.slice(dropped).join(" > ").length > most) dropped += 1;
  return dropped ? ["…", ...keys.slice(dropped)].join(" > ") : name;
}

/** The state nearest to a time. */
export function nearest(times: number[], time: number): number {
  let best = 0;
  times.forEach((t, i) => {
    if (Math.abs(t - time) < Math.abs(times[best]! - time)) best = i;
  });
  return best;
}
