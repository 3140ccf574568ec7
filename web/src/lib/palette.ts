// Finding entries by what a person types: all its words must occur, those at the beginning of a word count more.

export interface Entry {
  title: string;
  note: string;
  words: string;
}

export interface Command extends Entry {
  run: () => void;
}

export function find<E extends Entry>(entries: E[], text: string): E[] {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return entries;
  return entries
    .map((entry) => ({ entry, score: score(entry, wanted) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ entry }) => entry);
}

function score(entry: Entry, wanted: string[]): number {
  const title = entry.title.toLowerCase();
  const rest = `${entry.words} ${entry.note}`.toLowerCase();
  let sum = 0;
  for (const word of wanted) {
    if (title.startsWith(word)) sum += 8;
    else if (title.includes(` ${word}`)) sum += 5;
    else if (title.includes(word)) sum += 3;
    else if (rest.includes(word)) sum += 1;
    else return 0;
  }
  return sum;
}
