/** Whose browser is opened, and with what. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { browserOpener, openBrowser } from "../../src/cli/open-browser.js";
import { until } from "../support/until.js";

describe("the program that opens a URL", () => {
  test.each([
    ["darwin", {}, ["open"]],
    ["win32", {}, ["rundll32", "url.dll,FileProtocolHandler"]],
    ["linux", { DISPLAY: ":0" }, ["xdg-open"]],
    ["linux", { WAYLAND_DISPLAY: "wayland-0" }, ["xdg-open"]],
    ["linux", { WSL_DISTRO_NAME: "Debian" }, ["xdg-open"]],
  ])("of %s with %j is %j", (platform, env, opener) => {
    expect(browserOpener(env, platform)).toEqual(opener);
  });

  test.each([
    ["linux", {}, "there is no screen"],
    ["linux", { DISPLAY: "" }, "there is no screen"],
    ["linux", { DISPLAY: ":0", SSH_CONNECTION: "10.0.0.1 22" }, "the person sits at another machine"],
    ["darwin", { SSH_TTY: "/dev/pts/1" }, "the person sits at another machine"],
    ["win32", { CI: "true" }, "nobody is there"],
  ])("is none on %s with %j: %s", (platform, env, _why) => {
    expect(browserOpener(env, platform)).toBeUndefined();
  });
});

describe("opening a page", () => {
  /** A program that writes down its arguments. */
  function recorder() {
    const folder = mkdtempSync(join(tmpdir(), "cardea-opener-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const [program, file] = [join(folder, "opener.mjs"), join(folder, "arguments")];
    writeFileSync(
      program,
      `import { renameSync, writeFileSync } from "node:fs";
writeFileSync(${JSON.stringify(`${file}.new`)}, JSON.stringify(process.argv.slice(2)));
renameSync(${JSON.stringify(`${file}.new`)}, ${JSON.stringify(file)});`,
    );
    chmodSync(program, 0o700);
    const read = (): string | undefined => {
      try {
        return readFileSync(file, "utf8");
      } catch {
        return undefined;
      }
    };
    return {
      opener: [process.execPath, program] as const,
      arguments: () => until("the opener to be run", read),
    };
  }

  test("passes the URL as one argument, without a shell", async () => {
    const { opener, arguments: seen } = recorder();
    const url = "https://as.example/authorize?scope=a%20b&state=$(touch%20x)&x=`id`;%22'|more";
    expect(await openBrowser(url, opener)).toBe(true);
    expect(JSON.parse(await seen())).toEqual([new URL(url).href]);
  });

  test.each([
    "javascript:alert(1)",
    "file:///etc/passwd",
    "data:text/html,x",
    "vbscript:x",
    "--help",
    "https://",
  ])("never opens %s", async (url) => {
    const program = join(tmpdir(), "cardea-no-such-opener");
    expect(
      await openBrowser(url, [
        process.execPath,
        "-e",
        `require("fs").writeFileSync(${JSON.stringify(program)}, "")`,
      ]),
    ).toBe(false);
  });

  test("reports a missing program", async () => {
    expect(await openBrowser("https://as.example/", ["/no/such/program"])).toBe(false);
  });
});
