import { describe, expect, it } from '@jest/globals';
import { neededApproval } from './approval.js';

const cost = (reserved: number | null) => ({ reserved, currency: 'USD' });

describe('neededApproval', () => {
  it('is needed above the threshold, not at it', () => {
    expect(neededApproval({ cost: cost(40_000), approveAbove: 40_000 }, 1)).toBeUndefined();
    expect(neededApproval({ cost: cost(40_001), approveAbove: 40_000 }, 9)).toEqual({ above: 40_000, deadlineMs: 9 });
  });

  it('is needed for each request that costs anything, where the threshold is 0', () => {
    expect(neededApproval({ cost: cost(1), approveAbove: 0 }, 1)).toBeDefined();
    expect(neededApproval({ cost: cost(0), approveAbove: 0 }, 1)).toBeUndefined();
    expect(neededApproval({ cost: null, approveAbove: 0 }, 1)).toBeUndefined();
  });

  it('is needed where the cost is not known, whatever the threshold', () => {
    expect(neededApproval({ cost: cost(null), approveAbove: 900_000_000 }, 1)).toBeDefined();
  });

  it('is never needed without a threshold', () => {
    expect(neededApproval({ cost: cost(null) }, 1)).toBeUndefined();
  });
});
