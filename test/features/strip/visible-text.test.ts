/** Characters that no reader sees, in texts of all scripts. */
import { describe, expect, test } from "vitest";
import { needsALook } from "../../../src/features/strip/invisible-characters.js";
import { visibleText } from "../../../src/features/strip/visible-text.js";
import { runSteps, Work } from "../../../src/runtime/cooperative-yield.js";
import fc from "../../support/fast-check.js";
import { stepsOf } from "../../support/steps.js";

/** Without turns of the event loop between the steps. */
function visible(text: string): string {
  const steps = visibleText(text, new Work());
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

const tags = (text: string): string =>
  Array.from(text, (letter) => String.fromCodePoint(0xe0000 + (letter.codePointAt(0) ?? 0))).join("");

describe("taken out", () => {
  test.each([
    ["tag characters", `Adds.${tags("tell nobody")} Fast.`, "Adds. Fast."],
    ["tags behind another flag", `\u{1F3F3}${tags("gbeng")}\u{E007F}`, "\u{1F3F3}"],
    ["tags behind a flag that are no region", `\u{1F3F4}${tags("ignore all")}\u{E007F}`, "\u{1F3F4}"],
    ["a flag of a region that does not end", `\u{1F3F4}${tags("gbeng")}`, "\u{1F3F4}"],
    ["overrides of direction", "a\u202Egnp.exe\u202C b", "agnp.exe b"],
    ["an override between letters from right to left", "שלום\u202Eabc", "שלוםabc"],
    ["isolates where all letters go one way", "if (\u2066admin\u2069)", "if (admin)"],
    ["zero width", "pass\u200Bword\u2060s\uFEFF", "passwords"],
    ["joiners of no script", "a\u200Db\u200Cc", "abc"],
    ["a second joiner", "می\u200C\u200Dخ", "می\u200Cخ"],
    ["invisible operators and deprecated formats", "f\u2061(x)\u206F\u2064", "f(x)"],
    ["controls", "a\0b\bc\u007Fd\u0085e\f", "abcde"],
    ["bytes as selectors", `a\uFE00\uFE01${"\u{E0101}\u{E0102}"}`, "a"],
    ["selectors behind the first", "❤\uFE0F\uFE0F\uFE01", "❤\uFE0F"],
    ["fillers", "ㅤa\u115F\uFFA0ㅤㅤ", "a"],
    ["annotations", "\uFFF9a\uFFFAb\uFFFB", "ab"],
    ["soft hyphens beside no letter", "1\u00AD2", "12"],
    ["selectors and joiners of nothing", "\uFE0Fx\u200D", "x"],
  ])("%s", (_, text, clean) => {
    expect(visible(text)).toBe(clean);
  });

  test.each([
    ["colours", "\u001b[1;31mfailed\u001b[0m", "failed"],
    ["of eight bits", "\u009b31mfailed\u009b0m", "failed"],
    ["links", "\u001b]8;;https://a.example\u001b\\here\u001b]8;;\u0007", "here"],
    ["titles of windows", "\u001b]0;title\u0007text", "text"],
    ["strings that do not end", "\u001b]0;title", "0;title"],
    ["cut off", "done\u001b[", "done"],
    ["character sets", "\u001b(Bplain\u001b7", "plain"],
    ["within each other", "\u001b\u001b[31m[31mred", "[31mred"],
  ])("sequences of terminals: %s", (_, text, clean) => {
    expect(visible(text)).toBe(clean);
  });
});

describe("left as it is", () => {
  test.each([
    ["tabs and line breaks", "a\tb\r\nc\n"],
    [
      "the flags of England, Scotland and Wales",
      `\u{1F3F4}${tags("gbeng")}\u{E007F}\u{1F3F4}${tags("gbsct")}\u{E007F}\u{1F3F4}${tags("gbwls")}\u{E007F}`,
    ],
    ["a family, with skin tones", "👨\u200D👩\u200D👧 👩🏽\u200D💻"],
    ["an emoji with a selector before its joiner", "🏳\uFE0F\u200D🌈 ❤\uFE0F 1\uFE0F\u20E3 ©\uFE0F"],
    ["Persian", "می\u200Cخواهم"],
    ["Malayalam, whose word ends in a joiner", "അവന്\u200D വന്നു"],
    ["Hindi", "क्\u200Dष क्\u200Cष"],
    ["Sinhala", "ශ්\u200Dරී"],
    ["Thai with breaks of lines", "ภาษา\u200Bไทย"],
    ["Khmer with breaks of lines", "ភាសា\u200Bខ្មែរ"],
    ["Mongolian", "ᠮᠣᠩᠭᠣᠯ\u180E\u1820\u180B"],
    ["Hebrew with marks and isolates", "שלום \u2066abc\u2069\u200F 1"],
    ["Arabic with a mark", "سعر\u061C 5"],
    ["German with soft hyphens", "Donau\u00ADdampf\u00ADschiff"],
    ["variants of ideographs", "葛\u{E0100}城 㐂\uFE00"],
    ["old Korean", "\u115F\u1161\u11A8"],
    ["a byte order mark at the beginning", "\uFEFFname,age"],
    ["private use, as icons", "\uE0A0 main \u{F0001}"],
    ["unpaired halves of surrogates", "\uD800a\uDC00\uDB40"],
    ["spaces of other widths", "1\u00A0000\u202F000\u2009\u3000"],
  ])("%s", (_, text) => {
    expect(visible(text)).toBe(text);
  });
});

const anyText = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 4 }),
      fc.constantFrom(
        ..."\0\u001b[]31m\\\u0007\u009b\u200B\u200C\u200D\u202E\u2066\uFE0F\uFEFF\u115F\u180Bکㅤ❤ש",
      ),
      fc.constantFrom("👩", "\u{1F3F4}", "\u{E0067}", "\u{E007F}", "\u{E0101}", "葛"),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(""));

test("what was taken out once leaves nothing to take out", () => {
  fc.assert(fc.property(anyText, (text) => visible(visible(text)) === visible(text)));
});

test("nothing is added, and a text that needs no look is the very same", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const clean = visible(text);
      let at = 0;
      for (const unit of clean) at = text.indexOf(unit, at) + unit.length;
      return needsALook(text) ? at <= text.length : clean === text;
    }),
  );
});

test("no control character is left but tabs and line breaks", () => {
  fc.assert(fc.property(anyText, (text) => !/[^\P{Cc}\t\n\r]/u.test(visible(text))));
});

test("a long text is read in steps", async () => {
  const text = "plain \u001b[1mtext\u001b[0m ".repeat(60_000);
  const steps = [...visibleText(text, new Work())];
  expect(steps.length).toBeGreaterThan(8);
  expect(await runSteps(visibleText(text, new Work()))).toBe("plain text ".repeat(60_000));
});

test("what lies across the pieces of a long text is found", () => {
  const text = `${"x".repeat(262_143)}\u{E0041}${"x".repeat(262_140)}\u001b[31my`;
  expect(visible(text)).toBe(`${"x".repeat(262_143)}${"x".repeat(262_140)}y`);
});

test.each([
  ["beginnings of strings", "\u001b]"],
  ["beginnings of colours", "\u001b[1;1;1;1;"],
  ["tags", "\u{E0041}"],
  ["flags without an end", `\u{1F3F4}${"\u{E0067}\u{E0062}"}`],
  ["joiners", "\u200D"],
])("%s cost twice as much for a text of twice the length", async (_, part) => {
  const cost = async (count: number) => stepsOf(async () => visible(part.repeat(count)));
  expect(await cost(8_000)).toBeLessThan(3 * (await cost(4_000)));
});
