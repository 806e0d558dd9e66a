/** Runs renewals in a process that outlives the gateway, or in this process if that one cannot be started. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Logger } from "../../core/logger.js";
import type { Credential } from "../vault/types.js";
import { VaultError } from "../vault/vault-error.js";
import { type Renewal, type RenewalRequest, type RenewalTools, renew } from "./renew.js";
import type { RenewalAnswer, RenewalJob, RenewalSetup } from "./renewal-job.js";
import type { EndpointRecipe } from "./token-endpoint.js";

type RenewalChild = ChildProcessByStdio<Writable, Readable, null>;

interface Waiting {
  readonly resolve: (renewal: Renewal | undefined) => void;
  readonly reject: (error: Error) => void;
}

interface Running {
  readonly child: RenewalChild;
  readonly waiting: Map<number, Waiting>;
}

const PROGRAM = fileURLToPath(new URL("./renewal-process.js", import.meta.url));

/** The renewal process: started with the first job, exits 10 s after the last one. */
export class Renewals {
  #running: Running | undefined;
  #jobs = 0;

  constructor(
    private readonly setup: RenewalSetup,
    private readonly log: Logger,
    private readonly program: string = PROGRAM,
  ) {}

  /**
   * Renews in the other process.
   *
   * @returns undefined if that process could not be started or has exited: the caller renews itself
   * @throws VaultError as `renew` does
   */
  run(request: RenewalRequest, recipe: EndpointRecipe): Promise<Renewal | undefined> {
    this.#running ??= this.#start();
    const { child, waiting } = this.#running;
    this.#jobs += 1;
    const job: RenewalJob = { id: this.#jobs, recipe, request };
    return new Promise((resolve, reject) => {
      waiting.set(job.id, { resolve, reject });
      keepAlive(child, true);
      child.stdin.write(`${JSON.stringify(job)}\n`);
    });
  }

  /** Running jobs continue; then the process exits. */
  close(): void {
    this.#running?.child.stdin.end();
  }

  #start(): Running {
    const child = spawn(process.execPath, [this.program], {
      // In its own session: a signal to the gateway's process group does not reach it.
      detached: true,
      stdio: ["pipe", "pipe", "ignore"],
      windowsHide: true,
      env: environment(),
    });
    const running: Running = { child, waiting: new Map() };
    const end = (error?: Error): void => {
      if (this.#running === running) this.#running = undefined;
      if (error !== undefined) this.log.warn({ error }, "the renewal process did not start");
      for (const { resolve } of running.waiting.values()) resolve(undefined);
      running.waiting.clear();
    };
    child.once("error", end);
    child.once("exit", () => end());
    // It exited between two jobs; its exit resolves pending jobs.
    child.stdin.on("error", () => {});
    createInterface({ input: child.stdout }).on("line", (line) => settle(running, line));
    keepAlive(child, false);
    child.stdin.write(`${JSON.stringify(this.setup)}\n`);
    return running;
  }
}

/**
 * Renews in the renewal process if a refresh token could be lost, otherwise here. @throws VaultError as `renew` does
 */
export async function renewSafely(
  request: RenewalRequest,
  tools: RenewalTools & { readonly renewals?: Pick<Renewals, "run"> },
  known: Credential | undefined,
): Promise<Renewal> {
  const { recipe } = tools.endpoint;
  const isRefresh = tools.endpoint.obtain === undefined && known?.tokens?.refreshToken !== undefined;
  const spends = isRefresh || tools.endpoint.refreshesLogin === true;
  const elsewhere = spends && recipe !== undefined ? await tools.renewals?.run(request, recipe) : undefined;
  return elsewhere ?? renew(request, tools);
}

function settle({ child, waiting }: Running, line: string): void {
  const answer = JSON.parse(line) as RenewalAnswer;
  const job = waiting.get(answer.id);
  waiting.delete(answer.id);
  if (waiting.size === 0) keepAlive(child, false);
  if (job === undefined) return;
  if ("renewal" in answer) job.resolve(answer.renewal);
  else if (answer.fault !== undefined) job.reject(new VaultError(answer.fault, answer.message));
  else job.reject(new Error(answer.message));
}

/** Whether the child keeps this process alive: only while jobs are pending. */
function keepAlive(child: RenewalChild, isKept: boolean): void {
  const pipes = [child.stdin, child.stdout] as unknown as readonly Pick<ChildProcess, "ref" | "unref">[];
  for (const handle of [child, ...pipes]) {
    if (isKept) handle.ref();
    else handle.unref();
  }
}

/** Without the debugger, preloaded modules and secrets of the gateway. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(KEPT_VARIABLES.map((name) => [name, process.env[name]]));
}

const KEPT_VARIABLES = [
  ...["PATH", "HOME", "TMPDIR", "SystemRoot", "LANG"],
  ...["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"],
  ...["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_TLS_REJECT_UNAUTHORIZED"],
];
