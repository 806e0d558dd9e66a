/** Imported by tests that ask the listener for operators: in a build without it they are left out (scripts/features.mjs). */
export {};
