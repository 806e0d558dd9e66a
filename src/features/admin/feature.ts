/** The listener for operators: health, metrics, the admin API with its pages and actions, and the console (docs/admin-api.md). */
import type { Feature } from "../../cli/feature.js";

/** Is always there: a gateway that does not listen has it unbound. */
export const admin: Feature = {
  name: "admin",
  async open() {
    const { createOperatorListener } = await import("./operator-listener.js");
    return { name: "admin", operatorListener: createOperatorListener, close: async () => {} };
  },
};
