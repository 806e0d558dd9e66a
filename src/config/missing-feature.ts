/** Whether an unknown key may be that of a feature that is not built in. */

/** The sections in which several features have keys, or features beside the gateway. */
const SHARED_SECTIONS: readonly string[] = ["auth", "policy", "telemetry"];
/** The same, but a feature has one key there: an unknown one beside it is misspelled. */
const LISTEN = "listen";
const OWN_OF_LISTEN = ["http"];

/** What an unknown key at this place may be, as the end of its sentence: a section of a feature that is not built in. */
export const NO_SUCH_FEATURE = "; no feature of this build has such a section";
/** Whether features that are not built in have keys at this place of the file, beside those that are `known`; in a server an unknown key is most often that of a host. */
export function hasFeatureKeys(at: readonly PropertyKey[], known: readonly string[]): boolean {
  if (at.length !== 1) return at.length === 0;
  const isListen = at[0] === LISTEN && known.every((key) => OWN_OF_LISTEN.includes(key));
  return isListen || SHARED_SECTIONS.includes(String(at[0]));
}
