// What the timeline shows: the heap in layers, or as a whole as long as nobody has split it.

import type { Layers, Timeline, TimelineState } from "../../api/types";
import { bytes, duration, plural } from "../../lib/format";

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

export type MarkerKind = "mark" | "violation" | "out of memory" | "full collection";

/** Something that happened, which is marked on the time axis. */
export interface Marker {
  time: number;
  kind: MarkerKind;
  text: string;
}

/** How the recorder marks the state of a full heap. */
const OUT_OF_MEMORY = "out of memory";

/** Marks, violated assertions, errors for lack of memory and full collections, the earliest first. */
export function markers(timeline: Timeline): Marker[] {
  const found: Marker[] = [
    ...timeline.marks.map((mark) => ({ time: mark.time_ns, kind: "mark" as const, text: mark.text })),
    ...timeline.violations.map((violation) => ({
      time: violation.time_ns,
      kind: "violation" as const,
      text: `${violation.kind} · ${violation.class}`,
    })),
    ...timeline.gcs
      .filter((gc) => gc.full)
      .map((gc) => ({
        time: gc.start_ns,
        kind: "full collection" as const,
        text: `${gc.cause || gc.collector}, ${duration(gc.end_ns - gc.start_ns)}${
          gc.used_before === null || gc.used_after === null
            ? ""
            : `, ${bytes(gc.used_before)} → ${bytes(gc.used_after)}`
        }`,
      })),
  ];
  const known = new Set(timeline.marks.map((mark) => mark.text));
  for (const state of timeline.states) {
    if (state.mark === null || known.has(state.mark)) continue;
    const kind = state.mark === OUT_OF_MEMORY ? "out of memory" : "mark";
    found.push({ time: state.time, kind, text: kind === "mark" ? state.mark : "OutOfMemoryError" });
  }
  return found.sort((a, b) => a.time - b.time);
}

/** The highest of some points of a curve in a part of the time, with those right beside it: lines lead to them. */
export function highest(points: [time: number, value: number][], from: number, to: number): number {
  const first = points.findIndex(([time]) => time >= from);
  const start = Math.max(0, (first < 0 ? points.length : first) - 1);
  let most = 0;
  for (let i = start; i < points.length; i++) {
    most = Math.max(most, points[i]![1]);
    if (points[i]![0] > to) break;
  }
  return most;
}
