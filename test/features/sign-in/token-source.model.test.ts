/**
 * Whatever happens in which order (calls, 401s, lost answers, crashes, sign-ins, other processes), the newest refresh token
 * that an issuer has given is on disk, and no refresh token is sent twice but where its first request may have been lost.
 */
import { expect, test } from "vitest";
import { GatewayError } from "../../../src/core/errors.js";
import fc from "../../support/fast-check.js";
import type { Fate } from "./rotating-issuer.js";
import { HOUR_MS, rejected, SIGNAL, World } from "./world.js";

type Command =
  | { readonly kind: "call"; readonly process: number }
  | { readonly kind: "refused call"; readonly process: number }
  | { readonly kind: "time"; readonly ms: number }
  | { readonly kind: "fate"; readonly fate: Fate }
  /** The process is killed while its next request is under way. */
  | { readonly kind: "crash"; readonly process: number }
  | { readonly kind: "sign in" };

const PROCESSES = 3;
const process = fc.nat(PROCESSES - 1);
/** What may go wrong without the end of a sign-in. */
const HARMLESS = [
  "answered",
  "answer lost",
  "request lost",
  "unavailable",
  "refused",
  "invalid_client",
] as const;

const commands: fc.Arbitrary<readonly Command[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant("call" as const), process }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("refused call" as const), process }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("time" as const),
        ms: fc.constantFrom(1, 5_000, HOUR_MS / 2, HOUR_MS),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant("fate" as const), fate: fc.constantFrom(...HARMLESS) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash" as const), process }) },
    { weight: 1, arbitrary: fc.constant({ kind: "sign in" as const }) },
  ),
  { minLength: 1, maxLength: 40 },
);

test("the newest refresh token is on disk after any interleaving of crashes and requests", async () => {
  await fc.assert(
    fc.asyncProperty(commands, fc.scheduler(), async (script, scheduler) => {
      const world = new World();
      world.signIn();
      const { disk, issuer } = world;
      const processes = Array.from({ length: PROCESSES }, () => world.start());
      disk.step = (label) => scheduler.schedule(Promise.resolve(), label);
      const wrong: unknown[] = [];
      let crashing: number | undefined;
      issuer.meanwhile = async () => {
        await scheduler.schedule(Promise.resolve(), "request");
        const victim = crashing;
        crashing = undefined;
        if (victim === undefined) return;
        // Only one request runs at a time, so it is that of the holder of the lock; any of them may be killed.
        processes[victim]?.process.kill();
        processes[victim] = world.start();
      };
      const work: Promise<unknown>[] = [];
      const run = async (command: Command): Promise<void> => {
        await scheduler.schedule(Promise.resolve(), command.kind);
        switch (command.kind) {
          case "call":
            work.push(call(command.process, 0));
            break;
          case "refused call":
            work.push(call(command.process, 1));
            break;
          case "time":
            world.pass(command.ms);
            break;
          case "fate":
            issuer.fates.push(command.fate);
            break;
          case "crash":
            crashing = command.process;
            break;
          case "sign in":
            work.push(
              signInProcess.process.locked("linear", "ann", async () => {
                await disk.step("sign in");
                world.signIn();
              }),
            );
        }
      };
      const signInProcess = world.start();
      /** A call of a host; the server refuses its token `refusals` times. */
      const call = async (at: number, refusals: number): Promise<void> => {
        const { source } = processes[at] ?? signInProcess;
        try {
          const header = source.header ?? (await source.obtain(SIGNAL));
          if (refusals === 0) return;
          const next = await source.onRejected(rejected(header), SIGNAL);
          if (next instanceof GatewayError) throw next;
          if (next === header) wrong.push("the refused token again");
        } catch (error) {
          // Nothing in this script ends a sign-in.
          const isExpected = error instanceof GatewayError && error.code === "upstream_unavailable";
          if (!isExpected) wrong.push(error);
        }
      };
      for (const command of script) work.push(run(command));
      await scheduler.waitIdle();
      expect(wrong).toEqual([]);
      expect(disk.get()?.tokens?.refreshToken).toBeDefined();

      // When all is quiet again, one call finds the newest tokens, also where an answer was lost.
      issuer.fates.length = 0;
      issuer.meanwhile = () => Promise.resolve();
      disk.step = () => Promise.resolve();
      world.pass(2 * HOUR_MS);
      const { source } = world.start();
      await source.obtain(SIGNAL);
      expect(disk.get()?.tokens?.refreshToken).toBe(issuer.newest);
      expect(disk.get()?.refreshBegunAt).toBeUndefined();
      expect(sentTwice(world)).toEqual([]);
      expect(world.changes.filter((isSignedIn) => !isSignedIn)).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

/** Refresh tokens that were sent again although their first request was answered. */
function sentTwice({ issuer }: World): readonly string[] {
  const answered = new Set<string>();
  const twice: string[] = [];
  for (const { refreshToken, fate, isAnswered } of issuer.sent) {
    if (answered.has(refreshToken)) twice.push(refreshToken);
    if (fate === "answered" && isAnswered) answered.add(refreshToken);
  }
  return twice;
}
