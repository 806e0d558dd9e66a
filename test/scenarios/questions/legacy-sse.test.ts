/** What servers of every kind ask of legacy sse hosts. */
import { HOSTS } from "../host.js";
import { matrixOf } from "./matrix.js";

matrixOf(HOSTS.legacySse);
