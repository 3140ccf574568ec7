// Names of classes that fit what a person types: those that begin with it first, then those that contain it.

import { splitName } from "./text";

export interface ClassCount {
  name: string;
  objects: number;
}

/** The best few, of equally good ones those with the most objects. */
export function fittingClasses(classes: ClassCount[], text: string, most: number): ClassCount[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const found = classes.flatMap((one) => {
    const name = one.name.toLowerCase();
    const simple = splitName(name).simple;
    if (simple === wanted || name === wanted) return [{ one, rank: 0 }];
    if (simple.startsWith(wanted) || name.startsWith(wanted)) return [{ one, rank: 1 }];
    return name.includes(wanted) ? [{ one, rank: 2 }] : [];
  });
  found.sort((a, b) => a.rank - b.rank || b.one.objects - a.one.objects);
  return found.slice(0, most).map(({ one }) => one);
}
