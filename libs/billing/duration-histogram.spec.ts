import { DurationHistogram } from './duration-histogram.js';

const histogram = (...parts: string[]): DurationHistogram => {
  const merged = new DurationHistogram();
  for (const part of parts) merged.add(part);
  return merged;
};

describe('a histogram of durations', () => {
  it('has no percentile without any', () => {
    expect(histogram().percentile(0.5)).toBeNull();
    expect(histogram('').percentile(0.95)).toBeNull();
  });

  it('counts those of a bucket as their mean, and what lies between two places by its share', () => {
    expect(histogram('40:1:1000').percentile(0.95)).toBe(1_000);
    expect(histogram('40:4:4002').percentile(0.5)).toBe(1_000.5);
    expect(histogram('40:1:1000 44:1:2000').percentile(0.5)).toBe(1_500);
    expect(histogram('40:1:1000 44:1:2000').percentile(0.95)).toBe(1_950);
    expect(histogram('0:0:0 40:2:2000 44:18:36000 100:1:30000000').percentile(0.95)).toBe(2_000);
  });

  it('merges buckets that come more than once, in any order', () => {
    const whole = histogram('36:3:1500 40:5:5000 44:2:4100');
    const parts = histogram('44:1:2000 40:2:2100', '40:3:2900', '36:3:1500 44:1:2100');
    for (const share of [0, 0.25, 0.5, 0.95, 1]) expect(parts.percentile(share)).toBe(whole.percentile(share));
  });
});
