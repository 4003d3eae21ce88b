import { hash } from 'node:crypto';

export const LABEL_KINDS = ['end_user', 'tag'] as const;
export type LabelKind = (typeof LABEL_KINDS)[number];

/** What an end user or a tag is limited to; null = any number or amount. */
export interface LabelLimit {
  readonly kind: LabelKind;
  /** Empty: each end user, or each tag, that has no limit of its own. */
  readonly name: string;
  readonly requestsPerMinute: number | null;
  readonly tasksInFlight: number | null;
  /** Millionths, for each calendar month in UTC. */
  readonly monthlyBudget: number | null;
  /** Its share of the account's turns in the queue, like a key's; null: its tasks take the turns of their keys. */
  readonly weight: number | null;
}

/** The limit of one label of a request. */
export interface AppliedLimit extends LabelLimit {
  /** Stands for the account's label where its name should not be. */
  readonly id: string;
}

/** The end user and the tags of a request. */
export interface Labels {
  readonly endUser?: string | null | undefined;
  readonly tags?: readonly string[] | null | undefined;
}

/** The limits as their rows have them. */
export function labelLimitsOf(
  rows: readonly (Omit<LabelLimit, 'kind' | 'monthlyBudget'> & { kind: string; monthlyBudgetMicros: bigint | null })[],
): LabelLimit[] {
  return rows.map(({ kind, name, requestsPerMinute, tasksInFlight, weight, monthlyBudgetMicros: micros }) => ({
    kind: kind === 'tag' ? 'tag' : 'end_user',
    name,
    requestsPerMinute,
    tasksInFlight,
    weight,
    monthlyBudget: micros === null ? null : Number(micros),
  }));
}

/** The limits of an account that apply to a request: that of its end user, then those of its tags by name. */
export function appliedLimits(
  accountId: string,
  limits: readonly LabelLimit[],
  { endUser, tags }: Labels,
): AppliedLimit[] {
  const found = (kind: LabelKind, name: string): AppliedLimit[] => {
    const of = (wanted: string) => limits.find((limit) => limit.kind === kind && limit.name === wanted);
    const limit = of(name) ?? of('');
    return limit === undefined ? [] : [{ ...limit, name, id: labelId(accountId, kind, name) }];
  };
  return [
    ...(endUser ? found('end_user', endUser) : []),
    ...[...(tags ?? [])].sort().flatMap((tag) => found('tag', tag)),
  ];
}

function labelId(accountId: string, kind: LabelKind, name: string): string {
  return hash('sha256', `${accountId} ${kind} ${name}`, 'base64url');
}
