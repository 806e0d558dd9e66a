/**
 * What V8 would guess wrong about a gateway. Imported before everything else, for its effect.
 *
 * Where many objects made at one place in the code have lived long, V8 makes all further ones of that place old from the
 * start. Here the same places serve event streams, which live for hours, and calls, which live for a millisecond: after
 * a thousand streams every call was held by some such object until the next full collection, and cost half as much
 * again (62 µs, not 43) for as long as the process lived.
 */
import { setFlagsFromString } from "node:v8";

setFlagsFromString("--no-allocation-site-pretenuring");
