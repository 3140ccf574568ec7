// One answer of the server in a view: asked again when its address changes, given up when the view goes away.

import { untrack } from "svelte";
import { type Address, ApiError, ask, cancelJob, newJob } from "./client";
import { jobs, type Progress } from "./events.svelte";

/** An answer that takes longer than this leaves no time to take the one before for it. */
const GRACE_MS = 150;

export interface Following {
  /**
   * Shows the answer before, marked as such, until there is a new one: for questions that only order or search what is
   * shown. All others show nothing meanwhile, since figures of one question are none of another.
   */
  keep?: boolean;
}

export class Answer<T> {
  /** The last answer; see `stale`. */
  data = $state.raw<T>();
  /** Whether `data` answers the question before this one. */
  stale = $state(false);
  error = $state.raw<ApiError>();
  waiting = $state(false);
  /** Whether it is waited for so long that it should be said. */
  slow = $state(false);
  private job = $state("");
  private url: Address<T> | null = null;
  private controller: AbortController | undefined;

  constructor(private readonly following: Following = {}) {}

  /** The answer to this question, if it is there. */
  get current(): T | undefined {
    return this.stale ? undefined : this.data;
  }

  get progress(): Progress | undefined {
    return jobs.get(this.job);
  }

  async start(url: Address<T> | null, fresh = false): Promise<void> {
    this.stop();
    if (url !== this.url) this.stale = this.data !== undefined;
    this.url = url;
    this.error = undefined;
    if (url === null) {
      this.drop();
      return;
    }
    const controller = new AbortController();
    this.controller = controller;
    this.job = newJob();
    this.waiting = true;
    this.slow = false;
    const grace = setTimeout(() => {
      if (this.controller !== controller) return;
      this.slow = true;
      if (this.stale && !this.following.keep) this.drop();
    }, GRACE_MS);
    try {
      const data = await ask(url, { signal: controller.signal, job: this.job, fresh });
      if (this.controller !== controller) return;
      this.data = data;
      this.stale = false;
    } catch (cause) {
      if (this.controller !== controller) return;
      if (!this.following.keep || !this.stale) this.drop();
      if (cause instanceof ApiError) this.error = cause;
      else if (controller.signal.aborted) this.error = new ApiError("Cancelled.", 409);
      else throw cause;
    } finally {
      clearTimeout(grace);
      jobs.delete(this.job);
      if (this.controller === controller) this.waiting = false;
    }
  }

  private drop(): void {
    this.data = undefined;
    this.stale = false;
  }

  /** The person does not want to wait any longer. */
  cancel(): void {
    void cancelJob(this.job);
    this.controller?.abort();
  }

  /** Asks once more, after it was cancelled or the server was away. */
  again(): void {
    void this.start(this.url, true);
  }

  /** The view is gone. */
  stop(): void {
    const controller = this.controller;
    this.controller = undefined;
    controller?.abort();
    this.waiting = false;
  }
}

/** An answer that follows an address; null asks nothing. To be called while a component is made. */
export function answer<T>(url: () => Address<T> | null, following?: Following): Answer<T> {
  const result = new Answer<T>(following);
  const address = $derived(url());
  $effect(() => {
    const now = address;
    untrack(() => void result.start(now));
    return () => result.stop();
  });
  return result;
}
