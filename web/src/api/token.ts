// The token of this run of the server. It comes with the address that `anthill open` opens, is kept for this
// tab only, and tabs of the same origin that are opened later ask the ones that have it.

const KEY = "anthill.token";
const ASK_FOR_MS = 400;

/** The token of a fragment. */
export function tokenIn(hash: string): string | null {
  const token = /^#token=([^&]+)/.exec(hash)?.[1];
  return token ? decodeURIComponent(token) : null;
}

function fromAddress(): string | null {
  const fragment = tokenIn(location.hash);
  const token = new URLSearchParams(location.search).get("token") ?? fragment;
  if (token) history.replaceState(null, "", location.pathname + (fragment ? "#/" : location.hash));
  return token;
}

/** An address that is pasted over the one of this tab has the token of another run: all begins anew with it. */
function followPasted(): void {
  addEventListener("hashchange", (event) => {
    const pasted = tokenIn(location.hash);
    if (!pasted) return;
    event.stopImmediatePropagation();
    sessionStorage.setItem(KEY, pasted);
    history.replaceState(null, "", location.pathname + new URL(event.oldURL).hash);
    location.reload();
  });
}

function fromOtherTabs(channel: BroadcastChannel): Promise<string | null> {
  return new Promise((resolve) => {
    const listen = (event: MessageEvent) => {
      if (typeof event.data?.token === "string") resolve(event.data.token);
    };
    channel.addEventListener("message", listen);
    channel.postMessage({ wanted: true });
    setTimeout(() => {
      channel.removeEventListener("message", listen);
      resolve(null);
    }, ASK_FOR_MS);
  });
}

let token: string | null = null;

/** Finds the token before anything is asked of the server. */
export async function prepareToken(): Promise<void> {
  const channel = new BroadcastChannel("anthill");
  token = fromAddress() ?? sessionStorage.getItem(KEY) ?? (await fromOtherTabs(channel));
  if (token) sessionStorage.setItem(KEY, token);
  followPasted();
  channel.addEventListener("message", (event) => {
    if (event.data?.wanted && token) channel.postMessage({ token });
  });
}

export function authorization(): Record<string, string> {
  return token ? { authorization: `Bearer ${token}` } : {};
}
