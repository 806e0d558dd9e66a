/** What servers of every kind ask of modern stdio hosts. */
import { HOSTS } from "../host.js";
import { matrixOf } from "./matrix.js";

matrixOf(HOSTS.modernStdio);
