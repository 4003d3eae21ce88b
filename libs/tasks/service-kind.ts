import { tierOfPixels, type Resolution } from '#contract/pixel-table.js';
import type { TaskOptions } from './task.js';

/** What decides how long an image takes, as far as it is known before: `auto` leaves its size to the provider. */
export type SizeTier = 'auto' | Resolution;

/** Milliseconds an image usually takes, for as long as none was measured. */
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

/** A task that wants to know how long it takes, or has told. */
export interface TaskKind {
  readonly model: string;
  readonly tier: SizeTier;
  /** As it was asked for; `auto` leaves it to the provider. */
  readonly quality: string;
}

/** What of an order decides its kind. */
export interface MeasuredOrder {
  readonly model: string;
  readonly options: Pick<TaskOptions, 'pixels' | 'quality'>;
}

/** The kind by which service times are measured and told beforehand. */
export function kindOf({ model, options }: MeasuredOrder): TaskKind {
  return { model, tier: tierOf(options), quality: options.quality ?? 'auto' };
}

/** The name under which service times of such tasks are kept; without a provider, how all of them begin. */
export function serviceKind({ model, tier, quality }: TaskKind, provider = ''): string {
  return `${model} ${tier} ${quality} ${provider}`;
}
