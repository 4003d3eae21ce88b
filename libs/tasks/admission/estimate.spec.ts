import { lineMs, measuredServiceMs, mostBefore, passingMs, serviceMs, waitMs } from './estimate.js';
import { tierOf } from '../row/service-kind.js';

const square = { model: 'gpt-image-2', tier: '1k', quality: 'auto' } as const;

function record(changes: { slots?: number; all?: number[]; kinds?: Record<string, [number, number[]]> } = {}) {
  const kinds = Object.entries(changes.kinds ?? {}).map(
    ([kind, [latestAt, times]]) => [kind, { latestAt, times }] as const,
  );
  return { slots: changes.slots ?? 4, kinds: new Map(kinds), all: changes.all ?? [] };
}

describe('service times', () => {
  it('are the median of what the provider did, so that one that hung changes little', () => {
    const kinds = { 'gpt-image-2 1k auto slow': [10, [900, 1_000, 1_100, 600_000, 1_050]] } as Record<
      string,
      [number, number[]]
    >;
    expect(serviceMs(record({ kinds }), { ...square, provider: 'slow' })).toBe(1_050);
  });

  it('are those of the provider that worked last while nobody knows which one it will be', () => {
    const times = record({
      kinds: {
        'gpt-image-2 1k auto old': [10, [9_000]],
        'gpt-image-2 1k auto new': [11, [2_000]],
        'gpt-image-2 4k auto new': [12, [70_000]],
        'other 1k auto new': [12, [80_000]],
      },
    });
    expect(measuredServiceMs(times, square)).toBe(2_000);
    expect(measuredServiceMs(times, { ...square, provider: 'old' })).toBe(9_000);
  });

  it('are usual ones where nothing was measured', () => {
    expect(measuredServiceMs(record(), square)).toBeUndefined();
    expect([serviceMs(record(), square), serviceMs(record(), { ...square, tier: '4k' })]).toEqual([30_000, 120_000]);
  });
});

describe('the wait', () => {
  const all = [1_000, 1_000, 1_000, 1_000];

  it('is nothing while a slot is free, and then a share of a service time for each task before', () => {
    const times = record({ slots: 4, all });
    expect([0, 3, 4, 7, 43].map((before) => waitMs(times, before, square))).toEqual([0, 0, 250, 1_000, 10_000]);
    expect(passingMs(times, 8, square)).toBe(2_000);
  });

  it('is that of all kinds together, without the shortest and the longest', () => {
    expect(waitMs(record({ slots: 1, all: [10, ...Array<number>(8).fill(2_000), 999_000] }), 1, square)).toBe(2_000);
  });

  it('is not known without a worker', () => {
    expect(waitMs(record({ slots: 0, all }), 0, square)).toBeUndefined();
  });

  it('of the whole line grows with it, and shrinks with every slot', () => {
    const one = record({ slots: 1, all });
    const four = record({ slots: 4, all });
    expect([0, 1, 40].map((before) => lineMs(one, before))).toEqual([0, 1_000, 40_000]);
    expect([0, 3, 4, 43].map((before) => lineMs(four, before))).toEqual([0, 0, 250, 10_000]);
  });

  it('of the whole line is seen without a worker too, or none would be started', () => {
    expect([0, 1, 2].map((before) => lineMs(record({ slots: 0, all }), before))).toEqual([0, 1_000, 2_000]);
    expect(lineMs(record({ slots: 0 }), 2)).toBe(120_000);
  });

  it('follows the times of its own kind, then of its model, whatever was finished of late (section 4: queue_full)', () => {
    const kinds: Record<string, [number, number[]]> = {
      'gpt-image-2 1k auto any': [1, [1_000]],
      'gpt-image-2 1k high any': [2, [4_000]],
      'slow 2k auto any': [9, [60_000]],
    };
    const times = record({ slots: 1, all: [60_000, 60_000, 60_000], kinds });
    expect(mostBefore(times, square, 10_000)).toBe(9);
    expect(mostBefore(times, { ...square, quality: 'high' }, 10_000)).toBe(1);
    expect(mostBefore(times, { ...square, tier: '4k', quality: 'low' }, 10_000)).toBe(1);
    expect(mostBefore(record({ slots: 1, all: [1, 1, 1], kinds }), { ...square, model: 'slow' }, 120_000)).toBe(1);
    expect(waitMs(times, 10, square)).toBe(10_000);
    expect(waitMs(times, 10, { ...square, model: 'new' })).toBe(600_000);
  });

  it('may be as long as leaves time to make the image', () => {
    const times = record({ slots: 2, all, kinds: { 'gpt-image-2 1k auto any': [1, [1_000]] } });
    const most = mostBefore(times, square, 10_000) ?? NaN;
    const end = (before: number): number => (waitMs(times, before, square) ?? NaN) + 1_000;
    expect([end(most) <= 10_000, end(most + 1) <= 10_000]).toEqual([true, false]);
    expect(mostBefore(times, square, 500)).toBe(1); // what starts at once is never too late
  });

  it('bounds nothing where nothing was measured or no worker is there', () => {
    expect(mostBefore(record({ all }), square, 10)).toBeUndefined();
    expect(
      mostBefore(record({ slots: 0, all, kinds: { 'gpt-image-2 1k auto any': [1, [1_000]] } }), square, 10),
    ).toBeUndefined();
  });
});

it('puts every size of the pixel table, and free ones, into a tier', () => {
  const tiers = [null, [1024, 1024], [2048, 1024], [2048, 1152], [2560, 2048], [3840, 1648], [2880, 2880]].map(
    (pixels) => tierOf({ pixels: pixels === null ? null : { width: pixels[0] ?? 0, height: pixels[1] ?? 0 } }),
  );
  expect(tiers).toEqual(['auto', '1k', '1k', '2k', '2k', '4k', '4k']);
});
