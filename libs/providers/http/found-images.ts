import type { NamedImage } from './fetch-image.js';
import type { JsonResponse } from './json-response.js';
import { textAt, valueAt } from './json-value.js';

/** Limits of the search through a response. */
const MAX_VALUES = 2_000;
const MAX_DEPTH = 8;

/** Members that contain images, in the shapes of all servers; a request that a response quotes is not searched. */
const CONTAINERS =
  /^(data|images?|outputs?|results?|artifacts|predictions|generated_?images?|choices|message|content|parts|image_?urls?|urls?|inline_?data|files?|assets|items|response|candidates|samples?)$/i;
const BASE64_NAMES =
  /^(b64_?json|b64|base_?64|image_?(base_?64|b64)|(base_?64|b64)_?images?|bytes_?base_?64_?encoded|image_?data|image_?bytes|result|data|image|images|output|outputs|artifacts)$/i;
const URL_NAMES =
  /^(urls?|uri|image_?url?s?|images?|image_?uri|file_?(url|uri)|output_?(url|image)s?|outputs?|results?|data|download_?url|src|href|link|sample|samples|generated_?images?|files?)$/i;
/** The image was generated and then blocked, blurred or painted black. */
const WITHHELD = /filter|safety|nsfw|blocked|moderat/i;

/** One place for an image in a response. */
export interface ImageEntry {
  readonly images: readonly NamedImage[];
  /** Why there is none, if the server says so for each image. */
  readonly error: unknown;
}

/** The entries of OpenAI's `data` list, or of the one entry in its place; null counts as none. */
export function listedEntries(value: unknown, answer: JsonResponse): readonly ImageEntry[] {
  const data = valueAt(value, 'data');
  const entries: readonly unknown[] = Array.isArray(data) ? (data as unknown[]) : [data];
  return entries.filter((entry) => entry !== undefined && entry !== null).map((entry) => entryOf(entry, answer));
}

function entryOf(entry: unknown, answer: JsonResponse): ImageEntry {
  const error = valueAt(entry, 'error') ?? undefined;
  const base64 = textAt(entry, 'b64_json');
  const finish = ['finishReason', 'finish_reason'].map((name) => textAt(entry, name)).find(Boolean);
  if (finish !== undefined && WITHHELD.test(finish)) return { images: [], error: { code: finish } };
  if (base64 !== undefined) return { images: [{ bytes: answer.bytesOf(base64) }], error };
  return { images: imagesIn(entry, answer, 'image'), error };
}

/**
 * The images anywhere in a response, in their order: base64 that decodes to an image, data URIs, and URLs, under the
 * names that servers use for them. `name`: of the member that `body` comes from.
 */
export function imagesIn(body: unknown, answer: JsonResponse, name = ''): readonly NamedImage[] {
  const found: NamedImage[] = [];
  let left = MAX_VALUES;
  function visit(value: unknown, member: string, depth: number): void {
    left -= 1;
    if (left < 0 || depth > MAX_DEPTH) return;
    if (typeof value === 'string') {
      const image = imageOf(value, member, answer);
      if (image !== undefined) found.push(image);
    } else if (Array.isArray(value)) {
      for (const one of value as readonly unknown[]) visit(one, member, depth + 1);
    } else if (typeof value === 'object' && value !== null) visitMembers(value, depth);
  }
  /** An object that has the same image as bytes and as a URL is one image. */
  function visitMembers(value: object, depth: number): void {
    const members = Object.entries(value);
    const finish = members.find(([member]) => /^finish_?reason$/i.test(member))?.[1] as unknown;
    if (typeof finish === 'string' && WITHHELD.test(finish)) return;
    // A draft that a model drew while it was thinking.
    if ('thought' in value && value.thought === true) return;
    const texts = members.filter((member): member is [string, string] => typeof member[1] === 'string');
    const own = texts
      .map(([member, text]) => imageOf(text, member, answer))
      .sort((one, other) => Number(one?.bytes === undefined) - Number(other?.bytes === undefined))
      .find((image) => image !== undefined);
    if (own !== undefined) found.push(own);
    else for (const [member, one] of members) if (CONTAINERS.test(member)) visit(one, member, depth + 1);
  }
  visit(body, name, 0);
  return found;
}

function imageOf(text: string, name: string, answer: JsonResponse): NamedImage | undefined {
  const trimmed = text.slice(0, 200).trimStart();
  if (/^data:image\//i.test(trimmed)) return { bytes: answer.bytesOf(text.trim()) };
  if (/^(https?:)?\/\//i.test(trimmed)) return URL_NAMES.test(name) ? { url: text } : undefined;
  if (!BASE64_NAMES.test(name) && !URL_NAMES.test(name)) return undefined;
  const isText = !answer.isLong(text);
  // A path on the server itself.
  if (isText && /^\/[\w.~%/-]+\.(png|jpe?g|webp|gif|avif)\b/i.test(trimmed)) return { url: text };
  if (isText && (text.length < 40 || !/^[\w+/=\s-]+$/.test(trimmed))) return undefined;
  const bytes = answer.bytesOf(text);
  return isImage(bytes) ? { bytes } : undefined;
}

/** How images of all common formats begin; whether they can be used is decided where they are decoded. */
const IMAGE_HEAD = /^(?:\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a|RIFF[^]{4}WEBP|[^]{4}ftyp(?:avi[fs]|hei[cx]|mif1))/;

/** Whether bytes begin like an image of any common format. */
export function isImage(head: Buffer): boolean {
  return IMAGE_HEAD.test(head.toString('latin1', 0, 16));
}
