// Errors that no part of the pages expects: in what a click starts, in what comes later. They are shown, not only logged.

class Unexpected {
  error = $state.raw<unknown>();
}

export const unexpected = new Unexpected();

export function followErrors(): void {
  addEventListener("error", (event) => {
    // Without an error it is the browser's own remark, such as that a size was observed late.
    if (event.error) unexpected.error = event.error;
  });
  addEventListener("unhandledrejection", (event) => (unexpected.error = event.reason));
}
