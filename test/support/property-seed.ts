import fc from 'fast-check';

// Two runs of a commit test the same cases, so that a failure is a fault of what was changed. Cases of which nobody has
// thought are looked for on purpose: TEST_PROPERTY_RUNS=20 takes others each time, TEST_PROPERTY_SEED those of a failure.
const seed = process.env['TEST_PROPERTY_SEED'] ?? (process.env['TEST_PROPERTY_RUNS'] === undefined ? '1' : undefined);

fc.configureGlobal(seed === undefined ? {} : { seed: Number(seed) });
