import type { Parameters } from 'fast-check';

/** Whether tests run with the full load of their goals, or in the short form for every `npm test`. */
export const LONG = process.env['TEST_LONG'] === 'true';

const FACTOR = Math.max(1, Number(process.env['TEST_PROPERTY_RUNS'] ?? 1));

/**
 * Jest's time limit for a hanging property test, in ms; it grows with the runs. A busy machine needs a minute for the
 * longest.
 */
export const PROPERTY_TIMEOUT_MS = 300_000 * FACTOR;

/**
 * How often a property is tested: `count` times in every `npm test`, more with TEST_PROPERTY_RUNS=<factor>. Which cases:
 * property-seed.ts.
 */
export function runs<T>(count: number): Parameters<T> {
  return { numRuns: count * FACTOR };
}
