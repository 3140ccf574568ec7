// Where the deep size says something that the retained size does not.

interface Sized {
  deep?: number | null;
  retained?: number | null;
}

/** So much more than it retains an object group must reach. */
const MORE = 1.05;
/** What reaches nearly all of the heap says nothing either. */
const NEARLY_ALL = 0.9;

/** Whether some row reaches more than it retains, and less than nearly the whole heap. */
export function deepSays(rows: Sized[], whole: number): boolean {
  return rows.some(
    ({ deep, retained }) =>
      deep != null && retained != null && deep > retained * MORE && deep < whole * NEARLY_ALL,
  );
}
