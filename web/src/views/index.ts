// The component of each view.

import type { Component } from "svelte";
import Allocations from "./allocations/Allocations.svelte";
import Assertions from "./assertions/Assertions.svelte";
import Dominators from "./dominators/Dominators.svelte";
import Group from "./group/Group.svelte";
import Growth from "./growth/Growth.svelte";
import Heap from "./heap/Heap.svelte";
import Histogram from "./histogram/Histogram.svelte";
import Loaders from "./loaders/Loaders.svelte";
import ObjectView from "./object/Object.svelte";
import References from "./references/References.svelte";
import Start from "./start/Start.svelte";
import Strings from "./strings/Strings.svelte";
import Structures from "./structures/Structures.svelte";
import Threads from "./threads/Threads.svelte";
import Timeline from "./timeline/Timeline.svelte";
import Waste from "./waste/Waste.svelte";

const COMPONENTS: Record<string, Component> = {
  start: Start,
  timeline: Timeline,
  growth: Growth,
  allocations: Allocations,
  heap: Heap,
  histogram: Histogram,
  dominators: Dominators,
  structures: Structures,
  group: Group,
  object: ObjectView,
  references: References,
  threads: Threads,
  loaders: Loaders,
  strings: Strings,
  waste: Waste,
  assertions: Assertions,
};

/** What shows a view; an address that names none shows the start. */
export function component(view: string): Component {
  return COMPONENTS[view] ?? Start;
}
