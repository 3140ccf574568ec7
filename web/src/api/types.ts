// What the server answers, as docs/output.md describes it. Only the fields that the pages use.

export interface Source {
  id: number;
  path: string;
  name: string;
  kind: "dump" | "recording";
  bytes: number;
  /** The work of reading it, to cancel it. */
  job: string;
  status: "waiting" | "reading" | "ready" | "failed" | "cancelled";
  reason?: string;
  advice?: string;
}

export interface Missing {
  kind: string;
  offset: number | null;
  amount: number | null;
  what: string;
}

export interface Envelope {
  file: string;
  convention?: string;
  layout?: string;
  missing?: Missing[];
}

export interface NamedObject {
  class: string;
  address: string;
  label: string;
  retained: number;
}

export interface Root {
  kind: string;
  origin: string;
  thread: string | null;
  frame: string | null;
  label: string;
}

export interface LeakWindow {
  from: number;
  to: number;
  growth: number;
  duration: number;
}

export interface Count {
  objects: number;
  shallow: number;
}

export interface Summary extends Envelope {
  format: string;
  timestamp: number | null;
  file_bytes: number;
  packed_bytes: number | null;
  objects: number;
  shallow: number;
  reachable: Count;
  unreachable: Count & { weakly_reachable: Count; garbage: Count; finalizable: number };
  classes: number;
  loaders: number;
  threads: number;
  assumed: { class: string; what: string }[];
  recording?: {
    state: number;
    states: number;
    time_ns: number;
    gc: number | null;
    mark: string | null;
    contents: boolean;
    complete: boolean;
    leak_window: LeakWindow | null;
  };
}

export interface PathObject extends NamedObject {
  via: string | null;
}

export interface Owner extends NamedObject {
  held_by: string | null;
  root?: string | null;
  path?: PathObject[];
  skipped?: number;
  thread?: { name: string; frames: string[] } | null;
}

export interface Pattern {
  name: string;
  evidence: string;
  fix: string;
}

export interface Suspect {
  severity: "HIGH" | "MEDIUM";
  kind: string;
  sentence: string;
  retained: number;
  retained_objects: number;
  share: number;
  owners: Owner[];
  accumulation: NamedObject | null;
  kept: { class: string; objects: number; covered: number } | null;
  contents: { class: string; objects: number; shallow: number; through: string | null }[];
  patterns: Pattern[];
  advice: { verify: string; fix: string | null };
  fingerprint: string;
  known: boolean;
}

export interface WasteRow {
  class: string;
  address: string;
  objects: number;
  savable: number;
  text?: string;
  used?: number;
  slots?: number;
  entries?: number;
  buckets?: number;
  longest?: number;
  nulls?: { field: string; objects: number }[];
}

export interface WasteKind {
  kind: string;
  objects: number;
  bytes: number;
  savable: number;
  rows: WasteRow[];
  omitted: number;
  holders: { holder: string; objects: number; savable: number }[];
  omitted_holders: number;
}

export interface Waste extends Envelope {
  reachable: number;
  savable: number;
  contents: boolean;
  kinds: WasteKind[];
}

export interface Report extends Envelope {
  reachable: number;
  unreachable: number;
  suspects: Suspect[];
  patterns: Pattern[];
  context: NamedObject[];
  classes: { class: string; objects: number; shallow: number; retained: number }[];
  /** Not in a brief report. */
  waste: Waste | null;
  timeline: {
    duration_ns: number;
    states: { point: string; time_ns: number; alive: number; objects: number }[];
    chosen: number;
    leak_window: LeakWindow | null;
    growth: { sentence: string; verify: string } | null;
  } | null;
}

export interface HistogramRow {
  class?: string;
  package?: string;
  loader?: string;
  objects: number;
  shallow: number;
  retained: number;
  retained_objects: number;
  unreachable_objects: number;
  unreachable_shallow: number;
}

export interface Histogram extends Envelope {
  by: string;
  rows: HistogramRow[];
  total: HistogramRow;
  omitted: number;
}

/** A node of a classification tree. */
export interface ClassNode {
  key: string;
  objects: number;
  shallow: number;
  deep?: number;
  deep_objects?: number;
  retained?: number;
  retained_objects?: number;
  children?: ClassNode[];
  /** What its allocation samples stand for, in trees by where objects come from. */
  estimated?: number;
  /** Children that were left out. */
  omitted?: number;
}

export interface Classification extends Envelope {
  tree: ClassNode;
  allocation_known?: { objects: number; of: number } | null;
}

export interface ClassifierInfo {
  name: string;
  kind: "classifier" | "filter" | "transformer";
  cardinality: string;
  argument: string | null;
  argument_optional: boolean;
  description: string;
  example: string;
}

export interface FunctionInfo {
  of: string;
  usage: string;
  returns: string;
  description: string;
}

export interface Branch {
  via: string;
  class: string;
  class_object: boolean;
  merged: number;
  through: string[];
  repeats: number[];
  here: number;
  objects: number;
  held: number;
  example: string;
  skipped: number;
  children: Branch[];
  omitted: { branches: number; objects: number; held: number };
}

export interface MergedPaths {
  target: string;
  objects: number;
  retained: number;
  held: number;
  other_holders: number;
  unreachable_objects: number;
  branches: Branch[];
  omitted: { branches: number; objects: number; held: number };
}

export interface Inspection extends Envelope {
  group: string;
  objects: number;
  shallow: number;
  deep: number;
  deep_objects: number;
  retained: number;
  retained_objects: number;
  heap: number;
  roots_keeping: ClassNode;
  roots_reaching: ClassNode;
  transitive_closure: ClassNode;
  gc_closure: ClassNode;
  paths: MergedPaths | null;
}

export interface Owners extends Envelope {
  fronts: { owners: Owner[]; retained: number; retained_objects: number; covered: number }[];
}

export interface Cut extends Envelope {
  references: number;
  freed: number;
  freed_objects: number;
  tree?: ClassNode;
}

export interface ObjectRow {
  address: string;
  class: string;
  shallow: number;
  retained: number;
  dominator: string | null;
  reachable: boolean;
}

export interface Value {
  value?: string;
  null?: boolean;
  object?: NamedObject;
  dangling?: string;
}

export interface Field extends Value {
  name: string;
  declared_by: string;
}

export interface HeapObject extends NamedObject, Envelope {
  loader: string;
  shallow: number;
  reachable: boolean;
  text?: string;
  stands_for?: {
    class: string;
    loader: string;
    superclass: string | null;
    instances: number;
    instances_shallow: number;
  };
  roots: Root[];
  dominators: { total: number; first: NamedObject[] };
  fields: Field[];
  static_fields: Field[];
  elements?: { total: number; first: (Value & { index: number })[] };
  referrers: { total: number; first: PathObject[] };
}

export interface ObjectPaths extends Envelope {
  paths: { roots: Root[]; length: number; skipped: number; steps: PathObject[] }[];
  omitted: number;
}

export interface DominatorItem {
  label: string;
  class?: string;
  address?: string;
  members: number;
  objects: number;
  retained: number;
  chain?: boolean;
  children: DominatorItem[];
  omitted: { objects: number; retained: number };
  deeper: number;
}

/** Groups that have names, of definitions and kept beside the index. */
export interface NamedGroups extends Envelope {
  groups: {
    name: string;
    expression: string;
    kept: boolean;
    objects: number;
    shallow: number;
    deep: number;
    retained: number;
  }[];
}

/** The heap in layers; numbers are by the states that were looked into. */
export interface Layers {
  by: string;
  /** Places of these states. */
  states: number[];
  rows: { key: string; objects: number[]; bytes: number[] }[];
  /** All others added up. */
  others: { rows: number; objects: number[]; bytes: number[] };
}

export interface Timeline extends Envelope {
  facts: { version: string; vm: string; collector: string; command_line: string; max_heap: number } | null;
  complete: boolean | null;
  duration_ns: number;
  states: {
    point: string;
    time: number;
    gc: number | null;
    mark: string | null;
    pause: number | null;
    objects: number;
    bytes: number;
    reachable_objects: number | null;
    reachable_bytes: number | null;
  }[];
  types: { type: string; objects: number[]; bytes: number[] }[];
  /** If it was asked for by steps. */
  layers?: Layers;
  structures: {
    identity: number;
    class: string;
    elements: (number | null)[];
    bytes: (number | null)[];
  }[];
  gcs: {
    number: number;
    full: boolean;
    collector: string;
    cause: string;
    start_ns: number;
    end_ns: number;
    used_before: number;
    used_after: number;
    committed: number;
  }[];
  allocation_rates: number[];
  marks: { time_ns: number; text: string }[];
  /** Assertions of the program that did not hold; of recordings only. */
  violations?: {
    time_ns: number;
    kind: string;
    message: string | null;
    class: string;
    count: number;
    text: string;
  }[];
  costs: { pause_ns: number; agent_cpu_ns: number; recorder_cpu_ns: number };
  dropped: { time_ns: number; what: string; amount: number; reason: string }[];
  leak_window: LeakWindow | null;
}

export interface GrowingStructure {
  name: string;
  approximate: boolean;
  born: boolean;
  replaces: boolean;
  inside_of: { name: string; growth: number; hgp: number | null } | null;
  growth: number;
  hgp: number | null;
  new_elements: number | null;
  retained: (number | null)[];
  elements: (number | null)[];
  never_shrinks: boolean;
  newcomers: { class: string; objects: number; bytes: number }[];
  allocation_sites: { site: string; objects: number }[];
}

export interface Growth extends Envelope {
  states: { name: string; reachable: number; identities_missing: string | null }[];
  /** States between these that were not looked into. */
  skipped: number;
  heap_growth: number;
  approximate: boolean;
  unclear: number;
  joint: {
    owners: string[];
    retained_before: number;
    retained: number;
    growth: number;
    hgp: number | null;
  }[];
  structures: GrowingStructure[];
  within: number;
  elsewhere: number;
  omitted: number;
}

export interface Amount {
  objects: number;
  bytes: number;
}

export interface EvolutionNode {
  key: string;
  before: Amount;
  after: Amount;
  born?: Amount;
  died?: Amount;
  survived?: Amount;
  children?: EvolutionNode[];
}

export interface Evolution extends Envelope {
  states: {
    state: number;
    time_ns: number;
    gc: number | null;
    mark: string | null;
    identities_missing: string | null;
  }[];
  identity: "all" | "tracked" | "none";
  objects: number[];
  told_apart: number[];
  tree: EvolutionNode;
}

export interface DiffRow {
  name: string;
  change: string;
  grows_throughout: boolean;
  figures: ({ objects: number; shallow: number; retained: number } | null)[];
  objects_change: number;
  shallow_change: number;
  retained_change: number;
}

export interface DumpDiff extends Envelope {
  by: string;
  files: string[];
  totals: { objects: number; shallow: number; retained: number }[];
  suspects: { change: string; fingerprint: string; sentence: string; retained: (number | null)[] }[];
  rows: DiffRow[];
  omitted: number;
}

export interface ThreadRow {
  name: string | null;
  object: NamedObject | null;
  state: string | null;
  daemon: boolean | null;
  kept: { objects: number | null; retained: number };
  frames: { frame: string; locals: (NamedObject & { root: string })[] }[];
  other: (NamedObject & { root: string })[];
}

export interface Threads extends Envelope {
  exact: boolean;
  rows: ThreadRow[];
  omitted: number;
}

export interface Strings extends Envelope {
  objects: number;
  texts: number;
  retained: number;
  unreachable: number;
  rows: { address: string; copies: number; retained: number; text: string; unreachable: number }[];
  omitted: number;
}

export interface StructureRow extends NamedObject {
  type: string;
  elements: number | null;
  capacity: number | null;
  fill: number | null;
  internals: number;
  bytes: number;
  deep: number | null;
  wasted: number;
  health: string;
  depth: number;
  place: string;
  at_least: boolean;
  held_by: string | null;
  allocated_at: string | null;
}

export interface Structures extends Envelope {
  totals: { structures: number; empty: number; elements: number; bytes: number; wasted: number };
  types: {
    name: string;
    structures: number;
    empty: number;
    elements: number;
    bytes: number;
    wasted: number;
  }[];
  structures: StructureRow[];
}

export interface Violation {
  kind: string;
  what: string;
  message: string | null;
  made_at: string[];
  class: string;
  count: number;
  bytes: number;
  object: Omit<NamedObject, "retained"> | null;
  paths: {
    root: string;
    thread: string | null;
    frame: string | null;
    steps: (Omit<NamedObject, "retained"> & { via: string | null })[];
    skipped: number;
  }[];
  holders: { count: number; held_by: string }[];
}

export interface Verdict {
  name: string;
  rule: string | null;
  severity: "note" | "warning" | "error";
  assertions: number | null;
  holds: boolean;
  not_checked: string | null;
  states: number;
  violated_states: number;
  first: { name: string } | null;
  violations: Violation[];
  omitted: number;
}

export interface Verdicts extends Envelope {
  checks: Verdict[];
  notes: string[];
}
