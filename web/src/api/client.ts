// Asks the server. Knows addresses, the token, errors and how many answers are worth keeping; nothing of views.

import { worded, type Worded } from "../lib/wording";
import { authorization } from "./token";
import type { AnswerTo, Options, Question, ServerError, Sources } from "./types";

declare const ANSWER: unique symbol;

/** Where something is asked; carries the type of the answer. */
export type Address<T> = string & { readonly [ANSWER]: T };

export type Params = Record<string, string | number | boolean | number[] | string[] | null | undefined>;

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly advice?: string,
    /** What was written wrongly, where, and what may have been meant. */
    readonly mistake?: Worded,
  ) {
    super(message);
  }

  /** Whether a mistake is in what was written for an option. */
  isIn(option: string): boolean {
    return this.mistake?.option === option;
  }

  /** Whether there is nothing of what was asked for, which is an answer, too. */
  get isNothing(): boolean {
    return this.status === 404;
  }
}

/** The query string of parameters; what is null, undefined or false is left out. */
export function queryOf(params: Params): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === null || value === undefined || value === false) continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  const text = query.toString();
  return text ? `?${text}` : "";
}

const BASE = "api/v1";

/** Where a question about a file is asked. */
export function sourceUrl<Q extends Question>(
  source: number,
  question: Q,
  options: Options<Q>,
): Address<AnswerTo<Q>> {
  return `${BASE}/sources/${source}/${question}${queryOf(options)}` as Address<AnswerTo<Q>>;
}

/** Where the same report is asked for as a document: `report.html`. */
export function documentUrl(report: Address<AnswerTo<"report">>, name: string): string {
  return report.replace(/\/report(?=\?|$)/, `/${name}`);
}

/** Where notes are listed, kept and deleted. */
export function notesUrl(source: number, params: Params): string {
  return `${BASE}/sources/${source}/notes${queryOf(params)}`;
}

export const SOURCES_URL = `${BASE}/sources` as Address<Sources>;
export const EVENTS_URL = `${BASE}/events`;

/** Answers by address, the least recently used ones forgotten first; bounded by the characters they came as. */
export class AnswerCache {
  private readonly kept = new Map<string, { size: number; value: unknown }>();
  private size = 0;

  constructor(private readonly most: number) {}

  get(url: string): unknown {
    const entry = this.kept.get(url);
    if (!entry) return undefined;
    this.kept.delete(url);
    this.kept.set(url, entry);
    return entry.value;
  }

  set(url: string, value: unknown, size: number): void {
    if (size > this.most / 2) return;
    this.drop(url);
    this.kept.set(url, { size, value });
    this.size += size;
    for (const oldest of this.kept.keys()) {
      if (this.size <= this.most) break;
      this.drop(oldest);
    }
  }

  private drop(url: string): void {
    const entry = this.kept.get(url);
    if (!entry) return;
    this.kept.delete(url);
    this.size -= entry.size;
  }
}

const cache = new AnswerCache(16_000_000);
let jobs = 0;
const tab = Math.random().toString(36).slice(2, 8);

/** A name for a request, by which its progress is reported. */
export function newJob(): string {
  jobs += 1;
  return `${tab}-${jobs}`;
}

export interface Asking {
  signal?: AbortSignal;
  job?: string;
  /** Ask again although an answer is kept. */
  fresh?: boolean;
  /** Another one than GET, for what changes something. */
  method?: string;
  body?: string;
}

export async function ask<T>(url: Address<T>, asking: Asking = {}): Promise<T> {
  const kept = asking.fresh ? undefined : cache.get(url);
  if (kept !== undefined) return kept as T;
  const text = await fetchText(url, asking);
  let value: T;
  try {
    value = JSON.parse(text) as T;
  } catch {
    throw new ApiError("The server sent a response that is not JSON.", 200);
  }
  cache.set(url, value, text.length);
  return value;
}

/** What the server sends, as it is. */
export async function fetchText(url: string, asking: Asking = {}): Promise<string> {
  const headers: Record<string, string> = authorization();
  if (asking.job) headers["x-anthill-job"] = asking.job;
  let response: Response;
  try {
    const { method, body, signal } = asking;
    response = await fetch(url, { headers, method, body, signal, cache: "no-store" });
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new ApiError("The server does not respond.", 0, "Check that `anthill open` is still running.");
  }
  const text = await response.text();
  if (!response.ok) throw errorOf(response.status, text);
  return text;
}

function errorOf(status: number, text: string): ApiError {
  try {
    const { error } = JSON.parse(text) as ServerError;
    const said = worded(error.message, error.advice);
    return new ApiError(said.message, status, said.advice, said);
  } catch {
    if (status === 401 || status === 403) {
      return new ApiError(
        "This page has no valid token.",
        status,
        "Open the address that `anthill open` printed.",
      );
    }
    return new ApiError(`The server responded with status ${status}.`, status);
  }
}

export async function cancelJob(job: string): Promise<void> {
  await fetch(`${BASE}/jobs/${encodeURIComponent(job)}`, {
    method: "DELETE",
    headers: authorization(),
  }).catch(() => undefined);
}
