// The objects and groups that were looked at last, by file, for as long as the tab is open.

import { current } from "./source.svelte";

export interface Visited {
  group: string;
  title: string;
}

const MOST = 8;
const KEY = "anthill.recent";

class Recent {
  private byFile = $state.raw<Record<string, Visited[]>>(read());

  get list(): Visited[] {
    return this.byFile[current()?.path ?? ""] ?? [];
  }

  /** Something is looked at: it comes first. */
  add(group: string, title: string): void {
    const path = current()?.path;
    if (!path || this.list[0]?.group === group) return;
    const others = this.list.filter((one) => one.group !== group);
    this.byFile = { ...this.byFile, [path]: [{ group, title }, ...others].slice(0, MOST) };
    sessionStorage.setItem(KEY, JSON.stringify(this.byFile));
  }
}

function read(): Record<string, Visited[]> {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as Record<string, Visited[]>;
  } catch {
    return {};
  }
}

export const recent = new Recent();
