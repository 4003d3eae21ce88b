/** What a task costs, as its row keeps it (`tasks.cost`). Amounts are millionths of the currency's unit. */
export interface TaskCost {
  /** What was set aside for all of its images when it was accepted; null when no price was known. */
  readonly reserved: number | null;
  /** ISO 4217. */
  readonly currency: string;
  /** Images that it is for; absent: one. Each costs the same part of what was set aside. */
  readonly n?: number;
  /** Prices per million tokens, where the image is paid by what its provider counts; `reserved` is then the most. */
  readonly tokens?: { readonly input: number; readonly output: number };
  /** 0..1: share of what was reserved that it costs when it is cancelled after a provider began it; absent = as usual. */
  readonly cancelled?: number;
  /** What it has cost in the end; written by a trigger when the task ends. */
  readonly settled?: number | null;
}
