import fc from 'fast-check';
import { tokenUsage, usageOfBoth } from './token-usage.js';

const number = fc.oneof(
  fc.nat({ max: 10_000 }),
  fc.nat({ max: 10 }),
  fc.double(),
  fc.constantFrom(-0, -1, 1e300, '12', ''),
);
const count = fc.oneof({ weight: 5, arbitrary: number }, fc.constantFrom(undefined, null, true, 'many'));
const kinds = { text_tokens: count, image_tokens: count };
const input = fc.record({ ...kinds, cached_tokens: count, cached_tokens_details: fc.record(kinds) });
const totals = { input_tokens: count, output_tokens: count, total_tokens: count };
const said = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({ ...totals, input_tokens_details: input, output_tokens_details: fc.record(kinds) }),
  },
  { weight: 1, arbitrary: fc.anything() },
);

function expectConsistent(usage: ReturnType<typeof tokenUsage>): void {
  if (usage === undefined) return;
  const { input_tokens: read, output_tokens: written, total_tokens: total, svg_usage: svg } = usage;
  const { cached_tokens: cached = 0, cached_tokens_details: ofCache, ...ofInput } = usage.input_tokens_details ?? {};
  const sum = (counts: object = {}): number => (Object.values(counts) as number[]).reduce((all, one) => all + one, 0);
  expect(total).toBeGreaterThan(0);
  expect(read + written).toBeLessThanOrEqual(total);
  expect(sum(ofInput)).toBeLessThanOrEqual(read);
  expect(sum(usage.output_tokens_details)).toBeLessThanOrEqual(written);
  expect(cached).toBeLessThanOrEqual(read);
  if (ofCache !== undefined) {
    expect(sum(ofCache)).toBe(cached);
    expect(ofCache.text_tokens).toBeLessThanOrEqual(ofInput.text_tokens ?? 0);
    expect(ofCache.image_tokens).toBeLessThanOrEqual(ofInput.image_tokens ?? 0);
  }
  if (svg !== undefined) expect(svg.input_tokens + svg.output_tokens).toBeLessThanOrEqual(svg.total_tokens);
}

describe('the usage of an image', () => {
  it('is consistent whatever a server says, never below a sum of it, and stays as it is when it is read again', () => {
    fc.assert(
      fc.property(said, fc.oneof(fc.record(totals), fc.anything()), (usage, svg) => {
        const read = tokenUsage(usage, svg);
        expectConsistent(read);
        expect(tokenUsage(read, read?.svg_usage)).toEqual(read);
      }),
    );
  });

  it('of two images is that of both, kind by kind, also where only one says so', () => {
    fc.assert(
      fc.property(said, said, (first, second) => {
        const [one, other] = [tokenUsage(first), tokenUsage(second)];
        const both = usageOfBoth(one, other);
        expectConsistent(both);
        expect(both?.total_tokens).toBe(
          one === undefined && other === undefined ? undefined : (one?.total_tokens ?? 0) + (other?.total_tokens ?? 0),
        );
        const text = [one, other].map((usage) => usage?.input_tokens_details?.text_tokens ?? 0);
        expect(both?.input_tokens_details?.text_tokens ?? 0).toBe((text[0] ?? 0) + (text[1] ?? 0));
      }),
    );
  });

  it('is none if only one side was counted, or nothing', () => {
    for (const usage of [undefined, null, [], 'x', { input_tokens: 5 }, { output_tokens: 5 }, { total_tokens: 0 }]) {
      expect(tokenUsage(usage, { input_tokens: 1, output_tokens: 2 })).toBeUndefined();
    }
  });
});
