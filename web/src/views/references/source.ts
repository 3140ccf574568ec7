// References level by level: those of single objects, or of groups merged by field and class.

import { type Address, ask } from "../../api/client";
import type { AnswerTo, Options, ReferenceRow } from "../../api/types";
import type { TreeSource } from "../../lib/tree.svelte";

export interface RefRow extends ReferenceRow {
  /** Whether it is what one started with. */
  start: boolean;
  /** The steps from the start to here, when references are merged. */
  steps: string[];
}

export interface Start {
  group: string;
  direction: "incoming" | "outgoing";
  merged: boolean;
}

type Asked = Options<"references">;

/** What one started with as the only row at the top, and its references below. */
export function referenceTree(
  start: Start,
  address: (options: Asked) => Address<AnswerTo<"references">> | null,
  onstart: (row: ReferenceRow) => void,
): TreeSource<RefRow> {
  const { group, direction, merged } = start;
  return {
    async load(row, offset, limit) {
      const of = merged ? group : (row?.address ?? group);
      const step = row?.steps ?? [];
      const page = row ? { offset, limit } : { offset: 0, limit: 1 };
      const url = address({ group: of, direction, merged, ...(step.length ? { step } : {}), ...page });
      if (url === null) return { rows: [], rest: 0 };
      const found = await ask(url);
      if (!row) {
        onstart(found.from);
        const top = { ...found.from, further: found.total > 0, start: true, steps: [] };
        return { rows: [top], rest: 0 };
      }
      const rows = found.rows.map((one) => ({
        ...one,
        start: false,
        steps: merged ? [...step, one.step] : [],
      }));
      return { rows, rest: rows.length ? found.total - offset - rows.length : 0 };
    },
    expandable: (row) => row.further,
    key: (row) => (row.start ? "start" : merged ? row.step : `${row.via} ${row.address}`),
    leads: (row) => row.start,
  };
}

/** Rows that are unfolded, as they are written in an address; those that are unfolded anyway are left out. */
export function writeOpen(ids: string[]): string {
  const own = ids.filter((id) => id !== "start");
  return own.map((id) => id.replace(/^start\0/, "").replaceAll("\0", "~")).join("|");
}

export function readOpen(text: string | undefined): string[] {
  const ids = text ? text.split("|") : [];
  return ids.map((id) => `start\0${id.replaceAll("~", "\0")}`);
}

/** A place where one has been: the group, and what it is called. */
export interface Crumb {
  group: string;
  title: string;
}

export function writeTrail(trail: Crumb[]): string {
  return trail.map(({ group, title }) => `${group}~${title}`).join("|");
}

export function readTrail(text: string | undefined): Crumb[] {
  const crumbs = text ? text.split("|") : [];
  return crumbs.map((crumb) => {
    const [group = "", title = group] = crumb.split("~");
    return { group, title };
  });
}
