import type { Files } from "./fixture.mjs";

export function ownServers(files: Files): Readonly<Record<string, object>>;
