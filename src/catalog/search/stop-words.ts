/** English stop words: they say nothing about a tool, neither in its description nor in a request. */

const WORDS = `
a about above after again all also am an and any are aren as at be because been before being below between both but by
can cannot could did didn do does doesn doing don down during each either etc few for from further had has hasn have
haven having he her here hers herself him himself his how i if in into is isn it its itself just let ll me might more
most must my myself no nor not now of off on once only or other our ours ourselves out over own please per re s same she
should so some such t than thank thanks that the their theirs them themselves then there these they this those through
to too under until up us ve very via was we were what when where whether which while who whom whose why will with within
without won would you your yours yourself
d m hi hello hey like want wants wanted need needs needed know tell help helps helping able maybe kindly
`;

/** In lower case, as `wordsOf` returns them. */
export const STOP_WORDS: ReadonlySet<string> = new Set(WORDS.split(/\s+/).filter((word) => word !== ""));
