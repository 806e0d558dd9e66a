/** Whether a name or address, as it stands in a URL or is bound to, is this machine's own. */
export function isLoopbackName(host: string): boolean {
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[?::1\]?)$/i.test(host);
}
