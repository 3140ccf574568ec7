import { expect, test } from "vitest";
import type { HistogramRow, LoaderRow } from "../../api/types";
import { classesByLoader, loaderRows, matches, severalTimes, subject } from "./rows";

const shop = {
  loader: {
    label: 'org.apache.Loader "/shop" @ 0x10',
    address: "0x10",
    class: "org.apache.Loader",
    retained: 8,
  },
  context: "/shop",
  state: "DESTROYED",
  places: ["/srv/shop/WEB-INF/classes/", "/srv/shop/WEB-INF/lib/money.jar"],
} as LoaderRow;
const of = (name: string, loader: string) => ({ class: name, loader }) as HistogramRow;

test("a class loader is found by its context, its state and its jars", () => {
  for (const text of ["/SHOP", "destroyed", "money.jar", "0x10", ""]) expect(matches(shop, text)).toBe(true);
  expect(matches(shop, "outlet")).toBe(false);
});

test("a class loader is called by what tells it apart", () => {
  expect(loaderRows([shop]).map(subject)).toEqual(["/shop"]);
  expect(loaderRows([{ ...shop, loader: null }]).map(subject)).toEqual([""]);
});

test("classes belong to their loaders, and those of several are told", () => {
  const classes = [
    of("a.A", "one"),
    of("a.A", "two"),
    of("a.B", "two"),
    of("int[]", "one"),
    of("int[]", "two"),
  ];
  expect(
    classesByLoader(classes)
      .get("two")
      ?.map((row) => row.class?.class),
  ).toEqual(["a.A", "a.B", "int[]"]);
  expect(severalTimes(classes)).toEqual([["a.A", ["one", "two"]]]);
});
