/** The currency of usage without a known price: ISO 4217's code for none. Triggers write it (ledger.sql). */
export const UNPRICED = 'XXX';

export const USAGE_GROUPS = ['model', 'key', 'provider'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** Groups that are kept by day alone, without the others: end users and tags. */
export const LABEL_GROUPS = ['end_user', 'tag'] as const;
export type LabelGroup = (typeof LABEL_GROUPS)[number];

/** Usage of an account over some time; `spend` in millionths of the currency. */
export interface UsageFigures {
  readonly images: number;
  /** Failed tasks. */
  readonly failed: number;
  readonly chats: number;
  /** Settled, and reserved for tasks that have not ended. */
  readonly spend: number;
  /** Finished, but missing from `spend`, because no price was known. */
  readonly unpricedImages: number;
  readonly unpricedChats: number;
  /** Tokens, as counted by providers. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Milliseconds from acceptance to completion; null when unknown, as it is of end users and tags. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

/** Usage of a group in a day or hour, of a group over the whole period, or the total. */
export interface UsageRow extends UsageFigures {
  readonly of: 'step' | 'group' | 'all';
  /** Start of the day or hour, in UTC; null in the other rows. */
  readonly time: Date | null;
  /** Null: tasks that called no provider; of end users: all others, and usage without one. */
  readonly group: string | null;
}

/** Maximum rows of one response; serializing more would block the event loop too long. */
export const MAX_FIGURES = 50_000;

/** The period, its steps, the grouping and the filters. */
export interface UsageQuery {
  /** Its whole day or hour counts; so does that of `to`. */
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
  readonly by: 'day' | 'hour';
  readonly group: UsageGroup;
  readonly currency: string;
  /** Only this model; absent: all models, and so on below. */
  readonly model?: string | undefined;
  /** Only keys of the account with this name. */
  readonly key?: string | undefined;
  readonly provider?: string | undefined;
  /** Only keys with these ids. */
  readonly keyIds?: readonly string[] | undefined;
}
