/** Standard words for the failure of a network connection. */
import { ProxyError } from "./proxy.js";

const MESSAGES: ReadonlyMap<string, string> = new Map([
  ["ENOTFOUND", "host not found"],
  ["EAI_AGAIN", "the host name could not be looked up just now"],
  ["ECONNREFUSED", "connection refused"],
  ["ECONNRESET", "the connection was reset"],
  ["EPIPE", "the connection was closed"],
  ["ETIMEDOUT", "the connection timed out"],
  ["EHOSTUNREACH", "the host cannot be reached"],
  ["ENETUNREACH", "the network cannot be reached"],
  ["EADDRNOTAVAIL", "no local address or port is left to connect from"],
  ["EMFILE", "the gateway has too many files and sockets open"],
  ["ENFILE", "the system has too many files and sockets open"],
  ["UND_ERR_CONNECT_TIMEOUT", "no connection within the time allowed"],
  ["UND_ERR_SOCKET", "the connection was closed"],
  ["UND_ERR_HEADERS_OVERFLOW", "its response headers are too large"],
  ["UND_ERR_RES_CONTENT_LENGTH_MISMATCH", "its response is shorter or longer than announced"],
  ["CERT_HAS_EXPIRED", "its certificate has expired"],
  ["CERT_NOT_YET_VALID", "its certificate is not valid yet"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "its certificate is self-signed"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "its certificate comes from an authority that is not trusted here"],
  [
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "its certificate cannot be verified: an intermediate certificate is missing",
  ],
  ["UNABLE_TO_GET_ISSUER_CERT", "its certificate comes from an authority that is not trusted here"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "its certificate comes from an authority that is not trusted here"],
  ["CERT_REVOKED", "its certificate was revoked"],
  ["CERT_UNTRUSTED", "its certificate is not trusted here"],
  ["CERT_SIGNATURE_FAILURE", "the signature of its certificate is wrong"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "its certificate is for another host"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "it does not speak TLS on this port (is it http, not https?)"],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", "it does not speak TLS on this port (is it http, not https?)"],
  ["EPROTO", "the TLS handshake failed"],
  // Before TLS 1.3 a server that wants a client certificate says no more than this.
  [
    "ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE",
    "it refused the TLS handshake; it may require a client certificate (tls.cert and tls.key)",
  ],
  ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "it requires a client certificate (tls.cert and tls.key)"],
  ["ERR_SSL_TLSV1_ALERT_UNKNOWN_CA", "it does not trust the authority of the client certificate (tls.cert)"],
  ["ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE", "it refused the client certificate (tls.cert)"],
  [
    "ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED",
    "it refused the client certificate (tls.cert), which has expired",
  ],
  ["ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN", "it refused the client certificate (tls.cert)"],
  ["ERR_SSL_TLSV1_UNRECOGNIZED_NAME", "it has no certificate for that name (tls.serverName)"],
]);

const NOT_HTTP = "it answered with something that is not HTTP";

/** Why a connection failed, without addresses or transferred data. */
export function explainNetworkError(error: unknown): string {
  if (error instanceof ProxyError) return error.message;
  // Not all of undici's parser errors have a code.
  if (error instanceof Error && error.name === "HTTPParserError") return NOT_HTTP;
  const code = codeOf(error);
  if (code === undefined) return "the connection failed";
  const words = MESSAGES.get(code);
  if (words !== undefined) return words;
  if (code.startsWith("HPE_")) return NOT_HTTP;
  if (code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_")) return `the TLS handshake failed (${code})`;
  return `the connection failed (${code})`;
}

/** The code of `error`, or the first code of an AggregateError. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  // Happy eyeballs: each address of a name has its own error.
  if (error instanceof AggregateError) {
    const codes = error.errors.map(codeOf).filter((code) => code !== undefined);
    if (codes.length > 0) return codes[0];
  }
  if ("code" in error && typeof error.code === "string") {
    // UND_ERR_SOCKET covers every way a socket ends; the cause is more precise.
    return error.code === "UND_ERR_SOCKET" ? (codeOf(error.cause) ?? error.code) : error.code;
  }
  return codeOf(error.cause);
}
