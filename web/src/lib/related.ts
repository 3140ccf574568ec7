// Whether dumps are of one program: those of different ones have growth between them that says nothing.

/** Classes of the JDK, which every program has. */
const PLATFORM =
  /^(?:(?:java|javax|jdk|sun|com\.sun)\.|(?:boolean|byte|char|short|int|long|float|double)\b)|\[\]$|\$\$Lambda|\/0x/;

/** Programs that have less than this in common are different ones. */
const LEAST = 0.3;

/** The first class names that tell programs apart are enough: versions of one program differ in a few classes. */
export function programClasses(classes: string[]): Set<string> {
  return new Set(classes.filter((name) => !PLATFORM.test(name)));
}

/** The share of classes that two programs have in common, of those that the smaller one has; null if it has none. */
export function common(one: Set<string>, other: Set<string>): number | null {
  const [small, large] = one.size < other.size ? [one, other] : [other, one];
  if (small.size === 0) return null;
  let both = 0;
  for (const name of small) if (large.has(name)) both += 1;
  return both / small.size;
}

/** The places of those that are of another program than the first. */
export function unrelated(programs: Set<string>[]): number[] {
  const [first, ...others] = programs;
  return others.flatMap((other, i) => {
    const share = first && common(first, other);
    return share != null && share < LEAST ? [i + 1] : [];
  });
}
