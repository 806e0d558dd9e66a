/** Checks the network settings of a server: is the proxy one, and are the certificates and the key what they should be? */
import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Network, TlsSettings } from "../outgoing/network.js";
import { proxyUrl } from "../outgoing/proxy.js";
import { ServerConfigError } from "./server-config-error.js";
import type { ServerShape } from "./server-schema.js";

/** Undefined without settings. @throws ServerConfigError whose message has no value */
export function completeNetwork({ proxy, tls }: Pick<ServerShape, "proxy" | "tls">): Network | undefined {
  const named = completeProxy(proxy);
  const secured = tls === undefined ? undefined : completeTls(tls);
  if (named === undefined && secured === undefined) return undefined;
  return { ...(named !== undefined && { proxy: named }), ...(secured !== undefined && { tls: secured }) };
}

/** An empty text is none: `${PROXY:-}`. */
function completeProxy(text: string | undefined): string | undefined {
  if (text === undefined || text.trim() === "") return undefined;
  const proxy = text.trim();
  if (proxy.toLowerCase() === "none") return "none";
  if (proxyUrl(proxy) === undefined)
    throw new ServerConfigError(
      'has a "proxy" that is neither the http: or https: URL of a proxy nor "none"',
      "proxy",
    );
  return proxy;
}

function completeTls({ ca, cert, key, serverName }: NonNullable<ServerShape["tls"]>): TlsSettings {
  const texts = {
    ...(ca !== undefined && { ca: certificates("ca", ca) }),
    ...(cert !== undefined && { cert: certificates("cert", cert) }),
    ...(key !== undefined && { key: lines(key) }),
    ...(serverName !== undefined && { serverName }),
  };
  if (key !== undefined) checkKey(lines(key), texts.cert);
  if (cert !== undefined && key === undefined)
    throw new ServerConfigError('has a "tls.cert" without its "tls.key"', "tls", "cert");
  return texts;
}

/** A variable of the environment may have its line breaks as `\n`. */
const lines = (text: string): string => (text.includes("\n") ? text : text.replaceAll(String.raw`\n`, "\n"));

const CERTIFICATE =
  /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^-]*-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;

function certificates(key: "ca" | "cert", text: string): string {
  const whole = lines(text);
  const found = whole.match(CERTIFICATE) ?? [];
  if (found.length === 0)
    throw new ServerConfigError(
      `has a "tls.${key}" that holds no certificate in PEM (-----BEGIN CERTIFICATE-----); to name a file write \${file:/path}`,
      "tls",
      key,
    );
  for (const [index, one] of found.entries()) {
    try {
      new X509Certificate(one);
    } catch {
      const which = found.length === 1 ? "" : `: certificate ${index + 1} of ${found.length}`;
      throw new ServerConfigError(
        `has a "tls.${key}" that cannot be read as a certificate${which}`,
        "tls",
        key,
      );
    }
  }
  return whole;
}

function checkKey(key: string, cert: string | undefined): void {
  if (cert === undefined) throw new ServerConfigError('has a "tls.key" without its "tls.cert"', "tls", "key");
  if (/ENCRYPTED/.test(key))
    throw new ServerConfigError(
      'has a "tls.key" that is encrypted; it must have no passphrase',
      "tls",
      "key",
    );
  const problem = keyProblem(key, new X509Certificate(cert));
  if (problem !== undefined) throw new ServerConfigError(`has a "tls.key" that ${problem}`, "tls", "key");
}

function keyProblem(key: string, certificate: X509Certificate): string | undefined {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key)) ? undefined : 'is not the key of "tls.cert"';
  } catch {
    return "cannot be read as a private key in PEM (-----BEGIN PRIVATE KEY-----)";
  }
}
