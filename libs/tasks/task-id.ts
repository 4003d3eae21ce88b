import { monotonicFactory, ulid } from 'ulid';

const TASK_ID = /^task_[0-9A-HJKMNP-TV-Z]{26}$/;

/** `task_` + ULID: sorts by time, and its 80 random bits can't be guessed. */
export function newTaskId(): string {
  return `task_${ulid()}`;
}

/** `req_` + ULID, for logs and support; monotonic within one process. */
export const newRequestId = ((): (() => string) => {
  const next = monotonicFactory();
  return () => `req_${next()}`;
})();

/** Anything that is not shaped like a task id is answered like an unknown one, without a query. */
export function isTaskId(text: string): boolean {
  return TASK_ID.test(text);
}
