import { INVISIBLE, VISIBLE_NAME } from '#contract/text-rules.js';

export const EMAIL = /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,190}$/u;

const MAX_NAME_LENGTH = 100;

/** An e-mail address as it is stored, from what somebody else says; undefined when it is none. */
export function storedEmailOf(text: unknown): string | undefined {
  const email = typeof text === 'string' ? text.trim().toLowerCase() : '';
  return EMAIL.test(email) ? email : undefined;
}

/** A name that can be shown, from what somebody else says; undefined when nothing of it can. */
export function shownNameOf(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined;
  const visible = [...text.replace(INVISIBLE, '').trim()].slice(0, MAX_NAME_LENGTH).join('');
  return VISIBLE_NAME.test(visible) ? visible : undefined;
}
