import { randomBytes } from 'node:crypto';
import { monotonicFactory, ulid } from 'ulid';

const TASK_ID = /^task_[0-9A-HJKMNP-TV-Z]{26}$/;
const REQUEST_ID = /^req_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const POOL_BYTES = 4_096;

let pool = Buffer.alloc(0);
let used = 0;

/** 0 <= x < 1 from the system's secure source, read in blocks: one call per digit would cost more than a poll. */
function random(): number {
  if (used === pool.length) {
    pool = randomBytes(POOL_BYTES);
    used = 0;
  }
  return pool.readUInt8(used++) / 256;
}

/** `task_` + ULID: sorts by time, and its 80 random bits can't be guessed. */
export function newTaskId(): string {
  return `task_${ulid(undefined, random)}`;
}

/** `upload_` + ULID. */
export function newUploadId(): string {
  return `upload_${ulid(undefined, random)}`;
}

/** `erasure_` + ULID. */
export function newErasureId(): string {
  return `erasure_${ulid(undefined, random)}`;
}

/** `file_` + ULID. */
export function newFileId(): string {
  return `file_${ulid(undefined, random)}`;
}

/** `batch_` + ULID. */
export function newBatchId(): string {
  return `batch_${ulid(undefined, random)}`;
}

/** `req_` + ULID, for logs and support; monotonic within one process. */
export const newRequestId = ((): (() => string) => {
  const next = monotonicFactory(random);
  return () => `req_${next()}`;
})();

/** Whether a text has the form of a task id; any other is answered like an unknown id, without a query. */
export function isTaskId(text: string): boolean {
  return TASK_ID.test(text);
}

/** Whether a text has the form of our request ids. */
export function isRequestId(text: string): boolean {
  return REQUEST_ID.test(text);
}
