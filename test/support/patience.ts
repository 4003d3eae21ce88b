import { jest } from '@jest/globals';

// A limit for hanging tests, not for speed: test machines are shared, and many tests start real processes. Some wait for
// recovery, half a minute on an idle machine.
jest.setTimeout(180_000);

const SLOWNESS = Math.max(1, Number(process.env['TEST_SLOWNESS'] ?? 1));

/**
 * A time limit in ms that only ends what hangs, for this machine: so many times longer as `npm test` found it slower
 * (scripts/run/machine-speed.mjs). Jest's limits and those of `waitUntil` need no call of this.
 */
export function patient(milliseconds: number): number {
  return Math.ceil(milliseconds * SLOWNESS);
}

/** The same for a setting of the product, which may have a maximum. */
export function patientSetting(milliseconds: number, maxMs = 600_000): string {
  return String(Math.min(patient(milliseconds), maxMs));
}
