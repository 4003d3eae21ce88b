/** What the list of tasks is narrowed to; kept in the address, so that a list can be sent to others. */
export interface TaskFilters {
  readonly status?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  /** Id of a key, or `playground`. */
  readonly key?: string | undefined;
  readonly text?: string | undefined;
  /** Accepted at this time or later, and before this time; as ISO 8601 writes it. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** `oldest` first instead of newest. */
  readonly order?: string | undefined;
}

/** Whether the list holds less than all tasks. */
export function isNarrowed({ order: _, ...filters }: TaskFilters): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}

/** What is searched through instead of looked up, which goes from the newest task back. */
export function isSearch({ text, provider }: TaskFilters): boolean {
  return text !== undefined || provider !== undefined;
}
