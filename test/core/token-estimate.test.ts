/**
 * The estimate beside what o200k_base makes of the same text, counted by gpt-tokenizer 4.0.0. `tool-definitions.json` has
 * tools of public MCP servers as they list them; `npm run tokens:accuracy` measures whole servers.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { estimateTokens } from "../../src/core/token-estimate.js";
import fc from "../support/fast-check.js";

interface Measured {
  readonly server: string;
  readonly o200k: number;
  readonly definition: { readonly name: string };
}

const measured: readonly Measured[] = JSON.parse(
  readFileSync(new URL("tool-definitions.json", import.meta.url), "utf8"),
);

const textOf = ({ definition }: Measured): string => JSON.stringify(definition);

describe("the estimate of tokens", () => {
  test("is within 3 % of o200k for the definitions of many tools", () => {
    const estimated = measured.reduce((total, tool) => total + estimateTokens(textOf(tool)), 0);
    const counted = measured.reduce((total, { o200k }) => total + o200k, 0);
    expect(Math.abs(estimated / counted - 1)).toBeLessThan(0.03);
  });

  test.each(measured.map((tool) => [`${tool.server} ${tool.definition.name}`, tool] as const))(
    "is within 10 % for %s",
    (_, tool) => {
      expect(Math.abs(estimateTokens(textOf(tool)) / tool.o200k - 1)).toBeLessThan(0.1);
    },
  );

  test.each([
    ["Durchsucht die Wissensdatenbank nach Schlüsselwörtern und gibt die besten Ergebnisse zurück.", 20],
    ["Ищет документы в базе знаний по ключевым словам и возвращает наиболее подходящие результаты.", 20],
    ["根据关键词在知识库中搜索文档,返回最相关的结果。如果没有找到任何内容,则返回空列表。", 26],
    ["キーワードに基づいてドキュメントを検索し、最も関連性の高い結果を返します。", 26],
  ])("is within a quarter for %s", (text, counted) => {
    expect(Math.abs(estimateTokens(text) / counted - 1)).toBeLessThan(0.25);
  });

  test("is a whole number for any text, and grows with it", () => {
    expect(estimateTokens("")).toBe(0);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), (one, other) => {
        const tokens = estimateTokens(one);
        expect(Number.isInteger(tokens)).toBe(true);
        expect(estimateTokens(`${one} ${one} ${other}`)).toBeGreaterThanOrEqual(tokens);
      }),
    );
  });
});
