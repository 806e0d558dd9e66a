/** Unpacks the Chromium of npm once, before any test: two files that did it at the same time would start half a program. */
import chromium from "@sparticuz/chromium";
import { HAS_BROWSER } from "./browser.js";

export default async function unpackBrowser(): Promise<void> {
  if (HAS_BROWSER && process.env.CARDEA_CHROMIUM === undefined) await chromium.executablePath();
}
