// Colours that stand for things, in charts.

/** Colours that are told apart without seeing red and green (Okabe and Ito), darkened for thin lines on white. */
export const SERIES = [
  "#c2632b",
  "#2f6fb3",
  "#1d8a7c",
  "#d9a21b",
  "#8a63c9",
  "#5aa9d6",
  "#a04668",
  "#6f8f2e",
  "#4d5563",
  "#c98fb0",
];

/** The colour of what has none of its own. */
export const OTHER = "#8b8f98";

/** Steps from much less to much more, with grey for what stayed the same. */
export const CHANGE = ["#1f5c9e", "#6f9fd0", "#8b8f98", "#d9935f", "#b8501a"];

/** Whether text on a colour is dark or white, so that it can be read. */
export function textOn(colour: string): string {
  const channel = (at: number) => {
    const value = parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const light = 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
  // The contrast to white against that to nearly black.
  return 1.05 / (light + 0.05) >= (light + 0.05) / 0.062 ? "#ffffff" : "#1c1e22";
}
