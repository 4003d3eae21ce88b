/** What the list of tasks is narrowed to; kept in the address, so that a list can be sent to others. */
export interface TaskFilters {
  readonly status?: string | undefined;
  readonly model?: string | undefined;
  readonly key?: string | undefined;
  readonly text?: string | undefined;
}
