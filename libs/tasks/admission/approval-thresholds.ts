/** What requests may cost without an approval, in millionths. */
export interface ApprovalThresholds {
  /** Any request; undefined = any amount. */
  readonly any: number | undefined;
  /** A request with the tag. */
  readonly byTag: ReadonlyMap<string, number>;
}

type Amount = bigint | number | null;

/** What an account's row says: its operators, and its own admins. */
interface AccountColumns {
  readonly approveAboveMicros: Amount;
  readonly ownApproveAboveMicros: Amount;
  /** {"<tag>": <millionths>} */
  readonly tagApprovals: unknown;
}

/** Those of an account: of the operators' and its own, the lower one counts. */
export function approvalThresholds(account: AccountColumns): ApprovalThresholds {
  const { approveAboveMicros: operators, ownApproveAboveMicros: own, tagApprovals } = account;
  return { any: lowest([operators, own]), byTag: new Map(Object.entries(tagApprovals as object)) };
}

/** Those of an account for requests that count for one of its keys. */
export function withKey(
  thresholds: ApprovalThresholds,
  { approveAboveMicros }: { readonly approveAboveMicros?: Amount },
): ApprovalThresholds {
  return { ...thresholds, any: lowest([thresholds.any, approveAboveMicros]) };
}

/** What a request with these tags may cost: the lowest threshold that applies, so that no tag raises it; undefined = any amount. */
export function thresholdFor(
  { any, byTag }: ApprovalThresholds = { any: undefined, byTag: new Map() },
  tags: readonly string[] = [],
): number | undefined {
  return lowest([any, ...tags.map((tag) => byTag.get(tag))]);
}

function lowest(thresholds: readonly (Amount | undefined)[]): number | undefined {
  const set = thresholds.flatMap((one) => (one === null || one === undefined ? [] : [Number(one)]));
  return set.length === 0 ? undefined : Math.min(...set);
}
