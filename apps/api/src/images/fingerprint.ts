import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { LongText, piecesOf } from '#contract/long-text.js';
import type { RequestMark } from '#tasks/intake/task-intake.js';
import type { EditForm } from './edit-form.js';

/** Characters of a text that are hashed at a time. */
const STEP = 262_144;
/** Characters after which other requests get a turn. */
const TURN = 16 * STEP;

/**
 * SHA-256 of what a request orders. Path aliases count as one, and the kind of response does not count: a sync call
 * repeated at `/async` orders the same image. Neither does the order of keys. Clients that do not count their retries
 * have separate fingerprints, because their deliveries are not marked.
 */
export async function fingerprintOf(
  action: 'generations' | 'edits',
  body: unknown,
  mark: RequestMark,
): Promise<Buffer> {
  const isUncounted = mark.kind === 'attempt' && !mark.counted;
  const hash = createHash('sha256').update(`POST /v1/images/${action}\n${isUncounted ? 'not counted\n' : ''}`);
  let turn = 0;
  for (const piece of canonicalPieces(body)) {
    hash.update(piece);
    turn += piece.length;
    if (turn < TURN) continue;
    turn = 0;
    await setImmediate();
  }
  return hash.digest();
}

/** The order in a form, independent of its boundary and the order and names of its parts; `digests`: by object key. */
export function formBody(form: EditForm, digests: ReadonlyMap<string, string>): unknown {
  const [images, masks] = [form.images, form.mask === null ? [] : [form.mask]].map((inputs) =>
    inputs.map((input) => (input.kind === 'object' ? digests.get(input.key) : input.url)),
  );
  return { form: form.texts, images, masks };
}

/** JSON with sorted keys. Long texts are split, so that images are not copied. */
function* canonicalPieces(value: unknown): Generator<string> {
  if (value === '') {
    yield '""';
  } else if (typeof value === 'string' || value instanceof LongText) {
    for (const piece of piecesOf(value, STEP)) yield JSON.stringify(piece);
  } else if (Array.isArray(value)) {
    yield '[';
    for (const item of value) {
      yield* canonicalPieces(item);
      yield ',';
    }
    yield ']';
  } else if (typeof value === 'object' && value !== null) {
    yield '{';
    for (const [name, item] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) {
      yield `${JSON.stringify(name)}:`;
      yield* canonicalPieces(item);
      yield ',';
    }
    yield '}';
  } else {
    yield String(value);
  }
}
