// What the view that is shown can be copied as. Each view says so while it is there; the bar at the top offers it.

import type { Table } from "./table";

export interface Shared {
  table?: () => Table;
  image?: () => Promise<Blob | null>;
}

class Sharing {
  offered = $state.raw<Shared>({});
}

export const sharing = new Sharing();

/** Offers what a view has to copy until it goes away. */
export function share(shared: Shared): void {
  $effect(() => {
    sharing.offered = shared;
    return () => {
      if (sharing.offered === shared) sharing.offered = {};
    };
  });
}
