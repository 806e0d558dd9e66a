/** Counts searches, and calls of tools through `call_tool`. */
import type { Call } from "../../core/call.js";
import type { CallRecord } from "../../core/call-record.js";
import type { RunningGateway } from "../../core/feature.js";
import { CappedLabel, TOOLS_PER_SERVER } from "../../telemetry/finished-calls.js";
import { CALLS, SEARCHES } from "./counters.js";

/** Counts for one gateway. */
export class SearchMetrics {
  readonly #tools = new CappedLabel(TOOLS_PER_SERVER);
  readonly #count: RunningGateway["count"];

  constructor(count: RunningGateway["count"]) {
    this.#count = count;
  }

  /** @param matches how many tools matched a search */
  readonly searched = (matches: number): void =>
    this.#count(SEARCHES, { result: matches > 0 ? "found" : "none" });

  /** A call has its reply. */
  readonly called = ({ server, outcome }: CallRecord, { via, route }: Call): void => {
    if (via !== "search") return;
    const owner = server === "" ? "none" : server;
    const tool = route?.target ?? "";
    this.#count(CALLS, { server: owner, tool: tool === "" ? "" : this.#tools.of(owner, tool), outcome });
  };
}
