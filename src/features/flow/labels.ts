/** What do the calls of a target read, and where do they send? Labels of the config, and of annotations that were approved. */
import type { Route } from "../../core/call.js";
import type { SettingsOfFeatures } from "../../core/feature.js";
import type { ListKind } from "../../core/lists.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import type { FlowLabels, Touched } from "./section.js";

/** What a call touches and does. */
export interface Labels extends Readonly<Record<Touched, boolean>> {
  readonly external: boolean;
}

/** Of most calls. */
const NONE: Labels = { private: false, untrusted: false, external: false };

/** Whether the definition of a tool, with its annotations, was approved. */
export type IsApproved = (server: string, kind: ListKind, item: JsonObject) => boolean;

interface OfServer {
  readonly own: FlowLabels;
  /** What `own` alone means. */
  readonly meant: Labels;
  readonly byTool: ReadonlyMap<string, FlowLabels>;
}

/** The labels of one config. */
export class LabelSource {
  readonly #servers: ReadonlyMap<string, OfServer>;
  readonly #isApproved: IsApproved;

  constructor({ servers }: Pick<SettingsOfFeatures, "servers">, isApproved: IsApproved) {
    this.#isApproved = isApproved;
    this.#servers = new Map(
      servers.map(({ name, features, overrides = {} }) => [
        name,
        {
          own: (features.flow ?? {}) as FlowLabels,
          meant: meaning((features.flow ?? {}) as FlowLabels),
          byTool: new Map(
            Object.entries(overrides).flatMap(([tool, { features: ofTool }]) =>
              ofTool?.flow === undefined ? [] : [[tool, ofTool.flow as FlowLabels] as const],
            ),
          ),
        },
      ]),
    );
  }

  /** Of a call, with those of the targets that a method without one names. */
  of(route: Route): Labels {
    const own = this.#ofTarget(route);
    if (route.namedTargets === undefined) return own;
    return route.namedTargets.map(({ route: named }) => this.#ofTarget(named)).reduce(both, own);
  }

  #ofTarget({ upstream, kind, target, item }: Route): Labels {
    const ofServer = this.#servers.get(upstream);
    if (ofServer === undefined) return NONE;
    const ofTool = kind === "tools" ? ofServer.byTool.get(target) : undefined;
    const hints = kind === "tools" ? annotatedLabels(item) : undefined;
    // Most tools have neither, and cost no object.
    if (hints === undefined && ofTool === undefined) return ofServer.meant;
    const isApproved =
      hints !== undefined && item !== undefined && this.#isApproved(upstream, kind as ListKind, item);
    return meaning({ ...(isApproved && hints), ...ofServer.own, ...ofTool });
  }
}

const meaning = ({ reads, content, sends }: FlowLabels): Labels =>
  reads === undefined && content === undefined && sends === undefined
    ? NONE
    : { private: reads === "private", untrusted: content === "untrusted", external: sends === "external" };

const both = (one: Labels, other: Labels): Labels => ({
  private: one.private || other.private,
  untrusted: one.untrusted || other.untrusted,
  external: one.external || other.external,
});

/**
 * The labels that annotations of a tool mean; undefined if they mean none. They only add labels. `openWorldHint` is of the specification,
 * `privateHint` of a proposal (SEP-1913); the defaults of absent ones mean nothing here.
 */
function annotatedLabels(item: JsonObject | undefined): FlowLabels | undefined {
  const hints = objectAt(item, "annotations");
  if (hints === undefined) return undefined;
  const isOpen = hints.openWorldHint === true;
  if (!isOpen && hints.privateHint !== true) return undefined;
  return {
    ...(hints.privateHint === true && { reads: "private" }),
    ...(isOpen && { content: "untrusted" }),
    ...(isOpen && hints.readOnlyHint === false && { sends: "external" }),
  };
}
