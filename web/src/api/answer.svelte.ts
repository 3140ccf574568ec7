// One answer of the server in a view: asked again when its address changes, given up when the view goes away.

import { untrack } from "svelte";
import { type Address, ApiError, ask, cancelJob, newJob } from "./client";
import { jobs, type Progress } from "./events.svelte";

export class Answer<T> {
  data = $state.raw<T>();
  error = $state.raw<ApiError>();
  waiting = $state(false);
  private job = $state("");
  private url: Address<T> | null = null;
  private controller: AbortController | undefined;

  get progress(): Progress | undefined {
    return jobs.get(this.job);
  }

  async start(url: Address<T> | null, fresh = false): Promise<void> {
    this.stop();
    this.url = url;
    this.error = undefined;
    if (url === null) {
      this.data = undefined;
      return;
    }
    const controller = new AbortController();
    this.controller = controller;
    this.job = newJob();
    this.waiting = true;
    try {
      const data = await ask(url, { signal: controller.signal, job: this.job, fresh });
      if (this.controller === controller) this.data = data;
    } catch (cause) {
      if (this.controller !== controller) return;
      this.data = undefined;
      if (cause instanceof ApiError) this.error = cause;
      else if (controller.signal.aborted) this.error = new ApiError("Cancelled.", 409);
      else throw cause;
    } finally {
      jobs.delete(this.job);
      if (this.controller === controller) this.waiting = false;
    }
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
export function answer<T>(url: () => Address<T> | null): Answer<T> {
  const result = new Answer<T>();
  const address = $derived(url());
  $effect(() => {
    const now = address;
    untrack(() => void result.start(now));
    return () => result.stop();
  });
  return result;
}
