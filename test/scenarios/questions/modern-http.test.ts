/** What servers of every kind ask of modern http hosts. */
import { HOSTS } from "../host.js";
import { matrixOf } from "./matrix.js";

matrixOf(HOSTS.modernHttp);
