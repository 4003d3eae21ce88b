/** The currency of usage that no price was known for: ISO 4217's code for none. Triggers write it (ledger.sql). */
export const UNPRICED = 'XXX';

export const USAGE_GROUPS = ['model', 'key', 'provider'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** What an account used in some time; `spend` in millionths of the currency. */
export interface UsageFigures {
  readonly images: number;
  /** Tasks that failed. */
  readonly failed: number;
  readonly chats: number;
  /** Settled, and reserved for tasks that have not ended. */
  readonly spend: number;
  /** Of those that ended, what `spend` leaves out: no price was known. */
  readonly unpricedImages: number;
  readonly unpricedChats: number;
  /** Tokens that providers counted. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Milliseconds from acceptance to the end, of completed tasks. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

/** The figures of a group in a day or hour, of a group in all the time that was asked for, or of all of it. */
export interface UsageRow extends UsageFigures {
  readonly of: 'step' | 'group' | 'all';
  /** First moment of the day or hour, in UTC; null in the other rows. */
  readonly time: Date | null;
  /** Null: tasks that no provider was called for. */
  readonly group: string | null;
}

/** Figures of one answer; more would keep a process from everybody else while they are written out. */
export const MOST_FIGURES = 50_000;

/** Which days or hours are summed up, and by what they are told apart. */
export interface UsageQuery {
  /** Of its day or hour, the whole counts, as of the one that `to` is in. */
  readonly from: Date;
  /** The first moment that is no longer meant. */
  readonly to: Date;
  readonly by: 'day' | 'hour';
  readonly group: UsageGroup;
  readonly currency: string;
  /** Only what was asked of this model; absent: of any, and so below. */
  readonly model?: string | undefined;
  /** Only keys of the account with this name. */
  readonly key?: string | undefined;
  readonly provider?: string | undefined;
}
