/**
 * Property tests that try the same cases each time, so that nobody's change fails over what it has nothing to do with.
 * `CARDEA_SEED=$RANDOM npx vitest run test/…` tries others.
 */
import fc from "fast-check";

fc.configureGlobal({ seed: Number(process.env.CARDEA_SEED ?? 20_261_120) });

export default fc;
