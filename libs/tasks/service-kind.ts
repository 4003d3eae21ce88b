import { tierOfPixels, type Resolution } from '#contract/pixel-table.js';
import type { TaskOptions } from './task.js';

/** What decides how long a picture takes, as far as it is known before: `auto` leaves its size to the provider. */
export type SizeTier = 'auto' | Resolution;

/** Milliseconds a picture usually takes, for as long as none was measured. */
export const UNMEASURED_MS: Readonly<Record<SizeTier, number>> = {
  auto: 60_000,
  '1k': 30_000,
  '2k': 60_000,
  '4k': 120_000,
};

/** The tier of the pixels that were asked for. */
export function tierOf({ pixels }: Pick<TaskOptions, 'pixels'>): SizeTier {
  return pixels === null ? 'auto' : tierOfPixels(pixels);
}

/** The name under which service times of such tasks are kept; without a provider, how all of them begin. */
export function serviceKind(model: string, tier: SizeTier, provider = ''): string {
  return `${model} ${tier} ${provider}`;
}
