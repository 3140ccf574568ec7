// TanStack's virtualizer as Svelte state: which of many lines of equal height are in sight.

import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from "@tanstack/virtual-core";
import { untrack } from "svelte";

export class VirtualLines {
  items = $state.raw<VirtualItem[]>([]);
  height = $state(0);
  private readonly virtualizer: Virtualizer<HTMLElement, HTMLElement>;

  constructor(
    private readonly element: () => HTMLElement | null,
    private readonly count: () => number,
    private readonly lineHeight: number,
  ) {
    this.virtualizer = new Virtualizer(this.options());
    $effect(() => {
      if (!this.element()) return;
      const stop = this.virtualizer._didMount();
      untrack(() => this.update());
      return stop;
    });
    $effect(() => {
      this.count();
      untrack(() => this.update());
    });
  }

  reveal(index: number): void {
    this.virtualizer.scrollToIndex(index, { align: "auto" });
  }

  private update(): void {
    this.virtualizer.setOptions(this.options());
    this.virtualizer._willUpdate();
    this.virtualizer.measure();
    this.take();
  }

  private take(): void {
    this.items = this.virtualizer.getVirtualItems();
    this.height = this.virtualizer.getTotalSize();
  }

  private options() {
    return {
      count: untrack(this.count),
      getScrollElement: this.element,
      estimateSize: () => this.lineHeight,
      overscan: 10,
      // The line with the titles stays in sight above the others.
      scrollPaddingStart: this.lineHeight,
      observeElementRect,
      observeElementOffset,
      scrollToFn: elementScroll,
      onChange: () => this.take(),
    };
  }
}
