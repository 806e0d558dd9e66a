/** What servers of every kind ask of legacy http hosts. */
import { HOSTS } from "../host.js";
import { matrixOf } from "./matrix.js";

matrixOf(HOSTS.legacyHttp);
