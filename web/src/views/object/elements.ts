// The elements of a data structure or an array, asked for page by page.

import { type Address, ask } from "../../api/client";
import type { AnswerTo, Element, Options, Value } from "../../api/types";
import { visible } from "../../lib/text";
import type { TreeSource } from "../../lib/tree.svelte";

export function elementRows(
  address: (options: Pick<Options<"elements">, "offset" | "limit">) => Address<AnswerTo<"elements">> | null,
  onpage: (page: AnswerTo<"elements">) => void,
): TreeSource<Element> {
  return {
    async load(_, offset, limit) {
      const url = address({ offset, limit });
      if (url === null) return { rows: [], rest: 0 };
      const page = await ask(url);
      onpage(page);
      const rows = page.elements;
      return { rows, rest: rows.length ? page.matching - offset - rows.length : 0 };
    },
    expandable: () => false,
    key: (row) => String(row.index),
  };
}

/** The object to which a value leads, if it does. */
export function target(value: Value | null): { address: string; label: string; retained: number } | null {
  return value && "object" in value ? value.object : null;
}

/**
 * A string or a boxed number in a list of elements as itself: where all are strings, their class and their addresses say
 * nothing.
 */
export function brief(value: Value): Value {
  const object = target(value);
  const told =
    object &&
    /^java\.lang\.(?:String|Boolean|Character|Byte|Short|Integer|Long|Float|Double) (.*) @ 0x[0-9a-f]+$/s.exec(
      object.label,
    );
  return told ? { value: visible(told[1]!) } : value;
}

/** A value in words, for tables that are copied. */
export function text(value: Value | null): string | null {
  if (!value) return null;
  if ("value" in value) return value.value;
  if ("object" in value) return value.object.label;
  return "dangling" in value ? value.dangling : null;
}
