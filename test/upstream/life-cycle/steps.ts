/** What can happen to a gateway: each step does it, and then looks whether all is as it must be. */

import { expect, vi } from "vitest";
import { cooperativeYield } from "../../../src/runtime/cooperative-yield.js";
import fc from "../../support/fast-check.js";
import { settled } from "../../support/met-upstream.js";
import { configOf, MOODS, type Mood, NAMES, type Versions, type World } from "./world.js";

/** What the model knows without looking: the config in effect, and whether the gateway was stopped. */
export interface Model {
  versions: Versions;
  stopped: boolean;
}

type Step = fc.AsyncCommand<Model, World>;

/** Lets what was begun go as far as it can without time passing, and looks. */
async function look(world: World): Promise<void> {
  await settled();
  world.check();
}

class CallStep implements Step {
  constructor(
    readonly name: string,
    readonly takesMs: number,
  ) {}
  check = () => true;
  async run(_model: Model, world: World): Promise<void> {
    world.call(this.name, this.takesMs);
    await look(world);
  }
  toString = () => `call ${this.name} for ${this.takesMs} ms`;
}

class GiveUpStep implements Step {
  constructor(readonly which: number) {}
  check = () => true;
  async run(_model: Model, world: World): Promise<void> {
    world.calls[this.which % Math.max(1, world.calls.length)]?.stop.abort();
    await look(world);
  }
  toString = () => `give up ${this.which}`;
}

class CrashStep implements Step {
  constructor(
    readonly name: string,
    readonly how: "exits" | "goes deaf",
  ) {}
  check = (model: Model) => model.versions.has(this.name);
  async run(model: Model, world: World): Promise<void> {
    const [process] = world.machine(`${this.name}-${model.versions.get(this.name)}`).running;
    if (this.how === "exits") process?.end();
    else process?.breakOff();
    await look(world);
  }
  toString = () => `${this.name} ${this.how}`;
}

class MoodStep implements Step {
  constructor(
    readonly name: string,
    readonly mood: Mood,
  ) {}
  check = () => true;
  async run(_model: Model, world: World): Promise<void> {
    world.setMood(this.name, this.mood);
    await look(world);
  }
  toString = () => `${this.name} ${this.mood}`;
}

class ReloadStep implements Step {
  constructor(readonly versions: Versions) {}
  check = (model: Model) => !model.stopped;
  async run(model: Model, world: World): Promise<void> {
    model.versions = this.versions;
    let isOver = false;
    const replaced = world.inEffect
      .replace(configOf(this.versions), () => {})
      .finally(() => {
        isOver = true;
      });
    // It waits for new servers, for one that hangs up to `startupWait` (10 s), and for turns of the event loop, which take
    // real time: fake time passes when the turns that were due have come.
    for (let ms = 0; ms < 2_000 || (!isOver && ms < 60_000); ms += 1_000) {
      await cooperativeYield();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(isOver, "the config is replaced").toBe(true);
    await replaced;
    await look(world);
    expect([...world.inEffect.pipeline.servers.keys()]).toEqual([...this.versions.keys()]);
  }
  toString = () => `reload ${JSON.stringify([...this.versions])}`;
}

class WaitStep implements Step {
  constructor(readonly ms: number) {}
  check = () => true;
  async run(_model: Model, world: World): Promise<void> {
    await vi.advanceTimersByTimeAsync(this.ms);
    await look(world);
  }
  toString = () => `wait ${this.ms} ms`;
}

/** Waits for calls under way as a stopping gateway does, and then ends every server. */
class DrainStep implements Step {
  constructor(readonly graceMs: number) {}
  check = (model: Model) => !model.stopped;
  async run(model: Model, world: World): Promise<void> {
    model.stopped = true;
    await vi.advanceTimersByTimeAsync(this.graceMs);
    world.stop();
    await look(world);
  }
  toString = () => `stop after ${this.graceMs} ms`;
}

const name = fc.constantFrom(...NAMES);
export const versions: fc.Arbitrary<Versions> = fc
  .subarray([...NAMES], { minLength: 1 })
  .chain((names) =>
    fc
      .array(fc.nat(2), { minLength: names.length, maxLength: names.length })
      .map((numbers) => new Map(names.map((each, index) => [each, numbers[index] ?? 0]))),
  );
export const steps = fc.commands<Model, World, false>(
  [
    fc.tuple(name, fc.nat(3_000)).map(([which, ms]) => new CallStep(which, ms)),
    fc.tuple(name, fc.nat(3_000)).map(([which, ms]) => new CallStep(which, ms)),
    fc.nat(20).map((which) => new GiveUpStep(which)),
    name.map((which) => new CrashStep(which, "exits")),
    name.map((which) => new CrashStep(which, "goes deaf")),
    fc.tuple(name, fc.constantFrom(...MOODS)).map(([which, mood]) => new MoodStep(which, mood)),
    versions.map((next) => new ReloadStep(next)),
    fc.nat(6_000).map((ms) => new WaitStep(ms)),
    fc.nat(6_000).map((ms) => new WaitStep(ms)),
    fc.nat(3_000).map((ms) => new DrainStep(ms)),
  ],
  { maxCommands: 30 },
);
