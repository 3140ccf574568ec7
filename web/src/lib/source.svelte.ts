// The source that the address names, and addresses of what is asked about it.

import { type Address, sourceUrl } from "../api/client";
import { sources } from "../api/sources.svelte";
import type { AnswerTo, Options, Question, QuestionWith, Source } from "../api/types";
import { countingFor } from "./counting";
import { ownFor } from "./own.svelte";
import { route } from "./route.svelte";

export function current(): Source | undefined {
  return sources.find(route.source);
}

/** Questions whose answers are the same at every state of a recording. */
const STATELESS: Record<Exclude<Question, QuestionWith<"at">>, true> = { classifiers: true };

/** The address of a question about this source, at the chosen state if it is a recording. */
export function about<Q extends Question>(question: Q, options: Options<Q>): Address<AnswerTo<Q>> | null {
  const source = current();
  if (source?.status !== "ready") return null;
  const at = source.kind === "recording" && !(question in STATELESS) ? route.params.at : undefined;
  return sourceUrl(source.id, question, {
    at,
    ...ownFor(question),
    ...countingFor(question, route.params, options),
    ...options,
  });
}

/** The dumps that are open, in the order they were named. */
export function dumps(): Source[] {
  return sources.list.filter((source) => source.kind === "dump");
}

/** Those that are looked at as a series: the chosen ones, or all. */
export function series(): Source[] {
  const chosen = route.params.dumps?.split(",") ?? [];
  const found = dumps().filter((dump) => chosen.includes(String(dump.id)));
  return found.length > 1 ? found : dumps();
}

/** Whether there is anything to see over time. */
export function hasTime(): boolean {
  return current()?.kind === "recording" || dumps().length > 1;
}

/** The address of a question about a whole recording, or about all open dumps as a series. */
export function overTime<Q extends QuestionWith<"later">>(
  question: Q,
  options: Options<Q>,
): Address<AnswerTo<Q>> | null {
  const source = current();
  if (source?.kind === "recording") {
    return source.status === "ready"
      ? sourceUrl(source.id, question, {
          ...ownFor(question),
          ...countingFor(question, route.params, options),
          ...options,
        })
      : null;
  }
  const [first, ...later] = series();
  if (!first || later.length === 0 || series().some((dump) => dump.status !== "ready")) return null;
  // Dumps are compared by what is in them all, and not by definitions.
  const definitions = question === "diff" ? {} : ownFor(question);
  // Only recordings tell what became unreachable.
  const counting = { ...countingFor(question, route.params, options), unreachable: undefined };
  return sourceUrl(first.id, question, {
    later: later.map((dump) => dump.id),
    ...definitions,
    ...counting,
    ...options,
  });
}
