import type { Account, ApiKey } from '#database/generated/client.js';

/** What requests may cost without an approval, in millionths. */
export interface ApprovalThresholds {
  /** Any request; undefined = any amount. */
  readonly any: number | undefined;
  /** A request with the tag. */
  readonly byTag: ReadonlyMap<string, number>;
}

type AccountColumns = Pick<Account, 'approveAboveMicros' | 'ownApproveAboveMicros' | 'tagApprovals'>;

/** A key that a request counts for. */
type KeyColumns = Partial<Pick<ApiKey, 'approveAboveMicros'>>;

/** Those of an account: of the operators' and its own, the lower one counts. */
export function approvalThresholds(account: AccountColumns): ApprovalThresholds {
  const { approveAboveMicros: operators, ownApproveAboveMicros: own, tagApprovals } = account;
  return { any: lowest([operators, own]), byTag: storedTagApprovals(tagApprovals) };
}

/** Those of an account for requests that count for one of its keys. */
export function withKey(thresholds: ApprovalThresholds, { approveAboveMicros }: KeyColumns): ApprovalThresholds {
  return { ...thresholds, any: lowest([thresholds.any, approveAboveMicros]) };
}

/** What a request with these tags may cost: the lowest threshold that applies, so that no tag raises it; undefined = any amount. */
export function thresholdFor(
  { any, byTag }: ApprovalThresholds = { any: undefined, byTag: new Map() },
  tags: readonly string[] = [],
): number | undefined {
  return lowest([any, ...tags.map((tag) => byTag.get(tag))]);
}

/** The thresholds by tag as their column holds them, in millionths. */
export function storedTagApprovals(column: unknown): ReadonlyMap<string, number> {
  return new Map(Object.entries(column as Readonly<Record<string, number>>));
}

function lowest(thresholds: readonly (bigint | number | null | undefined)[]): number | undefined {
  const set = thresholds.flatMap((one) => (one === null || one === undefined ? [] : [Number(one)]));
  return set.length === 0 ? undefined : Math.min(...set);
}
