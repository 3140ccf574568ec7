// The token of this run of the server. It comes with the address that `anthill open` opens, is kept for this
// tab only, and tabs of the same origin that are opened later ask the ones that have it.

const KEY = "anthill.token";
const ASK_FOR_MS = 400;

function fromAddress(): string | null {
  const query = new URLSearchParams(location.search).get("token");
  const fragment = /^#token=([^&]+)/.exec(location.hash)?.[1];
  const token = query ?? (fragment ? decodeURIComponent(fragment) : null);
  if (token) {
    const rest = fragment ? "#/" : location.hash;
    history.replaceState(null, "", location.pathname + rest);
  }
  return token;
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
  channel.addEventListener("message", (event) => {
    if (event.data?.wanted && token) channel.postMessage({ token });
  });
}

export function authorization(): Record<string, string> {
  return token ? { authorization: `Bearer ${token}` } : {};
}
