// The option of the timeline's chart: heap in layers, collections, allocation rate, one below the other on one time axis.

import type { Timeline } from "../../api/types";
import type { CustomSeriesOption, EChartsOption } from "../../components/echarts";
import { bytes, count, duration } from "../../lib/format";
import { cut, visible } from "../../lib/text";
import { SERIES } from "../../lib/colours";
import type { Span } from "../../lib/span";
import { highest, type Marker, type Measure, type Stack } from "./series";

export interface Shown {
  timeline: Timeline;
  stack: Stack;
  measure: Measure;
  /** Places of states: the chosen one, and the window. */
  chosen: number | null;
  window: [number, number] | null;
  /** The part of the time that is in sight. */
  span: Span;
  markers: Marker[];
}

/** Room beside the chart, in pixels. */
export const LEFT = 74;
export const RIGHT = 20;

/** Of many markers the names would cover each other. */
const MOST_NAMED = 14;

const label = (text: string) => visible(cut(text, 60));

export function chartOption(shown: Shown, ink: (token: string) => string): EChartsOption {
  const { timeline, stack, measure } = shown;
  const { layers } = stack;
  const show = measure === "bytes" ? bytes : count;
  const times = timeline.states.map((state) => state.time);
  const { span } = shown;
  const inSight = (time: number) => time >= span.from && time <= span.to;
  const hasEvents = timeline.gcs.length > 0 || timeline.allocation_rates.length > 0;
  const axis = { axisLine: { lineStyle: { color: ink("line-strong") } }, axisTick: { show: false } };
  const split = { splitLine: { lineStyle: { color: ink("line") } } };
  const time = (index: number, labels: boolean) => ({
    type: "value" as const,
    gridIndex: index,
    min: span.from,
    max: span.to,
    ...axis,
    splitLine: { show: false },
    axisLabel: {
      show: labels,
      color: ink("muted"),
      formatter: (ns: number) => duration(ns),
      hideOverlap: true,
    },
  });
  const value = (
    index: number,
    name: string,
    format: (n: number) => string,
    most: number,
    step?: number,
  ) => ({
    type: "value" as const,
    gridIndex: index,
    name,
    nameLocation: "end" as const,
    nameGap: 8,
    nameTextStyle: { align: "left" as const, color: ink("muted") },
    ...split,
    splitNumber: index === 0 ? 5 : 2,
    interval: step,
    max: step === undefined ? undefined : Math.ceil((1.02 * most) / step) * step,
    axisLabel: { color: ink("muted"), formatter: (n: number) => format(n).replace(".0 ", " ") },
  });
  const grids = hasEvents
    ? [
        { left: LEFT, right: RIGHT, top: 30, height: "54%" },
        { left: LEFT, right: RIGHT, top: "68%", height: "10%" },
        { left: LEFT, right: RIGHT, top: "85%", height: "8%" },
      ]
    : [{ left: LEFT, right: RIGHT, top: 30, bottom: 30 }];

  // Full collections have their bars.
  const marked = shown.markers.filter((marker) => marker.kind !== "full collection" && inSight(marker.time));
  const lines = marked.map((marker) => {
    const color = ink(marker.kind === "mark" ? "muted" : "high");
    return {
      xAxis: marker.time,
      label: {
        formatter: marked.length > MOST_NAMED ? "" : label(marker.text),
        color,
        position: "insideEndTop" as const,
      },
      lineStyle: { color, type: "dashed" as const },
    };
  });
  const at = shown.chosen === null ? undefined : times[shown.chosen];
  if (at !== undefined && inSight(at)) {
    lines.push({
      xAxis: at,
      label: { formatter: "", color: ink("brand"), position: "insideEndTop" as const },
      lineStyle: { color: ink("brand"), type: "solid" as never },
    });
  }
  const areas: object[][] = [];
  const area = (from: number, to: number, name: string, token: string) => {
    const start = Math.max(times[from] ?? Infinity, span.from);
    const end = Math.min(times[to] ?? -Infinity, span.to);
    if (start >= end) return;
    areas.push([
      {
        xAxis: start,
        name,
        itemStyle: { color: ink(token), opacity: 0.12 },
        label: { color: ink(token), position: "insideTopLeft", fontSize: 11 },
      },
      { xAxis: end },
    ]);
  };
  if (timeline.leak_window) area(timeline.leak_window.from, timeline.leak_window.to, "leak window", "medium");
  if (shown.window) area(shown.window[0], shown.window[1], "window", "accent");

  const totals = stack.times.map((_, k) => layers.reduce((sum, layer) => sum + (layer.values[k] ?? 0), 0));
  // Some JVMs do not tell it of every collection.
  const usedHeap = timeline.gcs
    .flatMap((gc): [number, number | null][] => [
      [gc.start_ns, gc.used_before],
      [gc.end_ns, gc.used_after],
    ])
    .filter((point): point is [number, number] => point[1] !== null);
  const heights = stack.times.map((time, k): [number, number] => [time, totals[k] ?? 0]);
  const highestUsed = measure === "bytes" ? highest(usedHeap, span.from, span.to) : 0;
  const most = Math.max(1, highest(heights, span.from, span.to), highestUsed);
  const end = Math.max(timeline.duration_ns, times.at(-1) ?? 0, 1);
  const rates = timeline.allocation_rates.map((rate, i, all): [number, number] => [
    (i * end) / all.length,
    rate,
  ]);
  const fastest = Math.max(1, highest(rates, span.from, span.to));
  const few = stack.times.length < 60;
  const stacked = layers.map((layer, i) => ({
    type: "line" as const,
    name: layer.name,
    stack: "heap",
    data: layer.values.map((v, k) => [stack.times[k]!, v]),
    symbol: few ? "circle" : "none",
    symbolSize: 4,
    lineStyle: { width: 1 },
    areaStyle: { opacity: 0.55 },
    color: i < SERIES.length ? SERIES[i] : ink("line-strong"),
    emphasis: { disabled: true },
  }));
  const overlay = {
    type: "line" as const,
    name: "marks",
    data: [],
    markLine: { symbol: "none", silent: true, data: lines },
    markArea: { silent: true, data: areas },
  };
  const used =
    measure === "bytes" && usedHeap.length > 0
      ? [
          {
            type: "line" as const,
            name: "heap used before and after collections",
            data: usedHeap,
            symbol: "none",
            lineStyle: { width: 1, color: ink("faint"), opacity: 0.8 },
            color: ink("faint"),
          },
        ]
      : [];
  const events = hasEvents
    ? [
        {
          type: "custom" as const,
          name: "pauses",
          xAxisIndex: 1,
          yAxisIndex: 1,
          renderItem: stem,
          clip: true,
          data: timeline.gcs.map((gc) => ({
            value: [gc.start_ns, (gc.end_ns - gc.start_ns) / 1e6],
            itemStyle: { color: gc.full ? ink("high") : ink("survived") },
          })),
        },
        {
          type: "line" as const,
          name: "allocation",
          xAxisIndex: 2,
          yAxisIndex: 2,
          step: "end" as const,
          symbol: "none",
          areaStyle: { opacity: 0.25 },
          lineStyle: { width: 1 },
          color: ink("shallow"),
          data: rates,
        },
      ]
    : [];

  return {
    grid: grids,
    xAxis: grids.map((_, i) => time(i, i === grids.length - 1)),
    yAxis: [
      value(0, measure, show, most, measure === "bytes" ? byteStep(most, 5) : undefined),
      ...(hasEvents
        ? [
            value(1, "GC pauses", (ms) => `${ms} ms`, 0),
            value(2, "allocated per second", bytes, fastest, byteStep(fastest, 2)),
          ]
        : []),
    ],
    tooltip: {
      trigger: "axis",
      renderMode: "richText",
      confine: true,
      backgroundColor: ink("surface"),
      borderColor: ink("line-strong"),
      textStyle: { color: ink("text"), fontSize: 12 },
      formatter: (entries: unknown) => tooltip(entries, show, layers.length),
    },
    // One line through all, as a ruler.
    axisPointer: { link: [{ xAxisIndex: "all" }], lineStyle: { color: ink("muted"), type: "dashed" } },
    series: [...stacked, ...used, overlay, ...events] as EChartsOption["series"],
  };
}

type RenderItem = NonNullable<CustomSeriesOption["renderItem"]>;

/** A collection stands where it was, however many there are. */
const stem: RenderItem = (_, api) => {
  const [x = 0, top = 0] = api.coord([api.value(0), api.value(1)]);
  const [, bottom = 0] = api.coord([api.value(0), 0]);
  return {
    type: "rect",
    shape: { x: x - 1.5, y: top, width: 3, height: Math.max(1, bottom - top) },
    style: { fill: String(api.visual("color")) },
  };
};

/** The distance of lines on an axis of bytes: 1, 2 or 5 times a power of ten of a unit, so that labels are round. */
export function byteStep(most: number, lines: number): number {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log(Math.max(1, most / lines)) / Math.log(1024)));
  const rough = most / lines / unit;
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const factor = [1, 2, 5, 10].find((f) => f * power >= 0.8 * rough) ?? 10;
  return factor * power * unit;
}

interface Entry {
  seriesName: string;
  seriesIndex: number;
  value: [number, number];
}

/** What is under the pointer, with the sum of the layers, which come first among the series. */
export function tooltip(entries: unknown, show: (n: number) => string, layers: number): string {
  const list = (Array.isArray(entries) ? entries : [entries]) as Entry[];
  const first = list[0];
  if (!first) return "";
  const line = (entry: Entry) => {
    const format =
      entry.seriesName === "pauses"
        ? (n: number) => `${n.toFixed(1)} ms`
        : entry.seriesName === "allocation"
          ? (n: number) => `${bytes(Math.round(n))}/s`
          : entry.seriesIndex >= layers
            ? bytes
            : show;
    return `${label(entry.seriesName)}   ${format(entry.value[1])}`;
  };
  const stacked = list.filter((entry) => entry.seriesIndex < layers);
  const sum = stacked.reduce((total, entry) => total + entry.value[1], 0);
  const total = stacked.length > 1 ? [`total   ${show(sum)}`] : [];
  return [duration(first.value[0]), ...total, ...list.map(line)].join("\n");
}
