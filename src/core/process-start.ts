/** What is changed about the start of a server's process: features add variables, refuse a start, or run the command inside another. */

/** A process that is to be started. */
export interface ProcessStart {
  /** The server's key in the config. */
  readonly name: string;
  /** What features have in its entry, keyed by the paths of their sections. */
  readonly features: Readonly<Record<string, unknown>>;
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the variables that processes inherit. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly cwd: string;
  /**
   * Whether the command only waits for the process that it starts, and takes all of them with it when it is signalled: a request
   * to end goes to that process. Default: no.
   */
  readonly isMonitored?: boolean;
  /** Whether the process can fetch nothing that it runs, so that it must be there before its start. Default: no. */
  readonly isConfined?: boolean;
}

/** Changes the starts of processes. */
export interface StartLayer {
  /** Called before any layer prepares the start: adds what all of them must know of the process. */
  announce?(start: ProcessStart): ProcessStart;
  /** Called before each start. @throws GatewayError that refuses it */
  prepare(start: ProcessStart): Promise<ProcessStart>;
  /** Why a process may have ended that wrote `output` last, as a clause without secrets; undefined if that is unknown. */
  reasonOf?(start: ProcessStart, output: string): string | undefined;
}

/** The start after all `layers`, the first one first. */
export async function preparedStart(
  start: ProcessStart,
  layers: readonly StartLayer[],
): Promise<ProcessStart> {
  let prepared = layers.reduce((known, layer) => layer.announce?.(known) ?? known, start);
  for (const layer of layers) prepared = await layer.prepare(prepared);
  return prepared;
}

/** The first reason that a layer has for the end of a process; undefined if none has one. */
export function reasonOfEnd(
  start: ProcessStart,
  output: string,
  layers: readonly StartLayer[],
): string | undefined {
  for (const layer of layers) {
    const reason = layer.reasonOf?.(start, output);
    if (reason !== undefined) return reason;
  }
  return undefined;
}
