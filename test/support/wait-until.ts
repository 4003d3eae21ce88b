import { waitUntil as waitFor } from '../../libs/embedded/wait-until.js';
import { patient } from './patience.js';

/** What tests get for `#embedded/wait-until.js` (jest.config.mjs): its time limits are those of this machine. */
export async function waitUntil(...[condition, options]: Parameters<typeof waitFor>): Promise<boolean> {
  return await waitFor(condition, { ...options, timeoutMs: patient(options.timeoutMs) });
}
