import type { TaskOptions } from './task.js';

/** What decides how long a picture takes, as far as it is known before: `auto` leaves its size to the provider. */
export type SizeTier = 'auto' | '1k' | '2k' | '4k';

/** Pixels between the largest of one tier's table sizes and the smallest of the next one's. */
const TIER_PIXELS = [
  ['1k', 2_200_000],
  ['2k', 5_600_000],
] as const;

/** Milliseconds a picture usually takes, for as long as none was measured. */
export const UNMEASURED_MS: Readonly<Record<SizeTier, number>> = {
  auto: 60_000,
  '1k': 30_000,
  '2k': 60_000,
  '4k': 120_000,
};

/** The tier of the pixels that were asked for. */
export function tierOf({ pixels }: Pick<TaskOptions, 'pixels'>): SizeTier {
  if (pixels === null) return 'auto';
  return TIER_PIXELS.find(([, most]) => pixels.width * pixels.height <= most)?.[0] ?? '4k';
}

/** The name under which service times of such tasks are kept; without a provider, how all of them begin. */
export function serviceKind(model: string, tier: SizeTier, provider = ''): string {
  return `${model} ${tier} ${provider}`;
}
