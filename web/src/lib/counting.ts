// What counts, chosen once for all views and kept in the address: which references keep objects alive, whether unreachable
// objects are among the rows, whether data structures are one step of a path. As far as a question has these options.

import type { Question, QuestionWith } from "../api/types";
import type { RouteParams } from "./route.svelte";

/** References besides strong ones, in the order of their strength. */
export const STRENGTHS = ["soft", "weak", "phantom", "finalizer"] as const;
export type Strength = (typeof STRENGTHS)[number];

/** The choices in an address. */
export const CHOICES = ["keep", "compat", "unreachable", "collapse"];

export interface Counting {
  keep: Strength[];
  /** As Eclipse MAT counts: then strengths cannot be chosen. */
  mat: boolean;
  unreachable: boolean;
  folded: boolean;
}

const DEFAULT: Strength[] = ["soft"];

export function readCounting(params: RouteParams): Counting {
  const named = params.keep?.split(",");
  return {
    keep: named ? STRENGTHS.filter((strength) => named.includes(strength)) : DEFAULT,
    mat: params.compat === "mat",
    unreachable: params.unreachable === "1",
    folded: params.collapse !== "0",
  };
}

/** The choices as parameters of an address; those that are as usual are empty. */
export function writeCounting({ keep, mat, unreachable, folded }: Counting): RouteParams {
  const usual = keep.join() === DEFAULT.join();
  return {
    keep: usual || mat ? "" : keep.join(",") || "none",
    compat: mat ? "mat" : "",
    unreachable: unreachable ? "1" : "",
    collapse: folded ? "" : "0",
  };
}

/** In a few words what is not as usual; nothing if all is. */
export function inWords(counting: Counting): string {
  const { keep, mat, unreachable, folded } = counting;
  const kept = keep.length ? keep.join(", ") : "strong only";
  return [
    mat ? "as Eclipse MAT" : keep.join() === DEFAULT.join() ? "" : kept,
    unreachable ? "unreachable too" : "",
    folded ? "" : "structures unfolded",
  ]
    .filter(Boolean)
    .join(" · ");
}

const WITH_UNREACHABLE: Record<QuestionWith<"unreachable">, true> = { classify: true, diff: true };
const WITH_COLLAPSE: Record<QuestionWith<"collapse">, true> = { inspect: true, paths: true };
const WITHOUT_HEAP: Record<Exclude<Question, QuestionWith<"keep">>, true> = { classifiers: true };

/** The views in which a choice changes anything, besides the strengths, which count in all. */
export const VIEWS_WITH_UNREACHABLE = ["heap", "growth"];
export const VIEWS_WITH_FOLDING = ["group", "object"];

interface Options {
  keep?: (Strength | "none")[];
  compat?: "mat";
  unreachable?: boolean;
  collapse?: boolean;
}

/** The options of a question that stand for the choices in an address. */
export function countingFor(question: Question, params: RouteParams, options: object = {}): Options {
  if (question in WITHOUT_HEAP) return {};
  const { keep, mat, unreachable, folded } = readCounting(params);
  const ofGroup = "group" in options && options.group !== undefined;
  const unusual = !mat && keep.join() !== DEFAULT.join();
  return {
    ...(unusual ? { keep: keep.length ? keep : ["none"] } : {}),
    ...(mat ? { compat: "mat" } : {}),
    ...(question in WITH_UNREACHABLE && unreachable && !ofGroup ? { unreachable } : {}),
    ...(question in WITH_COLLAPSE && params.collapse !== undefined ? { collapse: folded } : {}),
  };
}
