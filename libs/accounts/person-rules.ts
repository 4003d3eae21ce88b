import { INVISIBLE, VISIBLE_NAME } from '#contract/text-rules.js';

export const ROLES = ['admin', 'member'] as const;
export type Role = (typeof ROLES)[number];

const EMAIL = /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,190}$/u;

const MAX_NAME_LENGTH = 100;
/** Longer than any spelling of an address. */
const MAX_EMAIL_TEXT = 1_000;

/**
 * The one spelling of an e-mail address, in which it is stored, counted and looked up: NFKC, trimmed, in lower case.
 * Undefined for what is none, such as a text with control or invisible characters.
 */
export function storedEmailOf(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length > MAX_EMAIL_TEXT) return undefined;
  // Lower case may take a text apart that NFKC joins.
  const email = text.normalize('NFKC').trim().toLowerCase().normalize('NFKC');
  return EMAIL.test(email) ? email : undefined;
}

/** A name that can be shown, from what somebody else says; undefined when nothing of it can. */
export function shownNameOf(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined;
  const visible = [...text.replace(INVISIBLE, '').trim()].slice(0, MAX_NAME_LENGTH).join('');
  return VISIBLE_NAME.test(visible) ? visible : undefined;
}

/** The role of a row; the database knows no others. */
export function roleOf({ role }: { readonly role: string }): Role {
  return role === 'admin' ? 'admin' : 'member';
}
