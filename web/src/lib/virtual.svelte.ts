// Which of many lines of equal height are in sight. All of them together may be as high as browsers draw: about a million.

import { untrack } from "svelte";

export interface Item {
  index: number;
  /** Pixels from the top of the first line. */
  start: number;
}

/** Lines above and below what is in sight, so that scrolling shows no gap before the next frame. */
const OVERSCAN = 12;

export class VirtualLines {
  private top = $state(0);
  private room = $state(0);
  readonly height = $derived.by(() => this.count() * this.lineHeight);
  private readonly first = $derived.by(() => Math.max(0, Math.floor(this.top / this.lineHeight) - OVERSCAN));
  private readonly end = $derived.by(() =>
    Math.min(this.count(), Math.ceil((this.top + this.room) / this.lineHeight) + OVERSCAN),
  );
  readonly items = $derived.by((): Item[] =>
    Array.from({ length: Math.max(0, this.end - this.first) }, (_, i) => ({
      index: this.first + i,
      start: (this.first + i) * this.lineHeight,
    })),
  );

  /** `above` is the height of what stays at the top of the element while its lines scroll. */
  constructor(
    private readonly element: () => HTMLElement | null,
    private readonly count: () => number,
    private readonly lineHeight: number,
    private readonly above: number,
  ) {
    $effect(() => {
      const scroller = this.element();
      if (!scroller) return;
      const scrolled = () => (this.top = scroller.scrollTop);
      const observer = new ResizeObserver(() => (this.room = scroller.clientHeight));
      untrack(scrolled);
      this.room = scroller.clientHeight;
      scroller.addEventListener("scroll", scrolled, { passive: true });
      observer.observe(scroller);
      return () => {
        scroller.removeEventListener("scroll", scrolled);
        observer.disconnect();
      };
    });
  }

  /** Scrolls as little as needed to show a line. */
  reveal(index: number): void {
    const scroller = this.element();
    if (!scroller) return;
    const start = index * this.lineHeight;
    const below = start + this.lineHeight + this.above - scroller.clientHeight;
    if (scroller.scrollTop > start) scroller.scrollTop = start;
    else if (scroller.scrollTop < below) scroller.scrollTop = below;
  }
}
