// The definitions that a person keeps in this browser. They go along with every question that may use their names, and
// are one text in the form of a file for the command line.

import { ApiError, ask, sourceUrl } from "../api/client";
import { definitionsIn, withDefinition, without } from "./definitions";

const KEY = "anthill.definitions";
/** They are part of addresses, which servers do not take at any length. */
const LONGEST = 12_000;

class Own {
  text = $state(localStorage.getItem(KEY) ?? "");
  readonly all = $derived(definitionsIn(this.text));
  readonly groups = $derived(this.all.filter((one) => one.kind === "group").map((one) => one.name));

  /** Keeps another text, unless there is a mistake in it; then tells which. */
  async replace(text: string): Promise<ApiError | null> {
    if (text.length > LONGEST) {
      const message = `The definitions are longer than ${LONGEST} characters.`;
      return new ApiError(message, 400, "Use the command line's --define for them.");
    }
    try {
      if (text.trim()) await ask(sourceUrl(0, "classifiers", { definitions: text }));
    } catch (cause) {
      if (cause instanceof ApiError) return cause;
      throw cause;
    }
    this.text = text;
    localStorage.setItem(KEY, text);
    return null;
  }

  add(definition: string, name: string): Promise<ApiError | null> {
    return this.replace(withDefinition(this.text, definition, name));
  }

  /** Unless others use it. */
  async forget(name: string): Promise<ApiError | null> {
    const mistake = await this.replace(without(this.text, name));
    if (mistake?.status !== 400) return mistake;
    return new ApiError(`Another of your definitions uses ${name}.`, mistake.status, mistake.message);
  }
}

export const own = new Own();

/** Commands that know names of definitions. */
const KNOWING = new Set([
  ...["check", "classifiers", "classify", "cut", "diff", "groups"],
  ...["growth", "inspect", "objects", "owners", "paths", "timeline"],
]);

/** What is asked along with a command. */
export function ownFor(command: string): { definitions?: string } {
  return own.text && KNOWING.has(command) ? { definitions: own.text } : {};
}
