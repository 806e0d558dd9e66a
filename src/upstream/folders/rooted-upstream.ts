/**
 * A stdio server that works in the folder of its host (`cwd: "roots"`): a process of its own for each first root, each a whole
 * upstream with its leases. Lists, and what belongs to no call, are those of a process in the config's folder.
 */

import { LRUCache } from "lru-cache";
import type { ServerConfig } from "../../config/config.js";
import type { Call, Notice, Reply, RootsAnswer, RoundState } from "../../core/call.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { fitsFairShare, isIdentified } from "../../core/fair-share.js";
import { inBackground, type Logger } from "../../core/logger.js";
import { INTERACTIVE_METHODS } from "../../core/methods.js";
import { principalKey } from "../../core/principal.js";
import type { TaskListener, TaskSubscription } from "../../core/tasks.js";
import type {
  ListScope,
  ResourceSubscriptions,
  ServerFacts,
  ServerList,
  UpstreamObserver,
  UpstreamState,
} from "../../core/upstream.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";
import { askForRoots, readRoots } from "../leases/host-roots.js";
import type { StartableUpstream } from "../upstream.js";
import { type FolderRules, workingFolder } from "./working-folder.js";

/** A server with `cwd: "roots"`, and how the upstream of one folder is made. */
export interface RootedSettings {
  readonly server: ServerConfig;
  readonly rules: FolderRules;
  /** Serves all that needs no folder. */
  readonly base: StartableUpstream;
  /** An upstream whose processes have this working directory; not started. */
  readonly inFolder: (folder: string) => StartableUpstream;
  readonly log: Logger;
}

/** Folders of one server in use at the same time, shared between principals. */
const MAX_FOLDERS = 32;
/** Hosts whose folder is remembered, for calls in which no host can be asked. */
const MAX_HOSTS = 10_000;

interface Rooted {
  readonly upstream: StartableUpstream;
  /** The key of the principal that it was made for. */
  readonly principal: string;
  /** Calls that are on their way to it. */
  calls: number;
}

/** The upstream of a server with `cwd: "roots"`. */
export class RootedUpstream implements StartableUpstream {
  readonly name: string;
  readonly #settings: RootedSettings;
  readonly #base: StartableUpstream;
  /** By real path, the least recently used first. */
  readonly #byFolder = new Map<string, Rooted>();
  /** By affinity. */
  readonly #lastFolder = new LRUCache<string, string>({ max: MAX_HOSTS });
  /** Of sessions whose hosts announce changes of their roots. */
  readonly #roots = new LRUCache<string, RootsAnswer>({ max: MAX_HOSTS });
  #idleTimeoutMs: number;

  constructor(settings: RootedSettings) {
    this.#settings = settings;
    this.#base = settings.base;
    this.name = settings.server.name;
    this.#idleTimeoutMs = settings.server.idleTimeoutMs;
  }

  readonly call = async (incoming: Call): Promise<Reply> => {
    const { client, inputResponses, method } = incoming;
    if (!INTERACTIVE_METHODS.has(method)) {
      const folder = this.#lastFolder.get(client.affinity);
      return folder === undefined ? this.#base.call(incoming) : this.#callIn(folder, incoming);
    }
    const isFirst = inputResponses?.state === undefined;
    const told = isFirst ? this.#roots.get(client.affinity) : rootsIn(incoming);
    if (told === undefined && isFirst && hasRoots(client)) return askForRoots();
    if (told !== undefined && announcesChanges(client)) this.#roots.set(client.affinity, told);
    const folder = await workingFolder(this.#settings.rules, client, told);
    return withAnswer(
      await this.#callIn(folder, withoutQuestion(incoming, told ?? NO_ROOTS)),
      told ?? NO_ROOTS,
    );
  };

  async #callIn(folder: string, call: Call): Promise<Reply> {
    const rooted = this.#rootedIn(folder, call.client);
    this.#lastFolder.set(call.client.affinity, folder);
    rooted.calls += 1;
    try {
      return await rooted.upstream.call(call);
    } finally {
      rooted.calls -= 1;
    }
  }

  /** @throws GatewayError `overloaded` when all folders that the principal may have are in use */
  #rootedIn(folder: string, { principal }: Client): Rooted {
    const found = this.#byFolder.get(folder);
    if (found !== undefined) {
      this.#byFolder.delete(folder);
      this.#byFolder.set(folder, found);
      return found;
    }
    this.#makeRoom(principal);
    const { inFolder, log, server } = this.#settings;
    const rooted = { upstream: inFolder(folder), principal: principalKey(principal), calls: 0 };
    this.#byFolder.set(folder, rooted);
    rooted.upstream.setLifetime({ start: "demand", idleTimeoutMs: this.#idleTimeoutMs });
    rooted.upstream.start();
    log.info({ server: server.name, folder }, "a server starts in the folder of a host");
    return rooted;
  }

  /** Ends the process of the folder that was used least recently where there are too many. */
  #makeRoom(principal: Client["principal"]): void {
    const own = [...this.#byFolder].filter(([, one]) => one.principal === principalKey(principal));
    const counted = isIdentified(principal) ? own.length : 0;
    if (fitsFairShare(MAX_FOLDERS, this.#byFolder.size, counted)) return;
    const [idle] = own.filter(([, { upstream, calls }]) => calls === 0 && !upstream.hasOpenCalls);
    const { server, log } = this.#settings;
    if (idle === undefined) {
      const sentence = `${server.name} works in ${this.#byFolder.size} folders of hosts, which is the limit, and those of this principal are in use; try again later`;
      throw new GatewayError("overloaded", "gateway", sentence, { server: server.name, retryable: true });
    }
    this.#byFolder.delete(idle[0]);
    inBackground(idle[1].upstream.close(), log, "ending a server in the folder of a host");
  }

  get #all(): readonly StartableUpstream[] {
    return [this.#base, ...[...this.#byFolder.values()].map(({ upstream }) => upstream)];
  }

  get state(): UpstreamState {
    return this.#base.state;
  }

  get lastError(): string | undefined {
    return this.#base.lastError;
  }

  get nextTryAt(): number | undefined {
    return this.#base.nextTryAt;
  }

  get facts(): ServerFacts | undefined {
    return this.#base.facts;
  }

  factsFor(client: Client): ServerFacts | undefined {
    return this.#base.factsFor?.(client) ?? this.facts;
  }

  get servesClients(): boolean {
    return this.#all.some(
      (each) => each.servesClients === true || (each !== this.#base && each.state === "ready"),
    );
  }

  get startsOnDemand(): boolean {
    return this.#base.startsOnDemand === true;
  }

  get revisions(): readonly string[] {
    return [...new Set(this.#all.flatMap(({ revisions = [] }) => revisions))];
  }

  get wasConnected(): boolean {
    return this.#base.wasConnected;
  }

  get separatesPrincipals(): boolean {
    return this.#base.separatesPrincipals;
  }

  get hasOpenCalls(): boolean {
    return this.#all.some(({ hasOpenCalls }) => hasOpenCalls);
  }

  memory(): JsonObject | undefined {
    return this.#base.memory();
  }

  isOpenFor(client: Client | undefined): boolean {
    return this.#base.isOpenFor?.(client) ?? this.state === "ready";
  }

  start(listsAreKnown?: boolean): void {
    this.#base.start(listsAreKnown);
  }

  setLifetime(lifetime: Parameters<StartableUpstream["setLifetime"]>[0]): void {
    this.#idleTimeoutMs = lifetime.idleTimeoutMs;
    this.#base.setLifetime(lifetime);
    for (const { upstream } of this.#byFolder.values())
      upstream.setLifetime({ ...lifetime, start: "demand" });
  }

  listScope(client: Client): ListScope {
    return this.#base.listScope(client);
  }

  list(...asked: Parameters<StartableUpstream["list"]>): Promise<ServerList> {
    return this.#base.list(...asked);
  }

  get resources(): ResourceSubscriptions {
    return this.#base.resources;
  }

  async followTasks(
    ids: readonly string[],
    client: Client,
    listener: TaskListener<string>,
  ): Promise<TaskSubscription> {
    const rooted = this.#byFolder.get(this.#lastFolder.get(client.affinity) ?? "");
    const upstream = rooted?.upstream ?? this.#base;
    return upstream.followTasks?.(ids, client, listener) ?? { ids: [], stop: () => {} };
  }

  watch(observer: UpstreamObserver): () => void {
    return this.#base.watch(observer);
  }

  async restart(): Promise<void> {
    await Promise.all(this.#all.map(async (each) => each.restart?.()));
  }

  async connectNow(): Promise<void> {
    await this.#base.connectNow?.();
  }

  forwardNotification(client: Client, notice: Notice): void {
    if (notice.method === "notifications/roots/list_changed") this.#roots.delete(client.affinity);
    for (const each of this.#all) each.forwardNotification(client, notice);
  }

  releaseClient(affinity: string): void {
    this.#roots.delete(affinity);
    this.#lastFolder.delete(affinity);
    for (const each of this.#all) each.releaseClient(affinity);
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((each) => each.close()));
  }
}

/** What a host without roots would answer. */
const NO_ROOTS: RootsAnswer = { error: { code: CODE.methodNotFound, message: "the host has no roots" } };

const hasRoots = ({ capabilities }: Client): boolean => objectAt(capabilities, "roots") !== undefined;

/** Whether the roots of a session hold until its host says that they have changed. */
const announcesChanges = ({ session, capabilities }: Client): boolean =>
  session && objectAt(capabilities, "roots")?.listChanged === true;

/** The roots that the host has named in this round or an earlier one. @throws GatewayError `state_rejected` */
function rootsIn(call: Call): RootsAnswer | undefined {
  const asked = call.inputResponses?.state?.roots;
  return asked === undefined ? undefined : (asked.answer ?? readRoots(call).roots);
}

/** The call as the upstream of a folder gets it: with the roots, which it need not ask for, and otherwise as it left it. */
function withoutQuestion(call: Call, roots: RootsAnswer): Call {
  const { inputResponses } = call;
  const state = inputResponses?.state;
  if (inputResponses !== undefined && state?.roots?.answer !== undefined)
    return state.links === undefined
      ? { ...call, inputResponses: { ...inputResponses, state: withoutRoots(state) } }
      : call;
  const own = readRoots(call).call.inputResponses ?? { responses: {} };
  return { ...call, inputResponses: { ...own, state: { ...own.state, roots: { answer: roots } } } };
}

function withoutRoots({ roots: _, ...state }: RoundState): RoundState {
  return state;
}

/** The reply whose next round goes to the same folder. */
const withAnswer = (reply: Reply, roots: RootsAnswer): Reply =>
  reply.kind === "input_required" ? { ...reply, state: { ...reply.state, roots: { answer: roots } } } : reply;
