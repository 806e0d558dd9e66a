/** The refresh request of F31: what the OAuth client does, over the `fetch` of Node. */

export function tokenEndpointOf({ tokenEndpoint }) {
  return {
    async refresh({ tokens, client }, signal) {
      const body = new URLSearchParams({
        grant_type: "refresh_token",
        refresh_token: tokens.refreshToken,
        client_id: client.clientId,
      });
      let response;
      try {
        response = await fetch(tokenEndpoint, { method: "POST", body, signal });
      } catch (error) {
        if (error.cause?.code === "ECONNREFUSED") return { kind: "unavailable", reason: "no connection" };
        return { kind: "ambiguous", reason: String(error.cause?.code ?? error.name) };
      }
      const answer = await response.json();
      if (response.status >= 500) return { kind: "unavailable", reason: `HTTP ${response.status}` };
      if (answer.error === "invalid_grant")
        return { kind: "invalid_grant", description: answer.error_description };
      if (answer.error !== undefined) return { kind: "refused", error: answer.error };
      const obtainedAt = Date.now();
      return {
        kind: "tokens",
        tokens: {
          accessToken: answer.access_token,
          refreshToken: answer.refresh_token,
          obtainedAt,
          expiresAt: obtainedAt + answer.expires_in * 1_000,
        },
      };
    },
    registerAgain: async () => undefined,
    challengedScopes: () => [],
  };
}
