import { AppError } from './app-error.js';
import { carriesImage, imageIn, plainWord } from './image-shapes.js';
import { isImageSize } from './pixel-table.js';
import { shownNames } from './request-fields.js';

/** Names of other APIs for the number of images. */
const COUNTS = ['numimages', 'numberofimages', 'numoutputs', 'imagecount', 'batchsize', 'samples'];
const REFERENCES = /^(?:input|reference|ref)?images?(?:urls?|uris?|b64|b64json|base64)?$/;
const MASKS = /^(?:image|input)?masks?(?:image)?(?:urls?|uris?|b64|b64json|base64)?$/;
/** Further weights and control images: without them, the image would be another one. */
const REFUSED = /^(?:loras?|loraweights|loramodels?|controlnets?|ipadapters?|embeddings)$/;
/** Not taken in another spelling: `prompt` is required, so its absence is reported, and `Strict` is refused by name. */
const EXACT = ['prompt', 'strict'];

type Body = Record<string, unknown>;
type Entry = readonly [name: string, value: unknown];

/**
 * What the sender calls places of a request that are named otherwise here: `image_size` for `size`, `image[2]` for
 * `image_urls[2]`. Several names say one thing together, such as `width` and `height`.
 */
export type SentNames = ReadonlyMap<string, readonly string[]>;

/** A body in our names, and what its sender called them. */
interface OwnNames {
  readonly body: unknown;
  readonly sentAs: SentNames;
}

type Names = Map<string, readonly string[]>;

/**
 * Translates a body's unknown fields that say something we can do: another spelling of a field (`outputFormat`), or
 * another API's name for it (`aspect_ratio`, `num_images`, `width` and `height`, `reference_images`). Beside the field
 * itself they stay unknown. Hints such as `seed` stay unknown too, and the caller learns that they are ignored. Throws
 * AppError for an image in a field that is none of `known`, because the purchased image would be another one without it.
 */
export function inOwnNames(known: readonly string[], body: unknown): OwnNames {
  const sentAs: Names = new Map();
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return { body, sentAs };
  const given = Object.entries(body).filter(([, value]) => value !== null && value !== undefined);
  // Has no prototype, so that `__proto__` is an ordinary name.
  const own = Object.create(null) as Body;
  for (const [name, value] of given) if (known.includes(name)) own[name] = value;
  const sizes: Entry[] = [];
  const unknown: Entry[] = [];
  for (const entry of given) {
    if (known.includes(entry[0]) || translate(entry, known, own, sentAs)) continue;
    (isSize(entry[0]) ? sizes : unknown).push(entry);
  }
  const unused = takeSizes(sizes, own, sentAs);
  const left = new Set([...unknown, ...unused].map(([name]) => name));
  for (const [name, value] of given) if (left.has(name)) own[name] = value;
  return { body: own, sentAs };
}

/** The sender's name of a place: the name of the part of it that has one, and the rest of the place. */
export function sentPlace(place: string, sentAs: SentNames): string {
  const own = namedPart(place, sentAs);
  return own === undefined ? place : shown(sentAs.get(own)?.[0] ?? '') + place.slice(own.length);
}

/** The same error, about what the sender calls the field. */
export function asSent(error: unknown, sentAs: SentNames): unknown {
  if (!(error instanceof AppError) || error.param === undefined) return error;
  const own = namedPart(error.param, sentAs);
  if (own === undefined) return error;
  const names = sentAs.get(own) ?? [];
  const speaksOfIt = names.length === 1 && error.message.startsWith(own);
  const text = speaksOfIt ? shown(names[0] ?? '') + error.message.slice(own.length) : error.message;
  return error.about(sentPlace(error.param, sentAs), text);
}

/** The longest part, from the beginning of a place, that has another name. */
function namedPart(place: string, sentAs: SentNames): string | undefined {
  const ends = [place.length, ...[...place.matchAll(/[.[]/g)].map(({ index }) => index).reverse()];
  return ends.map((end) => place.slice(0, end)).find((part) => sentAs.has(part));
}

/** Whether the entry was understood. */
function translate([name, value]: Entry, known: readonly string[], own: Body, sentAs: Names): boolean {
  const word = plainWord(name);
  const field = known.find((one) => plainWord(one) === word && !EXACT.includes(one));
  if (field !== undefined && isFree(own, field)) {
    own[field] = value;
    sentAs.set(field, [name]);
    return true;
  }
  if (COUNTS.includes(word)) return takeCount(name, value, own, sentAs);
  if (!isEmpty(value)) {
    const references = ['image_urls', 'images'].find((one) => known.includes(one));
    if (references !== undefined && REFERENCES.test(word) && isFree(own, references)) {
      const isList = Array.isArray(value);
      sentAs.set(references, [name]);
      own[references] = [value].flat().map((item, at) => {
        const place = isList ? `${name}[${at}]` : name;
        const reference = referenceOf(item, place);
        sentAs.set(`${references}[${at}]${references === 'images' ? '.image_url' : ''}`, [place]);
        return references === 'images' ? { image_url: reference } : reference;
      });
      return true;
    }
    if (known.includes('mask') && MASKS.test(word) && isFree(own, 'mask')) {
      own['mask'] = { image_url: referenceOf([value].flat().length === 1 ? [value].flat()[0] : value, name) };
      sentAs.set('mask', [name]).set('mask.image_url', [name]);
      return true;
    }
    if (REFUSED.test(word)) throw refusedOption(name);
    if (carriesImage(name, value)) throw refusedImage(name, known);
  }
  return false;
}

/** Whether a field has no value yet; an empty list is none. */
function isFree(own: Body, field: string): boolean {
  return own[field] === undefined || (Array.isArray(own[field]) && (own[field] as unknown[]).length === 0);
}

function isEmpty(value: unknown): boolean {
  return value === '' || value === false || (typeof value === 'object' && Object.keys(value ?? {}).length === 0);
}

function referenceOf(value: unknown, name: string): unknown {
  const found = imageIn(value);
  const param = shown(name);
  if (found === undefined) {
    throw new AppError('invalid_type', `${param} must be an image's URL or data URI`, { param });
  }
  if ('reference' in found) return found.reference;
  const at = param + (found.problem.at ?? '');
  throw new AppError(found.problem.code, `${at}: ${found.problem.message}`, { param: at });
}

function takeCount(name: string, value: unknown, own: Body, sentAs: Names): boolean {
  const count = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  if (own['n'] !== undefined) return own['n'] === count;
  own['n'] = count;
  sentAs.set('n', [name]);
  return true;
}

const SIZES = ['width', 'height', 'imagesize', 'aspectratio'];

function isSize(name: string): boolean {
  return SIZES.includes(plainWord(name));
}

/** Returns those that say something else than what is already said. */
function takeSizes(entries: readonly Entry[], own: Body, sentAs: Names): Entry[] {
  const find = (word: string): Entry | undefined => entries.find(([name]) => plainWord(name) === word);
  const [width, height, size, ratio] = SIZES.map(find);
  if ((width === undefined) !== (height === undefined) && own['size'] === undefined) {
    const name = shown((width ?? height)?.[0] ?? '');
    throw new AppError('unsupported_parameter', `${name} alone says no size: send size, or width and height`, {
      param: name,
    });
  }
  const said: (readonly [field: 'size' | 'resolution', value: unknown, from: readonly Entry[]])[] = [];
  if (width !== undefined && height !== undefined) {
    said.push(['size', pixelsOf(width[1], height[1]), [width, height]]);
  }
  if (size !== undefined) {
    const [field, value] = sizeOf(size[1]);
    said.push([field, value, [size]]);
  }
  if (ratio !== undefined) said.push(['size', ratio[1], [ratio]]);
  return said.flatMap(([field, value, from]) => {
    if (own[field] === undefined) {
      own[field] = value;
      sentAs.set(
        field,
        from.map(([name]) => name),
      );
    }
    return own[field] === value ? [] : from;
  });
}

function pixelsOf(width: unknown, height: unknown): unknown {
  const isText = [width, height].every((edge) => typeof edge === 'number' || typeof edge === 'string');
  return isText ? `${String(width)}x${String(height)}` : [width, height];
}

/** `image_size` is a tier for OpenRouter, pixels for SiliconFlow, and an object for fal. */
function sizeOf(value: unknown): readonly ['size' | 'resolution', unknown] {
  if (typeof value === 'object' && value !== null && 'width' in value && 'height' in value) {
    return ['size', pixelsOf(value.width, value.height)];
  }
  if (typeof value !== 'string' || isImageSize(value)) return ['size', value];
  return /^[\d.]*k$/i.test(value) ? ['resolution', value] : ['size', value.replace(/^(\d+)[X*×](\d+)$/, '$1x$2')];
}

function shown(name: string): string {
  return shownNames([name])[0] ?? '';
}

function refusedOption(name: string): AppError {
  const param = shown(name);
  return new AppError('unsupported_parameter', `${param} is not supported, and ignoring it would change the image.`, {
    param,
  });
}

function refusedImage(name: string, known: readonly string[]): AppError {
  const param = shown(name);
  const where = known.includes('image_urls')
    ? 'Send reference images in image_urls, and a mask to /v1/images/edits.'
    : 'Send the images of an edit in images (JSON) or image (form), and the mask in mask.';
  return new AppError('unsupported_parameter', `${param} carries an image that would be left out. ${where}`, { param });
}
