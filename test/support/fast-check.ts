/**
 * Property tests with fixed seeds, so that a change cannot fail by chance. `CARDEA_SEED=$RANDOM npx vitest run test/…`
 * tries others.
 */
import fc from "fast-check";

fc.configureGlobal({ seed: Number(process.env.CARDEA_SEED ?? 20_261_120) });

export default fc;
