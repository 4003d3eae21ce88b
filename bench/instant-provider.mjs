import { setImmediate, setTimeout as delay } from 'node:timers/promises';

/** A 64 x 64 PNG in one color: the smallest that passes every check of the image pipeline, at almost no cost. */
export const TINY_PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAMAAACdt4HsAAAAA1BMVEV6XP/FEC2JAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAG0lEQVRYw+3BgQAAAADDoPlT3+AEVQEAAAB8AxBAAAEZszF2AAAAAElFTkSuQmCC',
  'base64',
);

/**
 * A provider that responds immediately, so that only Darkroom's own time is left, or always after LATENCY_MS. Only
 * accepts size `auto`. A prompt of `[[park]]` parks its task once.
 */
const LATENCY_MS = Number(process.env.LATENCY_MS ?? 0);
export const instantProvider = {
  name: 'instant',
  free: true,
  interrupted: 'retry',
  async generate({ width, prompt }, { idempotencyKey, resumeJobId, onAccepted }) {
    if (prompt === '[[park]]' && resumeJobId === undefined) {
      await onAccepted(`instant-${idempotencyKey}`);
      return { pending: { checkAfterMs: 100 } };
    }
    if (width !== undefined) throw new Error('the instant provider has one image: ask for size auto');
    await (LATENCY_MS > 0 ? delay(LATENCY_MS) : setImmediate());
    return { images: [TINY_PNG], warnings: [] };
  },
};
