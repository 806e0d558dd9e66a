/** What people see of a text, and which texts can identify anything. */
import { describe, expect, test } from "vitest";
import { foldedIdentifier, identifierFault, nameForPeople } from "../../src/wire/readable-text.js";
import { isReservedId, reservedIn } from "../../src/wire/reserved-ids.js";

const INVISIBLE: readonly (readonly [string, string])[] = [
  ["a Hangul filler", "\u3164"],
  ["a half-width Hangul filler", "\uffa0"],
  ["Hangul jamo fillers", "\u115f\u1160"],
  ["a braille blank", "\u2800"],
  ["a soft hyphen", "\u00ad"],
  ["a zero-width space", "\u200b"],
  ["a word joiner", "\u2060"],
  ["a byte order mark", "\ufeff"],
  ["bidirectional controls", "\u202e\u2066"],
  ["tag characters", "\u{e0063}\u{e0061}"],
  ["variation selectors", "\ufe0f\u{e0100}"],
  ["combining marks alone", "\u0301\u0302"],
  ["a Mongolian vowel separator", "\u180e"],
  ["a musical null notehead", "\u{1d159}"],
  ["Khmer inherent vowels", "\u17b4\u17b5"],
  ["blanks of other widths", "\u00a0\u3000\u2003"],
  ["a control character", "\u0007"],
  ["a private-use character", "\ue000"],
  ["half of a surrogate pair", "\ud800"],
];

describe("a name for people", () => {
  test.each(INVISIBLE)("of which only %s is there says that it cannot be read", (_, name) => {
    expect(nameForPeople(name, "nameless")).toBe("nameless");
  });

  test.each(INVISIBLE.filter(([what]) => !/blanks|combining/.test(what)))(
    "that has %s in it is cleaned and marked",
    (_, hidden) => {
      expect(nameForPeople(`Cl${hidden}aude`, "nameless")).toBe("Claude (hidden characters removed)");
    },
  );

  test.each([
    "Claude",
    "VS Code (Insiders)",
    "Łódź 3.0",
    "❤️ notes",
    "👨‍💻 dev",
    "می‌خواهم",
    "क्‍ष",
    "日本語",
    "🦊",
  ])("that can be read is unchanged: %s", (name) => expect(nameForPeople(name, "nameless")).toBe(name));
});

describe("an identifier", () => {
  test.each(INVISIBLE)("with %s is none", (_, hidden) => {
    for (const text of [hidden, `${hidden}a`]) expect(identifierFault(text)).toMatch(/cannot be seen/);
    if (!hidden.startsWith("\u0301")) expect(identifierFault(`a${hidden}b`)).toMatch(/cannot be seen/);
  });

  test.each(["ann@example.com", "auth0|5f7c8e", "Domain Users", "é", "团队", "a:b/c", "CN=Ann,OU=x"])(
    "of visible characters is one: %s",
    (text) => expect(identifierFault(text)).toBeUndefined(),
  );
});

describe("a reserved id", () => {
  test.each([
    ...[
      "operator",
      "Operator",
      "OPERATOR",
      "ＯＰＥＲＡＴＯＲ",
      "оperator",
      "ｏperatör",
      "anonymous",
      "Anonymous",
    ],
    ...["admin-token", "admin_token", "admin‐token", "Admin Token", "shared", "ѕhared", "service", "SERVICE"],
    ...["group:leads", "Group:x", "ｇroup：x", "group∶x"],
  ])("%s is one, or reads like one", (id) => expect(isReservedId(id)).toBe(true));

  test.each([
    "ann",
    "operators",
    "co-operator",
    "services",
    "grouper",
    "u-4711",
    "group-leads",
    "shared.mailbox",
  ])("%s is none", (id) => expect(isReservedId(id)).toBe(false));

  test("is each id that reads like that of a key", () => {
    const isReserved = reservedIn([{ id: "ci" }, { id: "José" }]);
    for (const id of ["ci", "CI", "ｃｉ", "сі", "jose", "Jose\u0301"]) expect(isReserved(id)).toBe(true);
    expect(isReserved("ci-2")).toBe(false);
    expect(foldedIdentifier("A b_c")).toBe("a-b-c");
  });
});
