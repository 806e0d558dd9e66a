/** F15: the config is changed over and over under load, in every way in which a file can be changed. */
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Host, openHost, textOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { descendants, descriptors } from "./support/processes.mjs";
import { line, mib, ms, pause, quantile, row, until } from "./support/row.mjs";
import { httpServer, stdioServer } from "./support/servers.mjs";
import { startTraffic } from "./support/traffic.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

await row(
  "F15",
  "config reloads under load: good, bad, half written, swapped as a symlink, deleted",
  async (row) => {
    const web = row.own(await httpUpstream());
    const config = (n, rest = {}) => ({
      mcpServers: {
        pipe: stdioServer(),
        old: stdioServer(["--era", "legacy"]),
        web: httpServer(web),
        ...rest,
      },
      // Something to see that this very version is in effect.
      profiles: { [`v${n}`]: { servers: ["pipe"] } },
    });
    const gateway = row.own(await startGateway(config(0), { probe: true }));
    await gateway.met("pipe", "old", "web");
    const pids = () =>
      descendants(gateway.pid)
        .map(({ pid }) => pid)
        .toSorted()
        .join(" ");
    const host = await openHost(gateway.url, "legacy");
    let announced = 0;
    row.own(await host.stream({ onMessage: () => (announced += 1) }));
    const files = descriptors(gateway.pid);
    const traffic = row.own(
      await startTraffic(gateway.url, { tools: ["pipe__echo", "old__echo", "web__echo"], rate: 200 }),
    );
    await pause(1000);
    const before = pids();
    const inEffect = async (n) => {
      const reply = await new Host(`${gateway.url}/v${n}`, "modern", { agent: host.agent }).call("echo", {
        text: ".",
      });
      return reply.status === 200;
    };
    await traffic.window();

    const total = row.quick ? 50 : 1000;
    const took = [];
    const heap = [];
    for (let n = 1; n <= total; n += 1) {
      gateway.configure(config(n));
      const { ms: time } = await until(`version ${n}`, () => inEffect(n), 5_000, 10);
      took.push(time);
      if (n % Math.ceil(total / 20) === 0) {
        heap.push([n, await gateway.objectsMiB()]);
      }
    }
    const window = await traffic.window();
    row.check(
      `failed calls during ${total} reloads`,
      0,
      `${window.errors} of ${window.calls}${window.errors > 0 ? `: ${window.firstError}` : ""}`,
      window.errors === 0 && window.calls > 200,
    );
    row.check("processes of unchanged servers", before, pids(), pids() === before);
    row.timing(
      "in effect after",
      "<= 1 s",
      `p50 ${ms(quantile(took, 0.5))}, most ${ms(Math.max(...took))}`,
      Math.max(...took) <= 1000,
    );
    const half = (points) => points.slice(points.length / 2);
    const trend = line(half(heap));
    const growth = trend.slope * (total / 2);
    row.check(
      "heap without compiled code, over the second half of the reloads",
      "flat: < + 1 MiB",
      `${mib(heap[0][1])} to ${mib(heap.at(-1)[1])}, slope ${mib(growth)} ± ${mib(trend.error * (total / 2))}`,
      growth < 1,
    );
    row.check("list_changed to a host whose lists did not change", 0, announced, announced === 0);

    // A change of one server is a change of that one alone.
    // On demand it would start with its first call, as the lists of this very command are known.
    gateway.configure(config("changed", { more: { ...stdioServer(), start: "eager" } }));
    await gateway.met("more");
    const more = pids();
    row.check(
      "a server is added: the others keep running",
      "one process more",
      `${more.split(" ").length - before.split(" ").length} more`,
      before.split(" ").every((pid) => more.includes(pid)) &&
        more.split(" ").length === before.split(" ").length + 1,
    );
    gateway.configure(config("back"));
    await until("it to be gone", () => pids() === before, 5_000).catch(() => {});
    row.check("and removed again", before, pids(), pids() === before);

    // Invalid files: the old config stays live, and the log and `/readyz` report it.
    const reload = () => gateway.metric("cardea_config_last_reload_successful");
    const bad = async (what, spoil, place) => {
      const known = gateway.log().length;
      const begun = performance.now();
      spoil();
      await until(`the refusal of ${what}`, async () => (await reload()) === 0, 7_000, 20).catch(() => {});
      const lines = gateway
        .log()
        .slice(known)
        .map(({ msg }) => msg);
      const named = place === undefined || lines.some((each) => place.test(each ?? ""));
      const serves = textOf((await host.call("web__echo", { text: what })).message) === what;
      const ready = await gateway.get("/readyz");
      row.check(
        `${what}`,
        "metric 0, position in the log, old config serves",
        `metric ${await reload()}, ${named ? "named" : "not named"}, ${serves ? "serves" : "fails"}, after ${ms(performance.now() - begun)}`,
        (await reload()) === 0 && named && serves && ready.status === 200 && ready.body.includes("refused"),
      );
    };
    const good = async (n) => {
      gateway.configure(config(n));
      await until(
        "a good file to be taken again",
        async () => (await reload()) === 1 && (await inEffect(n)),
        7_000,
        20,
      );
    };
    await bad(
      "a file with an unknown key",
      () => gateway.configure({ ...config(1), polices: {} }),
      /cardea\.json:\d+:\d+/,
    );
    await good("g1");
    await bad(
      "half a file",
      () => gateway.configure(JSON.stringify(config(2), null, 2).slice(0, 300)),
      /cardea\.json:\d+:\d+/,
    );
    await good("g2");
    await bad(
      "a file with a duplicate key",
      () => gateway.configure('{ "mcpServers": {},\n  "mcpServers": {} }'),
      /cardea\.json:\d+:\d+/,
    );
    await good("g3");
    await bad("an empty file", () => gateway.configure(""), undefined);
    await good("g4");
    await bad("a deleted file", () => rmSync(gateway.file), undefined);
    await good("g5");

    // Written in two halves: the first is no config, and must not be taken for the end of it.
    const refusals = gateway.log().filter(({ level }) => level === "error").length;
    const text = JSON.stringify(config("slow"), null, 2);
    writeFileSync(gateway.file, text.slice(0, 200));
    await pause(30);
    writeFileSync(gateway.file, text);
    await until("the whole of it", () => inEffect("slow"), 5_000, 20);
    const more_ = gateway.log().filter(({ level }) => level === "error").length - refusals;
    row.check("written in two halves, 30 ms apart", "no refusal", `${more_} refusals`, more_ === 0);

    // As Kubernetes does it: a link to a folder is replaced by another.
    const volume = join(gateway.folder, "volume");
    for (const name of ["one", "two"]) {
      mkdirSync(join(volume, name), { recursive: true });
      writeFileSync(join(volume, name, "cardea.json"), JSON.stringify(config(`k-${name}`)));
    }
    symlinkSync("one", join(volume, "..data"));
    symlinkSync("..data/cardea.json", join(volume, "cardea.json"));
    const mounted = row.own(await startGateway({}, { flags: ["--config", join(volume, "cardea.json")] }));
    await mounted.met("pipe", "web");
    symlinkSync("two", join(volume, "..new"));
    const swapped = performance.now();
    renameSync(join(volume, "..new"), join(volume, "..data"));
    const { ms: swap } = await until(
      "the other folder",
      async () =>
        (await new Host(`${mounted.url}/vk-two`, "modern", { agent: host.agent }).call("echo", { text: "." }))
          .status === 200,
      7_000,
      10,
    ).catch(() => ({ ms: performance.now() - swapped }));
    row.timing("a symlink swapped as in Kubernetes, in effect after", "<= 1 s", ms(swap), swap <= 1000);
    const all = await traffic.window();
    row.check(
      "failed calls during all of this",
      0,
      `${all.errors} of ${all.calls}${all.errors > 0 ? `: ${all.firstError}` : ""}`,
      all.errors === 0,
    );
    await traffic.stop();
    const left = () => descriptors(gateway.pid);
    await until("idle connections to be closed", () => left() <= files, 15_000).catch(() => {});
    row.check("descriptors after the load", `as before it: ${files}`, left(), left() <= files);
  },
);
