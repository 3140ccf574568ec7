// Light or dark: as the system says, unless the person chose. Charts are drawn on canvases and need the colours.

const KEY = "anthill.theme";
export type Choice = "system" | "light" | "dark";

class Theme {
  choice = $state<Choice>((localStorage.getItem(KEY) as Choice | null) ?? "system");
  /** Counts changes, so that what is drawn with colours is drawn again. */
  version = $state(0);

  choose(choice: Choice): void {
    this.choice = choice;
    localStorage.setItem(KEY, choice);
    this.apply();
  }

  next(): void {
    const order: Choice[] = ["system", "light", "dark"];
    this.choose(order[(order.indexOf(this.choice) + 1) % order.length]!);
  }

  apply(): void {
    if (this.choice === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = this.choice;
    this.version += 1;
  }
}

export const theme = new Theme();

export function followTheme(): void {
  theme.apply();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme.apply());
}

/** The colour that a design token stands for now. */
export function colour(token: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--${token})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
