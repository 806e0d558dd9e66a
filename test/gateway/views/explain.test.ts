/** Why a call would be let through or not, asked of the status API. */
import "../../features/admin/needed.js";
import { describe, expect, onTestFinished } from "vitest";
import { unknownPrincipal } from "../../../src/gateway/views/explain.js";
import { openStage } from "../../scenarios/stage.js";
import { testOf } from "../../support/features.js";
import { UPSTREAMS } from "../../support/scripted/upstreams.js";

describe("an explanation", () => {
  const started = async () => {
    const kinds = UPSTREAMS.filter(({ key }) => key === "legacy-http");
    const rules = [
      { name: "for-ops", groups: ["ops"], effect: "allow" },
      { name: "hidden", tools: ["*__echo"], resources: ["*secret"], effect: "hide" },
      { name: "read-first", resources: ["*one"], effect: "approve" },
    ];
    const hash = `sha256:${"0".repeat(64)}`;
    const auth = { keys: [{ id: "ann", hash, groups: ["ops"] }] };
    const stage = await openStage(kinds, { config: { auth, policy: { rules } } });
    onTestFinished(() => stage.close());
    return (name: string, as: string) =>
      stage.status(`explain?${new URLSearchParams({ name, as }).toString()}`);
  };

  testOf("policy")(
    "names the rule that hides a tool from a principal, with the groups of its key",
    async () => {
      const explain = await started();
      expect(await explain("legacy-http__echo", "bob")).toMatchObject({
        target: "echo",
        effect: "hide",
        rule: "hidden",
        visible: false,
      });
      expect(await explain("legacy-http__echo", "ann")).toMatchObject({
        principal: { id: "ann", groups: ["ops"] },
        effect: "allow",
        rule: "for-ops",
        visible: true,
      });
      expect(await explain("legacy-http__ecco", "ann")).toEqual({
        unknown:
          "there is no tool, prompt or resource legacy-http__ecco for ann; did you mean legacy-http__echo?",
      });
    },
  );

  testOf("policy")("says when no host can have that principal, and suggests the most similar", async () => {
    const explain = await started();
    const principal = async (as: string) =>
      ((await explain("legacy-http__echo", as)) as { principal: unknown }).principal;
    expect(await principal("anne")).toEqual({
      id: "anne",
      groups: [],
      scopes: [],
      unknown: "no key in auth.keys is that of anne; did you mean ann?",
    });
    expect(await principal("ann")).toEqual({ id: "ann", groups: ["ops"], scopes: [] });
    expect(await principal("anonymous")).not.toHaveProperty("unknown");
    const auth = { keys: [], requiredScopes: [] };
    expect(unknownPrincipal("x", { ...auth, jwt: {} as never })).toBeUndefined();
    expect(unknownPrincipal("x", undefined)).toBe(
      'no host comes as x over HTTP: without "auth" in the config every host is anonymous',
    );
  });

  testOf("policy")("exists for resources too", async () => {
    const explain = await started();
    expect(await explain("legacy-http+memo://one", "bob")).toMatchObject({
      server: "legacy-http",
      target: "memo://one",
      effect: "approve",
      rule: "read-first",
    });
    expect(await explain("legacy-http+memo://secret", "bob")).toMatchObject({
      effect: "hide",
      rule: "hidden",
    });
  });
});
