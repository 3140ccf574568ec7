// What a person can send along when the pages fail: no token, and of the file only what its address in the pages has.

export interface Failure {
  /** The part of the pages that failed: a view, or a panel. */
  where: string;
  address: string;
  error: unknown;
  version: string;
  browser: string;
}

/** An address without the token that some have. */
export function withoutToken(address: string): string {
  return address.replace(/([?&#])token=[^&#]*&?/g, "$1").replace(/[?&#]+$/, "");
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function failureReport({ where, address, error, version, browser }: Failure): string {
  const stack = error instanceof Error && error.stack ? error.stack : messageOf(error);
  return [
    `Anthill ${version}, web view`,
    `Failed: ${where}`,
    `Address: ${withoutToken(address)}`,
    `Browser: ${browser}`,
    // Some browsers begin the stack with the message, others leave it out.
    stack.includes(messageOf(error)) ? stack : `${messageOf(error)}\n${stack}`,
    "",
  ].join("\n");
}
