/** Persons, for the process that has started the workers: the first one that is ready says whose token it is, and where they sign in. */
import type { Principal } from "../../core/client.js";
import { HttpRefusal } from "../../downstream/http-errors.js";
import { IDENTIFY_PATH, OFFER_PATH, PERSON_HEADER } from "../admin/person-routes.js";
import type { Persons, SignInOffer } from "../admin/persons.js";
import { type WorkerIdentity, workerSocket } from "./identity.js";
import { fetchAdminPage, type PageResponse, TIMEOUT_MS } from "./worker-pages.js";
import type { WorkerStatus } from "./worker-pool.js";

const RETRY_S = "5";

/** The persons that the workers know, whose config may change while they run. */
export function personsOfWorkers(
  identity: Pick<WorkerIdentity, "folder" | "secret">,
  workers: () => readonly Pick<WorkerStatus, "worker" | "ready">[],
): Persons {
  const asked = async (
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<PageResponse> => {
    const worker = workers().find(({ ready }) => ready)?.worker;
    if (worker === undefined) throw unavailable();
    const socketPath = workerSocket(identity, worker, "admin");
    const authorization = `Bearer ${identity.secret}`;
    const page = { socketPath, path, headers: { authorization, ...headers } };
    return fetchAdminPage(page, { ms: TIMEOUT_MS }).catch((cause: unknown) => {
      throw unavailable(cause);
    });
  };
  return {
    async identify(authorization) {
      const answer = await asked(IDENTIFY_PATH, { [PERSON_HEADER]: authorization });
      if (answer.status === 200) return JSON.parse(answer.text) as Principal;
      throw refusalOf(answer);
    },
    async offer() {
      // A console that is opened while the workers start shows no button yet.
      const answer = await asked(OFFER_PATH).catch(() => undefined);
      if (answer?.status !== 200) return undefined;
      return (JSON.parse(answer.text) as SignInOffer | null) ?? undefined;
    },
  };
}

/** As the worker has refused the token. */
function refusalOf({ status, text, headers }: PageResponse): HttpRefusal {
  const { "www-authenticate": challenge, "retry-after": retryAfter } = headers;
  const { error = "the token was refused" } = JSON.parse(text) as { readonly error?: string };
  return new HttpRefusal(status, status === 403 ? "forbidden" : "unauthenticated", error, {
    ...(challenge !== undefined && { "www-authenticate": challenge }),
    ...(retryAfter !== undefined && { "retry-after": retryAfter }),
  });
}

const unavailable = (cause?: unknown): HttpRefusal =>
  new HttpRefusal(
    503,
    "unauthenticated",
    "no worker can check tokens now; try again in a few seconds",
    { "retry-after": RETRY_S },
    { retryable: true, cause },
  );
