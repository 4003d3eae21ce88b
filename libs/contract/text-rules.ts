import type { FieldProblem } from './field-rule.js';

/** Longest prompt, in Unicode code points. */
export const MAX_PROMPT_LENGTH = 32_000;

/**
 * What people, accounts and keys may be called: 1 to 100 characters, one of them to be seen. What can't be seen is
 * left out but for the joiners, which families of emoji, Persian and Hindi are written with.
 */
export const VISIBLE_NAME = /^(?=.*[^\s\p{C}])(?:[^\p{C}]|[\u200c\u200d]){1,100}$/u;
/** Characters that no name has. */
export const INVISIBLE = /(?![\u200c\u200d])\p{C}/gu;

/** A text of at most `max` code points that a database can hold. Whether it is a string is another rule's matter. */
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

/** Counts code points, not UTF-16 units, and only when the unit count leaves it open. */
function longerThan(text: string, max: number): boolean {
  if (text.length <= max) return false;
  if (text.length > 2 * max) return true;
  let count = 0;
  for (const _character of text) if (++count > max) return true;
  return false;
}
