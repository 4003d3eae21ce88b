import { createHash, type Hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { LongText, piecesOf, type Text } from '#contract/long-text.js';
import type { RequestMark } from '#tasks/intake/request-identity.js';
import type { TaskCommand } from '#tasks/row/task.js';
import type { EditForm } from './edit-form.js';

/** Characters of a text that are hashed before other requests get a turn; with escapes, up to 1.5 MB are read for them. */
const STEP = 262_144;

/** What a request says beside its body. */
interface FingerprintTraits {
  /** The region that it is pinned to. */
  readonly region?: string | undefined;
  readonly endUser?: string | undefined;
  readonly headerTags?: readonly string[] | undefined;
}

/**
 * SHA-256 of what a request orders. Path aliases count as one, and the kind of response does not count: a sync call
 * repeated at `/async` orders the same image. Neither does the order of keys. Clients that do not count their retries
 * have separate fingerprints, because their deliveries are not marked. Nor do two end users repeat each other's requests.
 */
export async function fingerprintOf(
  action: TaskCommand['action'],
  body: unknown,
  mark: RequestMark,
  { region, endUser, headerTags }: FingerprintTraits = {},
): Promise<Buffer> {
  const isUncounted = mark.kind === 'unkeyed' && !mark.counted;
  const hash = createHash('sha256').update(`POST /v1/images/${action}s\n${isUncounted ? 'not counted\n' : ''}`);
  if (region !== undefined) hash.update(`region ${region}\n`);
  if (endUser !== undefined) hash.update(`end user ${endUser}\n`);
  if (headerTags !== undefined) hash.update(`tags ${headerTags.join(',')}\n`);
  for (const part of canonicalParts(body)) {
    if (typeof part === 'string') hash.update(part);
    else await addLong(hash, part.long);
  }
  return hash.digest();
}

/** The order in a form, independent of its boundary and the order and names of its parts. */
export function formBody({ texts, digests }: EditForm): unknown {
  return { form: texts, ...digests };
}

/** Adds a long text, as JSON texts of so many characters each. Those of base64 are its bytes, which need no conversion. */
async function addLong(hash: Hash, text: Text): Promise<void> {
  const isPlain = text instanceof LongText && text.isPlain;
  for (const piece of isPlain ? text.plainPieces(STEP) : piecesOf(text, STEP)) {
    if (typeof piece === 'string') hash.update(JSON.stringify(piece));
    else hash.update('"').update(piece).update('"');
    await setImmediate();
  }
}

/**
 * JSON with sorted keys, in a few strings. Long texts are apart, so that images are not copied. A generator that calls
 * itself would cost each value as much as it is deep.
 */
function canonicalParts(body: unknown): (string | { readonly long: Text })[] {
  const parts: (string | { readonly long: Text })[] = [];
  let text = '';
  const add = (value: unknown): void => {
    if (value instanceof LongText || (typeof value === 'string' && value.length > STEP)) {
      parts.push(text, { long: value });
      text = '';
    } else if (typeof value === 'string') {
      text += JSON.stringify(value);
    } else if (Array.isArray(value)) {
      text += '[';
      for (const item of value) {
        add(item);
        text += ',';
      }
      text += ']';
    } else if (typeof value === 'object' && value !== null) {
      text += '{';
      for (const [name, item] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) {
        text += `${JSON.stringify(name)}:`;
        add(item);
        text += ',';
      }
      text += '}';
    } else {
      text += String(value);
    }
  };
  add(body);
  return [...parts, text];
}
