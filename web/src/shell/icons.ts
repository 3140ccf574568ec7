// The signs of the views, as lines in a square of 16.

export const ICONS: Record<string, string> = {
  start: "M2.5 7.5 8 2.5l5.5 5M4 6.5v7h8v-7",
  timeline: "M2 13h12M2 11l3.5-4 3 2.5L13.5 3",
  growth: "M3 13V9M7 13V6M11 13V3M2 13h12",
  allocations: "M2 13.5h12M2.5 13V9.5h11V13M4 9.5V6h6v3.5M5 6V2.5h3V6",
  heap: "M2.5 3.5h11M5.5 8h8M8.5 12.5h5M2.5 3.5v9h3M2.5 8h0",
  histogram: "M2.5 3.5h11M2.5 8h7M2.5 12.5h4",
  dominators: "M2.5 2.5h11v11h-11zM2.5 9h11M8 2.5V9M11 9v4.5",
  structures: "M8 2v4M8 6H4v3M8 6h4v3M2.5 9h3v4h-3zM10.5 9h3v4h-3zM6.5 2h3",
  group: "M5.5 8a3.5 3.5 0 1 0 7 0 3.5 3.5 0 1 0-7 0M3.5 8a3.5 3.5 0 0 1 3.5-3.5M3.5 8A3.5 3.5 0 0 0 7 11.5",
  object: "M8 1.8 13.5 5v6L8 14.2 2.5 11V5zM2.5 5 8 8l5.5-3M8 8v6",
  references:
    "M4.5 4.5a1.5 1.5 0 1 0-3 0 1.5 1.5 0 1 0 3 0M14.5 4a1.5 1.5 0 1 0-3 0 1.5 1.5 0 1 0 3 0M9.5 12.5a1.5 1.5 0 1 0-3 0 1.5 1.5 0 1 0 3 0M4.5 4.4l7-.3M4 5.7l3.2 5.5M12.2 5.3l-3.4 5.9",
  threads: "M4 2v12M8 2v12M12 2v12M2.5 5h3M6.5 9h3M10.5 6.5h3",
  loaders: "M2.5 4.5 8 2l5.5 2.5L8 7zM2.5 8 8 10.5 13.5 8M2.5 11.5 8 14l5.5-2.5",
  strings: "M3 4V3h10v1M8 3v10M6 13h4",
  waste: "M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.6 9h5.8l.6-9M6.8 7v4M9.2 7v4",
  assertions: "M2.5 4 4 5.5 6.5 3M2.5 10.5 4 12l2.5-2.5M9 4.5h5M9 11h5",
};
