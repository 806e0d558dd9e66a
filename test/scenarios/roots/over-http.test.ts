/** Hosts of one principal at a legacy server over http that keeps the roots of its connection: each call sees those of its own host. */
import { matrixOver } from "./matrix.js";

matrixOver("http");
