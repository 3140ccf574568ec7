// How wide a person made the columns of tables, kept in this browser.

const KEY = "anthill.widths";
export const NARROWEST = 48;
const WIDEST = 900;

type Kept = Record<string, Record<string, number>>;

function read(): Kept {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return typeof kept === "object" && kept !== null ? (kept as Kept) : {};
  } catch {
    return {};
  }
}

class Widths {
  private kept = $state.raw<Kept>(read());

  /** The width that a column of a table was given. */
  of(table: string, column: string): number | undefined {
    const width = this.kept[table]?.[column];
    return typeof width === "number" ? width : undefined;
  }

  /** Gives a column a width; null gives back its own. */
  set(table: string, column: string, width: number | null): void {
    const columns = { ...this.kept[table] };
    if (width === null) delete columns[column];
    else columns[column] = Math.round(Math.max(NARROWEST, Math.min(WIDEST, width)));
    this.kept = { ...this.kept, [table]: columns };
    localStorage.setItem(KEY, JSON.stringify(this.kept));
  }
}

export const widths = new Widths();
