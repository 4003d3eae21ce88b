/** The bounds of a lifetime of tasks, in seconds: shorter, and callers could miss their image; at most a year. */
export const MIN_KEPT_SECONDS = 60;
export const MAX_KEPT_SECONDS = 31_536_000;
