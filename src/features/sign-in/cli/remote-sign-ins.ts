/** The sign-ins of a running gateway, by its admin listener. */
import { type Address, actAt, pageOf } from "../../../cli/gateway-client.js";
import type { SignInOperations } from "../local-sign-ins.js";

type Answer<Operation extends keyof SignInOperations> = Awaited<ReturnType<SignInOperations[Operation]>>;

/** Its methods throw like those of `remoteGateway`. */
export function remoteSignIns(address: Address): SignInOperations {
  const post = async <T>(path: string, body: Parameters<typeof actAt>[2]): Promise<T> =>
    (await actAt(address, path, body)) as T;
  return {
    begin: (server, as, options) =>
      post<Answer<"begin">>(`logins/${encodeURIComponent(server)}`, { as, ...options }),
    acceptIssuer: (server) =>
      post<Answer<"acceptIssuer">>(`logins/${encodeURIComponent(server)}/accept-issuer`, {}),
    async state(login) {
      const state = await post<{ readonly state: string }>("sign-ins/state", { login });
      return state.state === "unknown" ? undefined : (state as Answer<"state">);
    },
    async finish(login, url) {
      await post("sign-ins/finish", { login, url });
    },
    signOut: (server, as) =>
      post<Answer<"signOut">>(`logins/${encodeURIComponent(server)}/${encodeURIComponent(as)}/sign-out`, {}),
    logins: async () => (await pageOf(address, "logins")) as Answer<"logins">,
  };
}
