/** The client for which commands such as `cardea call` make their calls. */
import { ANONYMOUS, type Client } from "../core/client.js";

/** It declares no capabilities, so servers cannot ask it. */
export const CLI_CLIENT: Client = {
  principal: ANONYMOUS,
  affinity: "command line",
  session: false,
  endpoint: "",
  capabilities: {},
};
