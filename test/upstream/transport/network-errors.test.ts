/** How network errors are explained. */
import { expect, test } from "vitest";
import { explainNetworkError } from "../../../src/outgoing/network-errors.js";

const coded = (code: string, cause?: unknown): Error => Object.assign(new Error("x", { cause }), { code });

test.each([
  [coded("ENOTFOUND"), "host not found"],
  [coded("CERT_HAS_EXPIRED"), "its certificate has expired"],
  [
    coded("UND_ERR_SOCKET", coded("ERR_SSL_TLSV1_ALERT_UNKNOWN_CA")),
    "it does not trust the authority of the client certificate (tls.cert)",
  ],
  [coded("ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE"), "it refused the client certificate (tls.cert)"],
  [coded("UND_ERR_CONNECT_TIMEOUT"), "no connection within the time allowed"],
  [coded("UND_ERR_SOCKET"), "the connection was closed"],
  [coded("UND_ERR_SOCKET", coded("ECONNRESET")), "the connection was reset"],
  [new AggregateError([coded("ECONNREFUSED"), coded("ENETUNREACH")]), "connection refused"],
  [new Error("wrapped", { cause: coded("EHOSTUNREACH") }), "the host cannot be reached"],
  [coded("HPE_INVALID_CONSTANT"), "it answered with something that is not HTTP"],
  [
    coded("ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION"),
    "the TLS handshake failed (ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION)",
  ],
  [coded("ESOMETHING"), "the connection failed (ESOMETHING)"],
  [new Error("secret"), "the connection failed"],
  ["secret", "the connection failed"],
])("%o: %s", (error, words) => {
  expect(explainNetworkError(error)).toBe(words);
});
