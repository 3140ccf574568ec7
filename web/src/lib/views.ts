// The views by name: what they are called, where they stand in the bar at the side, and which of them need time.

export interface ViewInfo {
  id: string;
  title: string;
  section: string;
  /** Words that find it in the palette. */
  words: string;
  /** Shows a stretch of time instead of one heap state. */
  overTime?: boolean;
  /** Shows what only recordings have. */
  recording?: boolean;
}

export const VIEWS: ViewInfo[] = [
  { id: "start", title: "Start", section: "", words: "overview suspects headline report" },
  { id: "timeline", title: "Timeline", section: "Over time", words: "heap gc allocation", overTime: true },
  { id: "growth", title: "Growth and diff", section: "Over time", words: "hgp born died", overTime: true },
  {
    id: "allocations",
    title: "Allocations",
    section: "Over time",
    words: "flame graph stacks sites",
    recording: true,
  },
  { id: "heap", title: "Heap state", section: "Heap", words: "classify classification tree" },
  { id: "histogram", title: "Histogram", section: "Heap", words: "classes packages" },
  { id: "dominators", title: "Dominators", section: "Heap", words: "tree treemap retained" },
  { id: "structures", title: "Structures", section: "Heap", words: "collections maps lists" },
  { id: "group", title: "Group inspection", section: "Look closer", words: "inspect owners paths" },
  { id: "object", title: "Object inspector", section: "Look closer", words: "fields address" },
  {
    id: "references",
    title: "References",
    section: "Look closer",
    words: "reference explorer incoming outgoing graph",
  },
  { id: "threads", title: "Threads", section: "Look closer", words: "stacks locals" },
  { id: "loaders", title: "Class loaders", section: "Look closer", words: "classes" },
  { id: "strings", title: "Strings", section: "Contents", words: "text search" },
  { id: "waste", title: "Waste", section: "Contents", words: "duplicates empty sparse" },
  { id: "assertions", title: "Assertions", section: "Contents", words: "check rules" },
];

export function viewsFor(hasTime: boolean, isRecording: boolean): ViewInfo[] {
  return VIEWS.filter((view) => (hasTime || !view.overTime) && (isRecording || !view.recording));
}
