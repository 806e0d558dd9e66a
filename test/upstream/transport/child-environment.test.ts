/** What a child process sees of the environment of the gateway. */
import { expect, test } from "vitest";
import { childEnvironment } from "../../../src/upstream/transport/process-group.js";

test("a child inherits what every program needs, and no more", () => {
  const inherited = {
    PATH: "/bin",
    HOME: "/root",
    LC_CTYPE: "C",
    SHELL: "() { :; }; echo hi",
    CARDEA_PORT: "1",
    AWS_SECRET_ACCESS_KEY: "x",
    LD_PRELOAD: "x",
    NODE_OPTIONS: "x",
    path: "/evil",
    TZ: undefined,
  };
  expect(childEnvironment({}, inherited, "linux")).toEqual({ PATH: "/bin", HOME: "/root", LC_CTYPE: "C" });
});

test("its own settings win, whatever they are", () => {
  const own = { PATH: "/opt/bin", NODE_OPTIONS: "--max-old-space-size=64", __proto__x: "1" };
  expect(childEnvironment(own, { PATH: "/bin" }, "linux")).toEqual(own);
});

test("on Windows names are the same in any case", () => {
  const inherited = { Path: "C:\\Windows", SystemRoot: "C:\\Windows", Secret: "x" };
  expect(childEnvironment({ PATH: "D:\\bin" }, inherited, "win32")).toEqual({
    PATH: "D:\\bin",
    SystemRoot: "C:\\Windows",
  });
});
