/** What an account does about an end user. A paused one is refused until a time, a blocked one until it is unblocked. */
export const END_USER_STATES = ['none', 'flagged', 'paused', 'blocked'] as const;
export type EndUserStateName = (typeof END_USER_STATES)[number];

/** Who changed a state: a person of the account, a provider's notice, or a number of refused requests. */
export type EndUserCause = 'person' | 'provider' | 'refusals';

/** The state of an end user, and why it is so. */
export interface EndUserState {
  readonly accountId: string;
  readonly endUser: string;
  readonly state: EndUserStateName;
  /** When a pause ends; null = it is none. */
  readonly until: Date | null;
  readonly cause: EndUserCause;
  readonly reason: string | null;
  /** Of the provider's notice, as is the case. */
  readonly provider: string | null;
  readonly caseId: string | null;
  /** Id of the person. */
  readonly changedBy: string | null;
  readonly changedAt: Date;
}

/** A flag that a pause put aside: with the end of the pause it is the state again. */
export interface EndUserFlag extends Pick<EndUserState, 'cause' | 'reason' | 'provider' | 'caseId' | 'changedBy'> {
  /** ISO 8601 */
  readonly changedAt: string;
}

/** The state of a row at a time: the flag, if a pause that put it aside is over. */
export function stateAt(
  { flag, ...known }: EndUserState & { readonly flag: EndUserFlag | null },
  now: Date,
): EndUserState {
  if (known.state !== 'paused' || known.until === null || known.until > now || flag === null) return known;
  return { ...known, ...flag, state: 'flagged', until: null, changedAt: new Date(flag.changedAt) };
}
