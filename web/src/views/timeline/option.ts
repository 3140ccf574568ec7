// The option of the timeline's chart: heap in layers, collections, allocation rate, one below the other on one time axis.

import type { Timeline } from "../../api/types";
import type { CustomSeriesOption, EChartsOption } from "../../components/echarts";
import { bytes, count, duration } from "../../lib/format";
import { cut, visible } from "../../lib/text";
import { SERIES } from "../../lib/colours";
import type { Measure, Stack } from "./series";

export interface Shown {
  timeline: Timeline;
  stack: Stack;
  measure: Measure;
  /** Places of states: the chosen one, and the window. */
  chosen: number | null;
  window: [number, number] | null;
}

const label = (text: string) => visible(cut(text, 60));

export function chartOption(shown: Shown, ink: (token: string) => string): EChartsOption {
  const { timeline, stack, measure } = shown;
  const { layers } = stack;
  const show = measure === "bytes" ? bytes : count;
  const times = timeline.states.map((state) => state.time);
  const end = Math.max(timeline.duration_ns, times.at(-1) ?? 0, 1);
  const hasEvents = timeline.gcs.length > 0 || timeline.allocation_rates.length > 0;
  const axis = { axisLine: { lineStyle: { color: ink("line-strong") } }, axisTick: { show: false } };
  const split = { splitLine: { lineStyle: { color: ink("line") } } };
  const time = (index: number, labels: boolean) => ({
    type: "value" as const,
    gridIndex: index,
    min: 0,
    max: end,
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
        { left: 74, right: 20, top: 30, height: "54%" },
        { left: 74, right: 20, top: "68%", height: "10%" },
        { left: 74, right: 20, top: "85%", height: "8%" },
      ]
    : [{ left: 74, right: 20, top: 30, bottom: 30 }];

  const lines = timeline.marks.map((mark) => ({
    xAxis: mark.time_ns,
    label: { formatter: label(mark.text), color: ink("muted"), position: "insideEndTop" as const },
    lineStyle: { color: ink("muted"), type: "dashed" as const },
  }));
  for (const violation of timeline.violations) {
    lines.push({
      xAxis: violation.time_ns,
      label: { formatter: label(violation.kind), color: ink("high"), position: "insideEndTop" as const },
      lineStyle: { color: ink("high"), type: "dashed" as const },
    });
  }
  if (shown.chosen !== null && times[shown.chosen] !== undefined) {
    lines.push({
      xAxis: times[shown.chosen]!,
      label: { formatter: "", color: ink("brand"), position: "insideEndTop" as const },
      lineStyle: { color: ink("brand"), type: "solid" as never },
    });
  }
  const areas: object[][] = [];
  const area = (from: number, to: number, name: string, token: string) => {
    if (times[from] === undefined || times[to] === undefined) return;
    areas.push([
      {
        xAxis: times[from],
        name,
        itemStyle: { color: ink(token), opacity: 0.12 },
        label: { color: ink(token), position: "insideTopLeft", fontSize: 11 },
      },
      { xAxis: times[to] },
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
  const usedMost = measure === "bytes" ? usedHeap.map(([, size]) => size) : [];
  const highest = [...totals, ...usedMost].reduce((a, b) => Math.max(a, b), 1);
  const fastest = timeline.allocation_rates.reduce((a, b) => Math.max(a, b), 1);
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
          data: timeline.allocation_rates.map((rate, i, all) => [(i * end) / all.length, rate]),
        },
      ]
    : [];

  return {
    grid: grids,
    xAxis: grids.map((_, i) => time(i, i === grids.length - 1)),
    yAxis: [
      value(0, measure, show, highest, measure === "bytes" ? byteStep(highest, 5) : undefined),
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
      formatter: (entries: unknown) => tooltip(entries, show),
    },
    axisPointer: { lineStyle: { color: ink("line-strong") } },
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
  value: [number, number];
}

function tooltip(entries: unknown, show: (n: number) => string): string {
  const list = (Array.isArray(entries) ? entries : [entries]) as Entry[];
  const first = list[0];
  if (!first) return "";
  const lines = list.map((entry) => {
    const format =
      entry.seriesName === "pauses"
        ? (n: number) => `${n.toFixed(1)} ms`
        : entry.seriesName === "allocation"
          ? (n: number) => `${bytes(Math.round(n))}/s`
          : entry.seriesName.startsWith("used")
            ? bytes
            : show;
    return `${label(entry.seriesName)}   ${format(entry.value[1])}`;
  });
  return [duration(first.value[0]), ...lines].join("\n");
}
