import type { FieldProblem } from './field-rule.js';
import { LongText, startOf, type Text } from './long-text.js';
import { isStorable } from './text-rules.js';

/** Maximum reference images of a request. */
export const MAX_REFERENCE_IMAGES = 16;
/** Ids of images that an account has uploaded. */
export const UPLOAD_ID = /^upload_[0-9A-Z]{26}$/;
/** Longest data URI or JSON image_url, in characters. */
export const MAX_REFERENCE_LENGTH = 20_971_520;
/** Longest http(s) URL, in characters; servers don't accept longer ones. */
const MAX_ADDRESS_LENGTH = 8_192;

/**
 * Start of a base64 data URI before its data, as published clients write it: any image type, or one that says nothing,
 * with any parameters, case, and spaces. The bytes decide what it is, as they do in a form.
 */
const DATA_URI =
  /^\s*data:\s*(?:image\/[\w.+*-]*|(?:application|binary)\/(?:octet-stream|x-binary))?\s*(?:;[^;,]*)*?;\s*base64\s*,\s*/i;
const IMAGE_DATA = /^\s*data:\s*(?:image\/|;|,)/i;
/** Number of characters in which the start of a data URI is searched. */
const MAX_HEAD_LENGTH = 512;

/** Number of characters before the data of a data URI; undefined if the reference is not a data URI. */
export function dataUriStart(reference: Text): number | undefined {
  return DATA_URI.exec(startOf(reference, MAX_HEAD_LENGTH))?.[0].length;
}

/** The reference as a URL, after the caller has ruled out a data URI; URLs are short enough to be cut to the limit. */
export function addressOf(reference: Text): string {
  return startOf(reference, MAX_ADDRESS_LENGTH);
}

/** Problem of a reference's form; whether its URL may be opened is checked when it is opened. */
export function referenceProblem(value: unknown, name: string): FieldProblem | undefined {
  if (typeof value !== 'string' && !(value instanceof LongText)) {
    return { code: 'invalid_type', message: `${name} must be a string` };
  }
  if (value.length > MAX_REFERENCE_LENGTH) {
    return {
      code: 'string_above_max_length',
      message: `${name} must be at most ${MAX_REFERENCE_LENGTH} characters long; upload larger images as files`,
    };
  }
  const head = startOf(value, MAX_HEAD_LENGTH);
  const start = dataUriStart(value);
  if (start !== undefined) {
    return value.length > start
      ? undefined
      : { code: 'invalid_base64_image', message: `${name} is a data URI without data` };
  }
  if (IMAGE_DATA.test(head)) {
    return { code: 'invalid_base64_image', message: `${name} must be a base64 data URI: data:image/png;base64,...` };
  }
  if (!/^https?:\/\//i.test(head) || value.length > MAX_ADDRESS_LENGTH || !isAddress(addressOf(value))) {
    return {
      code: 'invalid_image_url',
      message: `${name} must be an http(s) URL or a data URI of a PNG, JPEG, WebP, AVIF or GIF image`,
    };
  }
  return undefined;
}

/** URLs may have what JSON can't be stored with: parsers replace it. */
function isAddress(text: string): boolean {
  return URL.canParse(text) && isStorable(text);
}

/** `image_urls` of a generation: up to 16 references. */
export function imageUrlsProblem(value: unknown, property: string): FieldProblem | undefined {
  if (!Array.isArray(value)) return { code: 'invalid_type', message: `${property} must be an array of strings` };
  if (value.length > MAX_REFERENCE_IMAGES) return tooMany(property);
  return firstProblem(value, (item, at) => referenceProblem(item, property + at));
}

/** `images` of an edit: 1 to 16 objects with one `image_url` each. */
export function editImagesProblem(value: unknown, property: string): FieldProblem | undefined {
  if (!Array.isArray(value)) return { code: 'invalid_type', message: `${property} must be an array of objects` };
  if (value.length === 0) {
    return { code: 'array_below_min_length', message: `${property} must have at least 1 item` };
  }
  if (value.length > MAX_REFERENCE_IMAGES) return tooMany(property);
  return firstProblem(value, (item, at) => imageObjectProblem(item, property + at));
}

/** An `{image_url}` or `{file_id}` object: an item of `images`, or `mask`. */
export function imageObjectProblem(value: unknown, name: string): FieldProblem | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { code: 'invalid_type', message: `${name} must be an object with image_url or file_id` };
  }
  const { image_url: reference, file_id: fileId } = value as { image_url?: unknown; file_id?: unknown };
  if (fileId !== undefined && fileId !== null) return fileIdProblem(fileId, name, reference);
  if (reference === undefined || reference === null) {
    return {
      code: 'missing_required_parameter',
      message: `Missing required parameter: '${name}.image_url'.`,
      at: '.image_url',
    };
  }
  const problem = referenceProblem(reference, `${name}.image_url`);
  return problem && { ...problem, at: '.image_url' };
}

/** OpenAI's own files can't be opened here. */
function fileIdProblem(fileId: unknown, name: string, reference: unknown): FieldProblem | undefined {
  const isBoth = reference !== undefined && reference !== null;
  if (!isBoth && typeof fileId === 'string' && UPLOAD_ID.test(fileId)) return undefined;
  const message = isBoth
    ? `${name} has both image_url and file_id: send one of them`
    : `${name}.file_id must be the id of an image uploaded to /v1/uploads/images; use image_url for others`;
  return { code: 'unsupported_parameter', message, at: '.file_id' };
}

function tooMany(property: string): FieldProblem {
  return {
    code: 'array_above_max_length',
    message: `${property} must have at most ${MAX_REFERENCE_IMAGES} items`,
  };
}

function firstProblem(
  items: readonly unknown[],
  find: (item: unknown, at: string) => FieldProblem | undefined,
): FieldProblem | undefined {
  for (const [index, item] of items.entries()) {
    const at = `[${index}]`;
    const problem = find(item, at);
    if (problem) return { ...problem, at: at + (problem.at ?? '') };
  }
  return undefined;
}
