import type { FieldProblem } from './field-rule.js';

/** Request header with the end user's identifier, for clients that can't add a field to the body. */
export const END_USER_HEADER = 'x-darkroom-end-user';
/** Request header with tags, separated by commas. */
export const TAGS_HEADER = 'x-darkroom-tags';

/** Tags of one request, with those of its key; and default tags of a key. */
export const MAX_TAGS = 8;
/** Longest end user's identifier, in characters; also of an unhashed one in the header. */
export const MAX_END_USER_HEADER = 2_048;

/** What every provider accepts as an end user's identifier. */
const IDENTIFIER = /^[\x21-\x2b\x2d-\x7e]{1,64}$/;
/** 1 to 64 printable characters, not all of them spaces, without comma. */
const TAG = /^(?=.*\S)[^\p{C}\p{Zl}\p{Zp},]{1,64}$/u;

/** Whether providers accept a text as an end user's identifier. */
export function isEndUserIdentifier(text: string): boolean {
  return IDENTIFIER.test(text);
}

/** Requires at most 8 tags. Another rule checks that the value is a list. */
export function tagsProblem(value: unknown, property: string): FieldProblem | undefined {
  if (!Array.isArray(value)) return undefined;
  if (value.length > MAX_TAGS) {
    return { code: 'array_above_max_length', message: `${property} must have at most ${MAX_TAGS} entries` };
  }
  const at = value.findIndex((tag) => typeof tag !== 'string' || !isTag(tag.trim()));
  if (at === -1) return undefined;
  const isText = typeof value[at] === 'string';
  return {
    code: isText ? 'invalid_value' : 'invalid_type',
    message: `${property} must be texts of 1 to 64 printable characters without commas`,
    at: `[${at}]`,
  };
}

/** Whether a text is a tag. */
export function isTag(text: string): boolean {
  return TAG.test(text);
}

/** The tags in a comma-separated text. */
export function tagsIn(text: string): string[] {
  return text
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
}

/** Each tag once, without spaces around it, in the order of their first appearance. */
export function distinctTags(tags: readonly string[]): string[] {
  return [...new Set(tags.map((tag) => tag.trim()))];
}
