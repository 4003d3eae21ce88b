import { colorOf, seriesOf } from './series.ts';

const sums = {
  chats: 0,
  failed: 0,
  spend: '0',
  unpriced_images: 0,
  unpriced_chats: 0,
  input_tokens: 0,
  output_tokens: 0,
};
const figures = { ...sums, p50_ms: null, p95_ms: null };
const row = (group: string | null, images: number) => ({ ...figures, group, images });

describe('series of usage', () => {
  const names = ['gpt-image-2', 'flux', 'seedream'];

  it('gives a group one color, whatever is shown beside it', () => {
    const [alone] = seriesOf([row('seedream', 1)], names);
    const among = seriesOf([row('flux', 9), row('gpt-image-2', 5), row('seedream', 1)], names);
    expect(among.find(({ group }) => group === 'seedream')!.color).toBe(alone!.color);
    expect(new Set(among.map(({ color }) => color)).size).toBe(3);
    expect(among.map(({ color }) => color).join()).not.toMatch(/green|teal|lime|red/);
  });

  it('gives a name that is in no list the same color each time', () => {
    expect(colorOf('gone', names)).toBe(colorOf('gone', ['another']));
  });

  it('shows the largest groups, and all others as one', () => {
    const groups = Array.from({ length: 11 }, (_, index) => row(`key ${index}`, index));
    const series = seriesOf(groups, []);
    expect(series.map(({ label }) => label)).toEqual([
      ...[3, 4, 5, 6, 7, 8, 9, 10].map((index) => `key ${index}`),
      '3 others',
    ]);
    const others = series.at(-1)!;
    expect(groups.filter((one) => others.has({ ...one, time: '' })).map(({ group }) => group)).toEqual([
      ...['key 0', 'key 1', 'key 2'],
    ]);
  });
});
