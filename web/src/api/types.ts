// What the server can be asked and what it answers, under the names that the pages use. All of it is generated from the
// server's own types (schema.ts); nothing is described a second time here.

import type { components, operations } from "./schema";

type Schemas = components["schemas"];

/** What can be asked about a file. */
export type Question = keyof operations;

/** The options of a question. */
export type Options<Q extends Question> = NonNullable<operations[Q]["parameters"]["query"]>;

/** The answer to a question. */
export type AnswerTo<Q extends Question> = operations[Q]["responses"][200]["content"]["application/json"];

/** The questions that have an option. */
export type QuestionWith<Name extends string> = {
  [Q in Question]: Name extends keyof Options<Q> ? Q : never;
}[Question];

export type Sources = Schemas["Sources"];
export type Source = Schemas["Source"];
export type ServerEvent = Schemas["Event"];
export type ServerError = Schemas["Error"];

export type Suspect = Schemas["ReportSuspect"];
export type SuspectSeverity = Schemas["ReportSeverity"];
export type HistogramRow = Schemas["HistogramClassRow"];
export type ClassNode = Schemas["TreeNode"];
export type Classifier = Schemas["ClassifiersClassifier"];
export type MergedPaths = Schemas["PathsMerged"];
export type Branch = Schemas["PathsShownBranch"];
export type ObjectRow = Schemas["ObjectsRow"];
export type HeapObject = Schemas["ObjectAnswer"];
export type Root = Schemas["RootName"];
export type DominatorItem = Schemas["DominatorsItem"];
export type StringRow = Schemas["StringsTextRow"];
export type StructureRow = Schemas["StructuresRow"];
export type ThreadRow = Schemas["ThreadsThreadRow"];
export type Frame = Schemas["ThreadsFrameRow"];
export type Local = Schemas["ThreadsLocalRow"];
export type Verdict = Schemas["CheckVerdict"];
export type DiffRow = Schemas["DiffLine"];
export type EvolutionNode = Schemas["DiffNode"];
export type Timeline = Schemas["TimelineAnswer"];
export type TimelineState = Schemas["Moment"];
export type Layers = Schemas["TimelineLayers"];
export type WasteKind = Schemas["WasteKind"];
export type WasteOfKind = Schemas["WasteOfKind"];

/** Each alternative of a union without a field. */
type Without<T, Name extends PropertyKey> = T extends unknown ? Omit<T, Name> : never;

/** What a field or an element holds. */
export type Value = Without<Schemas["ObjectElementRow"], "index">;

export type LoaderRow = Schemas["LoadersRow"];
export type ReferenceRow = Schemas["ReferencesRow"];
export type Element = Schemas["ElementsRow"];
export type WasteRow = Schemas["WasteExample"];
export type AllocationNode = Schemas["AllocationsNode"];

export type Notes = Schemas["Notes"];
export type Note = Schemas["Note"];
export type NoteKind = Schemas["NoteKind"];
