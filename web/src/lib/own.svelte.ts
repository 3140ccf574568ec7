// The definitions that a person keeps in this browser. They go along with every question that may use their names, and
// are one text in the form of a file for the command line.

import { ApiError, ask, sourceUrl } from "../api/client";
import type { Question, QuestionWith } from "../api/types";
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
      return new ApiError(message, 400, "Use --define on the command line instead.");
    }
    try {
      if (text.trim()) await ask(sourceUrl(0, "classifiers", { definitions: [text] }));
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
    return new ApiError(`Another definition uses ${name}.`, mistake.status, mistake.message);
  }
}

export const own = new Own();

/** Questions that know names of definitions. */
const KNOWING: Record<QuestionWith<"definitions">, true> = {
  check: true,
  classifiers: true,
  classify: true,
  cut: true,
  diff: true,
  groups: true,
  growth: true,
  inspect: true,
  objects: true,
  owners: true,
  paths: true,
  references: true,
  timeline: true,
};

/** What is asked along with a question. */
export function ownFor(question: Question): { definitions?: string[] } {
  return own.text && question in KNOWING ? { definitions: [own.text] } : {};
}
