import { jsonMembers, valueAt } from './json-members.js';

/** The form of a response's id; anything else is none. */
export const RESPONSE_ID = /^[A-Za-z0-9_-]{1,200}$/;
/** Bytes at the beginning of a stream in which the id is looked for. */
const MAX_HEAD = 4_096;
/** The first event holds the response, whose id comes first, or after numbers and short texts. */
const FIRST_EVENT = /"response"\s*:\s*\{(?:\s*"\w+"\s*:\s*(?:"[^"\\]*"|[\w.+-]+)\s*,)*?\s*"id"\s*:\s*"([\w-]{1,200})"/;
/** The same of a response that is not streamed. */
const FIRST_MEMBER = /^\s*\{\s*"id"\s*:\s*"([\w-]{1,200})"/;

/** The id of a response that is not streamed, or of its beginning; undefined when it can't be found. */
export function responseIdIn(bytes: Buffer): string | undefined {
  const [, first] = FIRST_MEMBER.exec(bytes.toString('latin1', 0, MAX_HEAD)) ?? [];
  if (first !== undefined) return first;
  try {
    const span = jsonMembers(bytes).get('id');
    const id = span && valueAt(bytes, span);
    return typeof id === 'string' && RESPONSE_ID.test(id) ? id : undefined;
  } catch {
    return undefined;
  }
}

/** Finds the id at the beginning of a streamed response. */
export class StreamedResponseId {
  private head = '';

  /** Returns the id with the chunk that completes it, and undefined with all others. */
  push(chunk: Buffer): string | undefined {
    if (this.head.length >= MAX_HEAD) return undefined;
    this.head += chunk.toString('latin1', 0, MAX_HEAD - this.head.length);
    const [, id] = FIRST_EVENT.exec(this.head) ?? [];
    // Enough to look no further.
    if (id !== undefined) this.head = ' '.repeat(MAX_HEAD);
    return id;
  }
}
