/** HTTP APIs with an OpenAPI 3 document as servers (`type: openapi`): each operation is a tool (docs/openapi.md). */
import type { Feature } from "../../cli/feature.js";
import { apiKind } from "./kind.js";

/** Has no state: its channels are opened by the servers of a config. */
export const openapi: Feature = {
  name: "openapi",
  loadSections: async () => [(await import("./section.js")).section],
  channels: [apiKind],
  open: async () => undefined,
};
