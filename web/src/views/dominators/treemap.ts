// The upper part of the dominator tree as rectangles whose areas are what is retained.

import type { DominatorItem } from "../../api/types";
import type { EChartsOption } from "../../components/echarts";
import { bytes, percent, share } from "../../lib/format";
import { cut, splitLabel, visible } from "../../lib/text";
import { SERIES } from "../../lib/colours";

interface Cell {
  name: string;
  value: number;
  address?: string;
  children?: Cell[];
  itemStyle?: { color: string };
  label?: { color: string };
}

/** Colours by class, so that the same class looks the same everywhere; dark text on the light ones. */
function paint(className: string): { color: string; text: string } {
  let hash = 7;
  for (const c of className) hash = (hash * 31 + c.charCodeAt(0)) % 100_003;
  const color = SERIES[hash % SERIES.length]!;
  const light = ["#d9a21b", "#5aa9d6", "#c98fb0"].includes(color);
  return { color, text: light ? "#1c1e22" : "#ffffff" };
}

const short = (label: string) => {
  const { lead, simple, rest } = splitLabel(label);
  return visible(cut(lead + simple + rest, 70));
};

/** Rectangles of an item and those below; what is left out is empty space of the one around it. What retains
 * less than `least` is one rectangle: nobody could read what is in it. */
export function cells(item: DominatorItem, least: number): Cell {
  const { color, text } = paint(item.class ?? item.label);
  return {
    name: short(item.label),
    value: item.retained,
    address: item.address ?? undefined,
    itemStyle: { color },
    label: { color: text },
    children:
      item.children.length && item.retained >= least
        ? item.children.map((child) => cells(child, least))
        : undefined,
  };
}

export function treemapOption(tree: DominatorItem, ink: (token: string) => string): EChartsOption {
  const level = (width: number, gap: number, upper: boolean) => ({
    itemStyle: { borderColor: upper ? ink("sunken") : ink("surface"), borderWidth: width, gapWidth: gap },
    upperLabel: { show: upper },
  });
  return {
    tooltip: {
      renderMode: "richText",
      confine: true,
      backgroundColor: ink("surface"),
      borderColor: ink("line-strong"),
      textStyle: { color: ink("text"), fontSize: 12 },
      formatter: (entry: unknown) => {
        const { name, value } = entry as { name: string; value: number };
        return `${name}\n${bytes(value)} · ${percent(share(value, tree.retained))}`;
      },
    },
    series: [
      {
        type: "treemap",
        data: tree.children.map((item) => cells(item, 0.02 * tree.retained)),
        left: 0,
        right: 0,
        top: 0,
        bottom: 0,
        roam: false,
        nodeClick: false,
        breadcrumb: { show: false },
        label: { show: true, fontSize: 11, overflow: "truncate" },
        upperLabel: { show: true, height: 20, fontSize: 11, color: ink("text"), overflow: "truncate" },
        levels: [level(2, 2, false), level(2, 1, true), level(1, 1, true), level(1, 1, false)],
      },
    ],
  };
}
