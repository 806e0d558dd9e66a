/** Hosts written by hand for each era, that see every member of every message. */
import {
  type Host,
  type HostKind,
  type Introduction,
  type Json,
  LISTS,
  type Outcome,
  type Place,
} from "./host.js";
import { httpWire } from "./http-wire.js";
import { pipeWire } from "./pipe-wire.js";
import type { SendOptions, Wire } from "./wire.js";

const INFO = { name: "cardea-raw-host", version: "1.0.0" };
const MODERN = "2026-07-28";
const PREFIX = "io.modelcontextprotocol/";

export interface RawOptions {
  readonly capabilities?: Json;
  /** The revision a legacy host asks for. */
  readonly revision?: string;
  /** The log level a modern host asks for with every request. */
  readonly logLevel?: string;
}

/** What a host may hear of between its calls, in the words of the modern era. */
interface Filter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  readonly resourceSubscriptions?: readonly string[];
}

export interface RawHost extends Host {
  readonly era: "legacy" | "modern";
  readonly wire: Wire;
  /** Hears of changes, in the way of its era, from when the promise resolves until the result is called. */
  follow(filter: Filter, hear: (message: Json) => void): Promise<() => void>;
  /** Gives up a request, in the way of its era and transport; `letGo` is the signal it was sent with. */
  cancel(id: string | number, letGo: AbortController): Promise<void>;
  /** Sends a request with this id, dressed as its era demands, and resolves to the whole response. */
  send(id: string | number, method: string, params: Json, options?: SendOptions): Promise<Json>;
}

/** A place to connect to, or a wire that is connected already. */
export type Way = Place | { readonly wire: Wire; readonly onPipe: boolean };

function connectWire(way: Way): Wire {
  if ("wire" in way) return way.wire;
  return "url" in way ? httpWire(way.url) : pipeWire(way);
}

/** Opens a legacy session. */
export async function openLegacy(place: Way, options: RawOptions = {}): Promise<RawHost> {
  const wire = connectWire(place);
  const initialize = await wire.request({
    jsonrpc: "2.0",
    id: "initialize",
    method: "initialize",
    params: {
      protocolVersion: options.revision ?? "2025-11-25",
      capabilities: options.capabilities ?? {},
      clientInfo: INFO,
    },
  });
  await wire.post({ jsonrpc: "2.0", method: "notifications/initialized" });
  const send: RawHost["send"] = (id, method, params, sendOptions) =>
    wire.request({ jsonrpc: "2.0", id, method, params }, sendOptions);
  return {
    ...hostOf(wire, send, resultOf(initialize)),
    era: "legacy",
    // A legacy host hears of everything that the server promised, and subscribes to resources one by one.
    async follow({ resourceSubscriptions = [] }, hear) {
      const stop = await wire.listen(hear);
      for (const uri of resourceSubscriptions) await send(`subscribe ${uri}`, "resources/subscribe", { uri });
      return stop;
    },
    cancel: (requestId) =>
      wire.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } }),
  };
}

/** Asks a modern server who it is; there is nothing to open. */
export async function openModern(place: Way, options: RawOptions = {}): Promise<RawHost> {
  const wire = connectWire(place);
  const meta = {
    [`${PREFIX}protocolVersion`]: MODERN,
    [`${PREFIX}clientCapabilities`]: options.capabilities ?? {},
    [`${PREFIX}clientInfo`]: INFO,
    ...(options.logLevel !== undefined && { [`${PREFIX}logLevel`]: options.logLevel }),
  };
  const send: RawHost["send"] = (id, method, params, sendOptions) =>
    wire.request(
      { jsonrpc: "2.0", id, method, params: { ...params, _meta: { ...meta, ...(params._meta as Json) } } },
      sendOptions,
    );
  const introduction = resultOf(await send("discover", "server/discover", {}));
  const cancelled = (requestId: string | number): Promise<void> =>
    wire.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
  const onPipe = "wire" in place ? place.onPipe : !("url" in place);
  let listens = 0;
  return {
    ...hostOf(wire, send, introduction),
    era: "modern",
    async follow(filter, hear) {
      listens += 1;
      const id = `listen-${listens}`;
      const letGo = new AbortController();
      await new Promise<void>((resolve, reject) => {
        send(
          id,
          "subscriptions/listen",
          { notifications: filter },
          {
            signal: letGo.signal,
            hear: (message) => {
              if (message.method === "notifications/subscriptions/acknowledged") resolve();
              else if (subscriptionOf(message) === id) hear(message);
            },
          },
        ).catch(reject);
      });
      return () => {
        letGo.abort();
        if (onPipe) void cancelled(id);
      };
    },
    // On HTTP, closing the stream of the response is the cancel.
    async cancel(id, letGo) {
      if (onPipe) await cancelled(id);
      else letGo.abort();
    },
  };
}

const subscriptionOf = (message: Json): unknown =>
  ((message.params as Json | undefined)?._meta as Json | undefined)?.[`${PREFIX}subscriptionId`];

export const RAW_LEGACY: HostKind = {
  name: "raw legacy",
  era: "legacy",
  connect: (place) => openLegacy(place),
};
export const RAW_MODERN: HostKind = {
  name: "raw modern",
  era: "modern",
  connect: (place) => openModern(place),
};

function hostOf(
  wire: Wire,
  send: RawHost["send"],
  introduction: Json,
): Omit<RawHost, "era" | "follow" | "cancel"> {
  let last = 0;
  const request = async (method: string, params: Json): Promise<Outcome> => {
    last += 1;
    const response = await send(last, method, params);
    if (response.error !== undefined) return { error: response.error as { code: unknown; message: string } };
    return { result: response.result as Json };
  };
  const meta = introduction._meta as Json | undefined;
  const facts: Introduction = {
    capabilities: (introduction.capabilities ?? {}) as Json,
    instructions: introduction.instructions as string | undefined,
    serverInfo: (introduction.serverInfo ?? meta?.[`${PREFIX}serverInfo`] ?? {}) as Json,
  };
  return {
    wire,
    send,
    request,
    introduction: () => facts,
    async list(list) {
      const items: Json[] = [];
      let params: Json = {};
      for (;;) {
        const { result, error } = await request(LISTS[list], params);
        // What a server does not offer, it does not know by name.
        if (error?.code === -32601) return [];
        if (result === undefined) throw new Error(`${LISTS[list]}: ${error?.message}`);
        items.push(...(result[list] as Json[]));
        if (result.nextCursor === undefined) return items;
        params = { cursor: result.nextCursor };
      }
    },
    close: () => wire.close(),
  };
}

function resultOf(response: Json): Json {
  if (response.result === undefined) throw new Error(`refused: ${JSON.stringify(response.error)}`);
  return response.result as Json;
}
