/** Defaults and choices of parameters that no user would choose. */
import type { Match } from "../finding.js";

/** An address of a person or machine that is no example. */
const ADDRESS =
  /^(?:mailto:)?[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}$|^(?:https?|wss?|tcp):\/\/(?:\d{1,3}(?:\.\d{1,3}){3}|[\w.-]{1,200}\.(?:onion|ngrok\.io|ngrok-free\.app|requestbin\.net|webhook\.site|pipedream\.net|burpcollaborator\.net|oastify\.com))(?:[:/]|$)|^0x[0-9a-f]{40}$/i;
const EXAMPLE =
  /example|localhost|127\.0\.0\.1|\b10\.|\b192\.168\.|0\.0\.0\.0|user@|foo@|bar@|noreply|test@/i;
/** Names of parameters whose data leaves by them. */
const LEAVES = /^(?:bcc|cc|to|recipient|recipients|forward_to|webhook|callback|callback_url|endpoint|exfil)/i;
const COMMAND = /(?:;|&&|\|\|?|`|\$\()\s{0,4}(?:curl|wget|bash|sh|rm|nc|python|powershell|cat)\b/;

/** What is wrong with a value that is taken if the caller gives none, or may be chosen. @param name of the parameter */
export function defaultMatches(name: string, value: string): readonly Match[] {
  const at = { rule: "suspicious-default", start: 0, end: value.length } as const;
  if (COMMAND.test(value)) return [{ ...at, severity: "high", message: "it is a command of a shell" }];
  if (value.length > 512 || EXAMPLE.test(value) || !ADDRESS.test(value)) return [];
  const message = "it is an address that the caller has not chosen";
  return [{ ...at, severity: LEAVES.test(name) ? "high" : "medium", message }];
}
