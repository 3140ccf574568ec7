// Where in the pages we are: `#/SOURCE/VIEW?parameters`. Every view keeps all of its choices there, so that an address
// shows the same again, and back and forward work.

import { CHOICES } from "./counting";

export type RouteParams = Record<string, string>;

export interface Place {
  source: string;
  view: string;
  params: RouteParams;
}

/** Choices that hold for all views of a source. */
export const STICKY = ["at", "dumps", ...CHOICES];

/** The choice that a text names, or the first. */
export function oneOf<C extends string>(text: string | undefined, first: C, ...others: C[]): C {
  return others.find((other) => other === text) ?? first;
}

export function parse(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [source = "", view = ""] = path.split("/").map(decodeURIComponent);
  return { source, view: view || "start", params: Object.fromEntries(new URLSearchParams(query)) };
}

export function print(place: Place): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(place.params)) if (value !== "") query.set(name, value);
  const text = query.toString();
  return `#/${encodeURIComponent(place.source)}/${place.view}${text ? `?${text}` : ""}`;
}

class Route {
  place = $state.raw<Place>({ source: "", view: "start", params: {} });
  /** The entry of the browser's history that is shown. */
  entry = $state("");
  private leaving: (entry: string) => void = () => {};

  get source(): string {
    return this.place.source;
  }
  get view(): string {
    return this.place.view;
  }
  get params(): RouteParams {
    return this.place.params;
  }

  /** The address of a view of this source or another one, with the choices that hold for all views. */
  href(view: string, params: RouteParams = {}, source = this.source): string {
    const sticky: RouteParams = {};
    for (const name of STICKY) if (this.params[name]) sticky[name] = this.params[name];
    return print({ source, view, params: { ...sticky, ...params } });
  }

  go(view: string, params: RouteParams = {}): void {
    location.hash = this.href(view, params);
  }

  /** Changes choices of the view that is shown; empty ones are dropped. */
  change(params: RouteParams, how: "push" | "replace" = "push"): void {
    this.show({ ...this.place, params: { ...this.params, ...params } }, how);
  }

  openSource(source: string, how: "push" | "replace" = "push"): void {
    this.show({ source, view: "start", params: {} }, how);
  }

  private show(place: Place, how: "push" | "replace"): void {
    const hash = print(place);
    if (hash === location.hash) return;
    if (how === "push") location.hash = hash;
    else {
      history.replaceState(history.state, "", hash);
      this.read();
    }
  }

  /** What is done before another entry of the history is shown. */
  onleave(leaving: (entry: string) => void): void {
    this.leaving = leaving;
  }

  read(): void {
    const entry = entryHere();
    if (entry !== this.entry) this.leaving(this.entry);
    this.place = parse(location.hash);
    this.entry = entry;
  }
}

/** The name of the entry of the history that the browser is at; one that is new gets one. */
function entryHere(): string {
  const named: unknown = history.state?.entry;
  if (typeof named === "string") return named;
  const entry = crypto.randomUUID();
  history.replaceState({ entry }, "");
  return entry;
}

export const route = new Route();

export function followAddress(): void {
  route.read();
  addEventListener("hashchange", () => route.read());
}
