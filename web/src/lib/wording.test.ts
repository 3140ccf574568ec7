import { expect, test } from "vitest";
import { corrected, worded } from "./wording";

const CLASSIFIERS =
  "`anthill classifiers` lists all classifiers; docs/classification.md describes the language.";

test("a mistake is in a field, not in an option", () => {
  const said = worded(
    "--by, line 2, column 7: unknown name `lenght`; did you mean `length`?\n  lenght",
    CLASSIFIERS,
  );
  expect(said).toEqual({
    message: "Steps, line 2, column 7: unknown name `lenght`; did you mean `length`?\n  lenght",
    advice: undefined,
    option: "by",
    line: 2,
    column: 7,
    wrong: "lenght",
    meant: ["length"],
  });
  expect(worded("--where, column 1: expected an expression", null).option).toBe("where");
  expect(worded("group, column 3: no class matches `X`", "docs/groups.md describes it.").message).toBe(
    "Group, column 3: no class matches `X`",
  );
});

test("what can only be typed is left out, the rest stays", () => {
  const said = worded(
    "no set of up to 16 objects keeps all byte[] alive; allow larger sets with --most, or a smaller share with --share",
    null,
  );
  expect(said.message).toBe("No set of up to 16 objects keeps all byte[] alive");
  const state = worded("app.trace: it has one state", "Record for longer. Choose another state with --at.");
  expect([state.message, state.advice]).toEqual(["app.trace: it has one state", "Record for longer."]);
});

test("what was meant can be several", () => {
  const said = worded(
    "group, column 1: no class matches `nosuch`; did you mean a.NoSuch or a.NoSuchField?",
    null,
  );
  expect([said.wrong, said.meant]).toEqual(["nosuch", ["a.NoSuch", "a.NoSuchField"]]);
});

test("a word is corrected where it is wrong", () => {
  expect(corrected("siz > 1, siz > 2", { column: 10 }, "siz", "size")).toBe("siz > 1, size > 2");
  expect(corrected("a\nsiz", { line: 2, column: 1 }, "siz", "size")).toBe("a\nsize");
  expect(corrected("a", { column: 1 }, "siz", "size")).toBe("a");
});
