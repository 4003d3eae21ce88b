import type { FieldProblem } from './field-rule.js';

/** Longest prompt, in Unicode code points. */
export const MAX_PROMPT_LENGTH = 32_000;

/**
 * Names of users, accounts, and keys: 1 to 100 characters, at least one of them visible. Invisible characters are not
 * allowed, except the joiners used in emoji sequences, Persian, and Hindi.
 */
export const VISIBLE_NAME = /^(?=.*[^\s\p{C}])(?:[^\p{C}]|[\u200c\u200d]){1,100}$/u;
/** Characters not allowed in names. */
export const INVISIBLE = /(?![\u200c\u200d])\p{C}/gu;

const PLAIN_ADDRESS = /^[^\s@<>()[\],;:"\\\p{C}]+@[^\s@<>()[\],;:"\\\p{C}]+$/u;

/**
 * Whether every mail program reads an email address as this one: without the characters of lists, groups, comments,
 * names, and quotes.
 */
export function isPlainAddress(address: string): boolean {
  return PLAIN_ADDRESS.test(address);
}

/** Whether Postgres takes a text, in JSON too: none with NUL, or half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

/** Requires at most `max` code points that the database can store. Another rule checks that the value is a string. */
export function textProblem(value: unknown, property: string, max: number): FieldProblem | undefined {
  if (typeof value !== 'string') return undefined;
  if (longerThan(value, max)) {
    return { code: 'string_above_max_length', message: `${property} must be at most ${max} characters long` };
  }
  if (value.includes('\u0000')) {
    return { code: 'invalid_value', message: `${property} must not contain the NUL character` };
  }
  return undefined;
}

/** Counts code points instead of UTF-16 units, and only when the number of units is not conclusive. */
function longerThan(text: string, max: number): boolean {
  if (text.length <= max) return false;
  if (text.length > 2 * max) return true;
  let count = 0;
  for (const _character of text) if (++count > max) return true;
  return false;
}
