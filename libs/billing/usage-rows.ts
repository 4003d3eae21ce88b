import { setImmediate as breathe } from 'node:timers/promises';
import { DurationHistogram } from './duration-histogram.js';
import type { UsageFigures, UsageRow } from './usage.js';

/** The figures of a group in a day or hour as the database returns them, with durations that are not merged yet. */
export interface UsageStep extends Omit<UsageFigures, 'p50Ms' | 'p95Ms'> {
  readonly time: Date;
  readonly group: string | null;
  /** Of completed tasks, as `DurationHistogram` reads them; null without any. */
  readonly durations: string | null;
}

/** Rows that are added up before the event loop runs: a few milliseconds. */
const SLICE = 500;

/** All steps in their order, then their groups by name, and last the total, if there is anything. */
export async function usageRows(steps: readonly UsageStep[]): Promise<UsageRow[]> {
  const rows: UsageRow[] = [];
  const groups = new Map<string | null, UsageSums>();
  const all = new UsageSums();
  for (const [index, step] of steps.entries()) {
    if (index % SLICE === SLICE - 1) await breathe();
    const { time, group } = step;
    const ofGroup = groups.get(group) ?? new UsageSums();
    groups.set(group, ofGroup);
    const own = new UsageSums();
    for (const sums of [own, ofGroup, all]) sums.add(step);
    rows.push(own.row('step', time, group));
  }
  const named = [...groups].map(([group, sums]) => ({ group, sums, bytes: Buffer.from(group ?? '') }));
  // The database orders steps by bytes, which is not the order of UTF-16.
  named.sort((a, b) => a.bytes.compare(b.bytes));
  for (const [index, { group, sums }] of named.entries()) {
    if (index % SLICE === SLICE - 1) await breathe();
    rows.push(sums.row('group', null, group));
  }
  if (steps.length > 0) rows.push(all.row('all', null, null));
  return rows;
}

/** Sums of rows. Without spread syntax, which takes a tenth of a second for ten thousand rows. */
class UsageSums {
  #images = 0;
  #failed = 0;
  #chats = 0;
  #spend = 0;
  #unpricedImages = 0;
  #unpricedChats = 0;
  #inputTokens = 0;
  #outputTokens = 0;
  readonly #durations = new DurationHistogram();

  add(step: UsageStep): void {
    this.#images += step.images;
    this.#failed += step.failed;
    this.#chats += step.chats;
    this.#spend += step.spend;
    this.#unpricedImages += step.unpricedImages;
    this.#unpricedChats += step.unpricedChats;
    this.#inputTokens += step.inputTokens;
    this.#outputTokens += step.outputTokens;
    if (step.durations !== null) this.#durations.add(step.durations);
  }

  row(of: UsageRow['of'], time: Date | null, group: string | null): UsageRow {
    return {
      of,
      time,
      group,
      images: this.#images,
      failed: this.#failed,
      chats: this.#chats,
      spend: this.#spend,
      unpricedImages: this.#unpricedImages,
      unpricedChats: this.#unpricedChats,
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
      p50Ms: this.#durations.percentile(0.5),
      p95Ms: this.#durations.percentile(0.95),
    };
  }
}
