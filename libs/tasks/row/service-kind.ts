import { tierOfPixels, type Resolution } from '#contract/pixel-table.js';
import type { TaskOptions } from './task.js';

/** The size class that decides how long an image takes; `auto`: the provider chooses the size. */
export type SizeTier = 'auto' | Resolution;

/** Milliseconds an image typically takes, used until one was measured. */
export const UNMEASURED_MS: Readonly<Record<SizeTier, number>> = {
  auto: 60_000,
  '1k': 30_000,
  '2k': 60_000,
  '4k': 120_000,
};

/** The tier of the requested pixels. */
export function tierOf({ pixels }: Pick<TaskOptions, 'pixels'>): SizeTier {
  return pixels === null ? 'auto' : tierOfPixels(pixels);
}

/** What tasks have in common whose service times are measured together. */
export interface TaskKind {
  readonly model: string;
  readonly tier: SizeTier;
  /** As requested; `auto` leaves it to the provider. */
  readonly quality: string;
}

/** The parts of an order that decide its kind. */
export interface MeasuredOrder {
  readonly model: string;
  readonly options: Pick<TaskOptions, 'pixels' | 'quality'>;
}

/** The kind by which an order's service time is measured and estimated. */
export function kindOf({ model, options }: MeasuredOrder): TaskKind {
  return { model, tier: tierOf(options), quality: options.quality ?? 'auto' };
}

/** The name under which service times of such tasks are kept; without a provider, the prefix of all such names. */
export function serviceKind({ model, tier, quality }: TaskKind, provider = ''): string {
  return `${model} ${tier} ${quality} ${provider}`;
}
