import { usageRows, type UsageStep } from './usage-rows.js';

const HOUR_MS = 3_600_000;
const step = (hour: number, group: string | null): UsageStep => ({
  time: new Date(hour * HOUR_MS),
  group,
  images: 1,
  failed: 2,
  chats: 3,
  spend: 4,
  unpricedImages: 5,
  unpricedChats: 6,
  inputTokens: 7,
  outputTokens: 8,
  durations: '40:1:1000',
});

describe('rows of usage', () => {
  it('are none of nothing', async () => {
    expect(await usageRows([])).toEqual([]);
  });

  it('are the steps, their groups by the bytes of their names, and all of it', async () => {
    const steps = [step(0, null), step(0, '\uFF5E'), step(0, '\u{1F4F7}'), step(1, 'a'), step(1, '\u{1F4F7}')];
    const rows = await usageRows(steps);
    expect(rows.slice(0, 5).map(({ of, time, group }) => [of, time, group])).toEqual(
      steps.map(({ time, group }) => ['step', time, group]),
    );
    expect(rows.slice(5).map(({ of, time, group, spend }) => [of, time, group, spend])).toEqual([
      ...[null, 'a', '\uFF5E', '\u{1F4F7}'].map((group) => ['group', null, group, group === '\u{1F4F7}' ? 8 : 4]),
      ['all', null, null, 20],
    ]);
    expect(rows.at(-1)).toEqual({
      of: 'all',
      time: null,
      group: null,
      images: 5,
      failed: 10,
      chats: 15,
      spend: 20,
      unpricedImages: 25,
      unpricedChats: 30,
      inputTokens: 35,
      outputTokens: 40,
      p50Ms: 1_000,
      p95Ms: 1_000,
    });
  });

  it('let others run after every 500', async () => {
    let turns = 0;
    let isOver = false;
    const others = (async () => {
      for (; !isOver; turns++) await new Promise((resolve) => setImmediate(resolve));
    })();
    const steps = Array.from({ length: 10_000 }, (_, index) => step(0, `group ${index}`));
    await usageRows(steps);
    isOver = true;
    await others;
    // Of steps, and of as many groups.
    expect(turns).toBeGreaterThanOrEqual(40);
  });
});
