/** Which proxy is used for which URL. */
import { describe, expect, test } from "vitest";
import { proxyCredentials, proxyFor } from "../../src/outgoing/proxy.js";

const shown = (url: string, env: Readonly<Record<string, string>>, setting?: string): string | undefined =>
  proxyFor(url, setting, env)?.shown;

const BOTH = { HTTP_PROXY: "http://plain.corp:3128", HTTPS_PROXY: "http://secure.corp:3129" };

describe("the proxy of the environment", () => {
  test("is chosen by the scheme of the URL", () => {
    expect(shown("http://a.example/mcp", BOTH)).toBe("http://plain.corp:3128 (HTTP_PROXY)");
    expect(shown("https://a.example/mcp", BOTH)).toBe("http://secure.corp:3129 (HTTPS_PROXY)");
    expect(shown("https://a.example/mcp", { HTTP_PROXY: "http://plain.corp:3128" })).toBeUndefined();
  });

  test("may be written in lower case, which has precedence, and without a scheme", () => {
    expect(shown("http://a.example/", { ...BOTH, http_proxy: "lower.corp:80" })).toBe(
      "http://lower.corp (http_proxy)",
    );
    expect(shown("http://a.example/", { ...BOTH, http_proxy: "" })).toBe(
      "http://plain.corp:3128 (HTTP_PROXY)",
    );
    expect(shown("https://a.example/", { https_proxy: "https://tls.corp" })).toBe(
      "https://tls.corp (https_proxy)",
    );
  });

  test.each([
    "http://localhost:3000/",
    "http://LOCALHOST/",
    "http://127.0.0.1/",
    "http://127.8.9.1:80/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://[::1]:9000/",
    "http://app.localhost/",
    "https://localhost/",
  ])("is never used for loopback: %s", (url) => {
    expect(shown(url, BOTH)).toBeUndefined();
  });

  test("that is no proxy is an error that does not show the text, which may have a password", () => {
    expect(() =>
      proxyFor("http://a.example/", undefined, { HTTP_PROXY: "socks5://me:hunter22@a:1" }),
    ).toThrow("the variable HTTP_PROXY is not the http: or https: URL of a proxy");
  });
});

describe("NO_PROXY", () => {
  test.each([
    ["*", "http://a.example/"],
    ["a.example", "http://a.example/"],
    ["A.Example", "http://a.eXample/"],
    ["example", "http://a.example/"],
    [".example", "http://a.example/"],
    ["*.example", "http://b.a.example/"],
    [".a.example", "http://a.example/"],
    ["a.example.", "http://a.example/"],
    ["a.example", "http://a.example./"],
    ["x.corp, a.example", "http://a.example/"],
    ["x.corp a.example", "http://a.example/"],
    ["x.corp,,a.example,", "http://a.example/"],
    ["a.example:80", "http://a.example/"],
    ["a.example:443", "https://a.example/"],
    [".example:8080", "http://a.example:8080/"],
    ["10.1.2.3", "http://10.1.2.3:9/"],
    ["10.1.2.3:9", "http://10.1.2.3:9/"],
    ["10.0.0.0/8", "http://10.200.0.1/"],
    ["fd00::/8", "http://[fd12::1]/"],
    ["fd12::1", "http://[fd12:0:0::1]/"],
    ["[fd12::1]:80", "http://[fd12::1]/"],
  ])("%s excepts %s", (list, url) => {
    expect(shown(url, { ...BOTH, NO_PROXY: list })).toBeUndefined();
    expect(shown(url, { ...BOTH, no_proxy: list })).toBeUndefined();
  });

  test.each([
    ["", "http://a.example/"],
    ["b.example", "http://a.example/"],
    ["a.example", "http://ba.example/"],
    ["xample", "http://a.example/"],
    ["a.example:8080", "http://a.example/"],
    ["b.a.example", "http://a.example/"],
    ["10.0.0.0/8", "http://11.0.0.1/"],
    ["10.0.0.0/8", "http://ten.example/"],
    ["0.1", "http://10.0.0.1/"],
    ["10.1.2.3:9", "http://10.1.2.3:8/"],
    ["10.0.0.0/99", "http://10.0.0.1/"],
    [".", "http://a.example/"],
  ])("%s does not except %s", (list, url) => {
    expect(shown(url, { ...BOTH, NO_PROXY: list })).toBe("http://plain.corp:3128 (HTTP_PROXY)");
  });
});

describe("the proxy of a server", () => {
  test("is used in place of that of the environment, for loopback and hosts of NO_PROXY too", () => {
    const env = { ...BOTH, NO_PROXY: "*" };
    for (const url of ["http://a.example/", "https://a.example/", "http://127.0.0.1:9/"])
      expect(shown(url, env, "http://own.corp:8080")).toBe("http://own.corp:8080 (proxy of the config)");
  });

  test("may be none", () => {
    expect(shown("http://a.example/", BOTH, "none")).toBeUndefined();
  });
});

test("credentials of a proxy are sent, percent-decoded, and not shown", () => {
  const found = proxyFor("http://a.example/", "http://me%40corp:p%3Ass%C3%A9@own.corp:8080/", {});
  expect(found?.shown).toBe("http://own.corp:8080 (proxy of the config)");
  expect(found?.url.href).toBe("http://own.corp:8080/");
  const sent = Buffer.from("me@corp:p:ssé").toString("base64");
  expect(found?.authorization).toBe(`Basic ${sent}`);
  expect(proxyCredentials("http://me%40corp:p%3Ass%C3%A9@own.corp:8080/")).toEqual([
    "p:ssé",
    "p%3Ass%C3%A9",
    sent,
  ]);
});
