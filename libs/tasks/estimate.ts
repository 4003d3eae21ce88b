import type { ServiceRecord } from '#queue/service-times.js';
import { serviceKind, UNMEASURED_MS, type SizeTier } from './service-kind.js';

/** Share of the times that is left out at each end before the rest is averaged. */
const TRIMMED = 0.1;

/** A task that wants to know how long it takes. */
interface Estimated {
  readonly model: string;
  readonly tier: SizeTier;
  /** Who makes its picture, once that is known. */
  readonly provider?: string | undefined;
}

/**
 * The median of the last tasks of its model, tier and provider, in ms; while its provider is not known, of the one that
 * finished such a task last. Undefined when none was measured.
 */
export function measuredServiceMs(record: ServiceRecord, { model, tier, provider }: Estimated): number | undefined {
  if (provider !== undefined) return medianOf(record.kinds.get(serviceKind(model, tier, provider))?.times ?? []);
  let latest: { readonly latestAt: number; readonly times: readonly number[] } | undefined;
  for (const [kind, measured] of record.kinds) {
    if (kind.startsWith(serviceKind(model, tier)) && measured.latestAt >= (latest?.latestAt ?? 0)) latest = measured;
  }
  return medianOf(latest?.times ?? []);
}

/** Like `measuredServiceMs`, with what is usual where nothing was measured. */
export function serviceMs(record: ServiceRecord, task: Estimated): number {
  return measuredServiceMs(record, task) ?? UNMEASURED_MS[task.tier];
}

/**
 * How long until a slot is free for a task with so many before it (running ones included), in ms. Each slot is free again
 * after one service time of the tasks of late, whatever their kind. Undefined while no worker is there.
 */
export function waitMs(record: ServiceRecord, before: number, usualMs: number): number | undefined {
  if (record.slots === 0) return undefined;
  return passingMs(record, Math.max(0, before + 1 - record.slots), usualMs);
}

/** How long until so many tasks have ended while all slots are busy, in ms. Undefined while no worker is there. */
export function passingMs(record: ServiceRecord, tasks: number, usualMs = 0): number | undefined {
  return record.slots === 0 ? undefined : (tasks * (trimmedMean(record.all) ?? usualMs)) / record.slots;
}

/**
 * How many tasks may be before one that still ends within `deadlineMs`; one that starts at once is never too late.
 * Undefined = any number: nothing was measured, or no worker is there, so nobody can say.
 */
export function mostBefore(record: ServiceRecord, task: Estimated, deadlineMs: number): number | undefined {
  const [mean, service] = [trimmedMean(record.all), measuredServiceMs(record, task)];
  if (mean === undefined || service === undefined || record.slots === 0) return undefined;
  const rounds = Math.max(0, deadlineMs - service) / Math.max(1, mean);
  return record.slots - 1 + Math.floor(rounds * record.slots);
}

function medianOf(times: readonly number[]): number | undefined {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)];
}

function trimmedMean(times: readonly number[]): number | undefined {
  const left = Math.floor(times.length * TRIMMED);
  const kept = [...times].sort((a, b) => a - b).slice(left, times.length - left);
  return kept.length === 0 ? undefined : kept.reduce((sum, ms) => sum + ms, 0) / kept.length;
}
