import { jest } from '@jest/globals';
import { ProgressWriter } from './task-progress.js';

/** Each write is a transaction and a version of the row, and a task has two of those anyway: its start and its end. */
describe('the progress that is written', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  /** What is written of a provider's reports, each `[seconds since the start, percent]`. */
  function written(reports: readonly (readonly [seconds: number, percent: number])[], resumed = false): number[] {
    const values: number[] = [];
    const start = Date.now();
    const writer = new ProgressWriter((percent) => values.push(Math.round(percent)), resumed);
    for (const [seconds, percent] of reports) {
      jest.setSystemTime(start + 1_000 * seconds);
      writer.provider(percent);
    }
    return values;
  }

  it('is nothing of a provider that only reports its start and its end, however long it takes', () => {
    expect(
      written([
        [0, 1],
        [60, 100],
      ]),
    ).toEqual([]);
  });

  it('is at most one a second of one that reports often', () => {
    const often = Array.from({ length: 100 }, (_, n) => [n / 25, n] as const);
    expect(written(often)).toEqual([26, 48, 69]);
  });

  it('is at once what a check of a job reports, because the next check is another call', () => {
    expect(written([[0, 40]], true)).toEqual([39]);
  });

  it('is nothing that no caller could tell from what is written already', () => {
    expect(
      written([
        [2, 0],
        [4, 50],
        [6, 50],
        [8, 51],
      ]),
    ).toEqual([48]);
  });
});
