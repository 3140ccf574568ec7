// To the clipboard, or to a file where the browser does not let a page copy.

export async function copyText(text: string, name: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return "copied";
  } catch {
    save(new Blob([text], { type: "text/plain;charset=utf-8" }), name);
    return `saved as ${name}`;
  }
}

export async function copyImage(image: Blob, name: string): Promise<string> {
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": image })]);
    return "copied";
  } catch {
    save(image, name);
    return `saved as ${name}`;
  }
}

export function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
