import type { ServiceRecord } from '#queue/service-times.js';
import { serviceKind, UNMEASURED_MS, type TaskKind } from '../row/service-kind.js';

/** Fraction of the times that is trimmed at each end before averaging. */
const TRIMMED = 0.1;

/** A task to estimate. */
interface Estimated extends TaskKind {
  /** The provider that makes its image, once known. */
  readonly provider?: string | undefined;
}

/**
 * The last times of the tasks most like this one, in ms: with its model, tier, quality and provider (while that is
 * unknown: the one that finished such a task last), else with its model and tier, else with its model.
 */
function timesOf(record: ServiceRecord, task: Estimated): readonly number[] {
  const exact = task.provider === undefined ? [] : record.kinds.get(serviceKind(task, task.provider))?.times;
  if (exact !== undefined && exact.length > 0) return exact;
  for (const start of [serviceKind(task), `${task.model} ${task.tier} `, `${task.model} `]) {
    let latest: { readonly latestAt: number; readonly times: readonly number[] } | undefined;
    for (const [kind, measured] of record.kinds) {
      if (kind.startsWith(start) && measured.latestAt >= (latest?.latestAt ?? 0)) latest = measured;
    }
    if (latest !== undefined) return latest.times;
  }
  return [];
}

/** The median time of the last tasks most like it, in ms. Undefined when none of its model was measured. */
export function measuredServiceMs(record: ServiceRecord, task: Estimated): number | undefined {
  return medianOf(timesOf(record, task));
}

/** Like `measuredServiceMs`, but a typical time where nothing was measured. */
export function serviceMs(record: ServiceRecord, task: Estimated): number {
  return measuredServiceMs(record, task) ?? UNMEASURED_MS[task.tier];
}

/**
 * How long until a slot is free for a task with `before` tasks ahead of it (including running ones), in ms. Assumes
 * that all of them take as long as tasks like it, since most of a line is alike. Undefined while no worker is running.
 */
export function waitMs(record: ServiceRecord, before: number, task: Estimated): number | undefined {
  if (record.slots === 0) return undefined;
  return passingMs(record, Math.max(0, before + 1 - record.slots), task);
}

/**
 * How long until a task behind everything that waits would start, in ms. Without workers it assumes one slot, so that
 * the result grows with every waiting task and an autoscaler sees it.
 */
export function lineMs(record: ServiceRecord, before: number): number {
  const slots = Math.max(1, record.slots);
  const turn = trimmedMean(record.all) ?? UNMEASURED_MS.auto;
  return (Math.max(0, before + 1 - slots) * turn) / slots;
}

/** How long until `tasks` tasks have ended while all slots are busy, in ms. Undefined while no worker is running. */
export function passingMs(record: ServiceRecord, tasks: number, task: Estimated): number | undefined {
  if (record.slots === 0) return undefined;
  return (tasks * (turnMs(record, task) ?? UNMEASURED_MS[task.tier])) / record.slots;
}

/**
 * How many tasks may be ahead of one that still ends within `deadlineMs`; one that starts at once is never too late.
 * Undefined = any number, because nothing of its model was measured or no worker is running.
 */
export function mostBefore(record: ServiceRecord, task: Estimated, deadlineMs: number): number | undefined {
  const turn = turnMs(record, task);
  const service = measuredServiceMs(record, task);
  if (turn === undefined || service === undefined || record.slots === 0) return undefined;
  const rounds = Math.max(0, deadlineMs - service) / Math.max(1, turn);
  return record.slots - 1 + Math.floor(rounds * record.slots);
}

/** How long a task holds a slot, in ms: from tasks like it, else from all recent tasks. */
function turnMs(record: ServiceRecord, task: Estimated): number | undefined {
  return trimmedMean(timesOf(record, task)) ?? trimmedMean(record.all);
}

function medianOf(times: readonly number[]): number | undefined {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)];
}

function trimmedMean(times: readonly number[]): number | undefined {
  const left = Math.floor(times.length * TRIMMED);
  const kept = [...times].sort((a, b) => a - b).slice(left, times.length - left);
  return kept.length === 0 ? undefined : kept.reduce((sum, ms) => sum + ms, 0) / kept.length;
}
