// Finding commands by what a person types: all its words must occur, those at the beginning of a word count more.

export interface Command {
  title: string;
  note: string;
  words: string;
  run: () => void;
}

export function find(commands: Command[], text: string): Command[] {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return commands;
  return commands
    .map((command) => ({ command, score: score(command, wanted) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ command }) => command);
}

function score(command: Command, wanted: string[]): number {
  const title = command.title.toLowerCase();
  const rest = `${command.words} ${command.note}`.toLowerCase();
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
