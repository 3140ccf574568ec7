// Lists of steps that are good to start with, and classifiers that a person keeps in this browser.

export const PRESETS: { title: string; by: string }[] = [
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

export interface OwnStep {
  name: string;
  text: string;
}

const KEY = "anthill.steps";

export function ownSteps(): OwnStep[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept)
      ? kept.filter((step) => typeof step?.name === "string" && typeof step?.text === "string")
      : [];
  } catch {
    return [];
  }
}

export function keepStep(step: OwnStep): void {
  const others = ownSteps().filter((other) => other.name !== step.name);
  localStorage.setItem(KEY, JSON.stringify([...others, step]));
}

export function forgetStep(name: string): void {
  localStorage.setItem(KEY, JSON.stringify(ownSteps().filter((step) => step.name !== name)));
}
