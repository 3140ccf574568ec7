// What the timeline shows: the largest types or packages over the states, and all others as one.

import type { Timeline } from "../../api/types";

export interface Layer {
  name: string;
  values: number[];
}

export type Measure = "bytes" | "objects";

/** `java.util` of `java.util.HashMap$Node[]`; arrays of primitives are a package of their own. */
export function packageOf(type: string): string {
  const element = type.replace(/(\[\])+$/, "");
  const dot = element.lastIndexOf(".");
  if (dot >= 0) return element.slice(0, dot);
  return element !== type && /^(byte|char|short|int|long|float|double|boolean)$/.test(element)
    ? "(arrays of primitives)"
    : "(unnamed package)";
}

export function layers(timeline: Timeline, measure: Measure, by: "type" | "package", most: number): Layer[] {
  const groups = new Map<string, number[]>();
  for (const type of timeline.types) {
    const name = by === "type" ? type.type : packageOf(type.type);
    const sum = groups.get(name);
    const values = type[measure];
    if (sum) values.forEach((value, i) => (sum[i] = (sum[i] ?? 0) + value));
    else groups.set(name, [...values]);
  }
  const peak = (layer: Layer) => layer.values.reduce((a, b) => Math.max(a, b), 0);
  const all = [...groups].map(([name, values]) => ({ name, values })).sort((a, b) => peak(b) - peak(a));
  const shown = all.slice(0, most);
  const rest = all.slice(most);
  if (rest.length) {
    const values = timeline.states.map((_, i) =>
      rest.reduce((sum, layer) => sum + (layer.values[i] ?? 0), 0),
    );
    shown.push({ name: `${rest.length} others`, values });
  }
  return shown;
}

/** The state nearest to a time. */
export function nearest(times: number[], time: number): number {
  let best = 0;
  times.forEach((t, i) => {
    if (Math.abs(t - time) < Math.abs(times[best]! - time)) best = i;
  });
  return best;
}
