// Lists of steps that are good to start with.

export interface Preset {
  title: string;
  by: string;
}

export const PRESETS: Preset[] = [
  { title: "Type", by: "type" },
  { title: "Package → type", by: "package, type" },
  { title: "Type → allocation site", by: "type, allocation-site" },
  { title: "Type → who refers to it", by: "type, pointed-from, type" },
  { title: "Type → what it refers to", by: "type, points-to, type" },
  { title: "Roots, top-down", by: "closest-root, type" },
  { title: "Dominating root → type", by: "dominating-root, type" },
  { title: "Structures → type", by: "containing-structure, type" },
  { title: "Class loader → type", by: "loader, type" },
  { title: "Strength → type", by: "strength, type" },
  { title: "Collection health → type", by: "collection-health, type" },
  { title: "Kind → size", by: "kind, size" },
];

/** Good layers of a heap over time. */
export const LAYERS: Preset[] = [
  { title: "Type", by: "type" },
  { title: "Package", by: "package" },
  { title: "Closest root", by: "closest-root" },
  { title: "Dominating root", by: "dominating-root" },
  { title: "Structure", by: "containing-structure" },
  { title: "Allocation site", by: "allocation-site" },
  { title: "Age", by: "age" },
  { title: "Class loader", by: "loader" },
  { title: "Kind", by: "kind" },
];
