import { approvalThresholds, thresholdFor, withKey } from './approval-thresholds.js';

const NONE = { approveAboveMicros: null, ownApproveAboveMicros: null, tagApprovals: {} };

describe('thresholdFor', () => {
  it('takes the lowest of the key, the operators, and the account', () => {
    const of = (key: bigint | null, operators: bigint | null, own: bigint | null) =>
      thresholdFor(
        withKey(approvalThresholds({ ...NONE, approveAboveMicros: operators, ownApproveAboveMicros: own }), {
          approveAboveMicros: key,
        }),
      );
    expect(of(null, null, null)).toBeUndefined();
    expect([of(5n, null, null), of(null, 5n, null), of(null, null, 5n)]).toEqual([5, 5, 5]);
    expect([of(5n, 4n, 9n), of(5n, 9n, 0n), of(3n, 4n, 9n)]).toEqual([4, 0, 3]);
    expect(thresholdFor(undefined, ['draft'])).toBeUndefined();
  });

  it('is lowered by a tag, and never raised', () => {
    const thresholds = approvalThresholds({
      ...NONE,
      ownApproveAboveMicros: 5n,
      tagApprovals: JSON.parse('{"cheap": 1, "dear": 9, "__proto__": 2}') as object,
    });
    const above = (...tags: string[]) => thresholdFor(thresholds, tags);
    expect([above(), above('dear'), above('cheap'), above('dear', 'cheap')]).toEqual([5, 5, 1, 1]);
    expect([above('__proto__'), above('constructor'), above('unknown')]).toEqual([2, 5, 5]);
    expect(thresholdFor(approvalThresholds({ ...NONE, tagApprovals: { dear: 9 } }), ['dear'])).toBe(9);
  });
});
