import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { LongText, piecesOf } from '#contract/long-text.js';
import type { RequestMark } from '#tasks/task-intake.js';
import type { EditForm } from './edit-form.js';

/** Characters of a text hashed at a time. */
const STEP = 262_144;
/** Characters after which others get their turn. */
const TURN = 16 * STEP;

/**
 * SHA-256 of what a request asks for. All aliases of a path count as one, and how the call is answered does not count: a
 * sync call that is repeated at `/async` asks for the same image. Neither does the order of keys. Clients that do not count
 * their tries have fingerprints of their own, since their deliveries are not marked.
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

/** What a form asks for, whatever its boundary and the order and names of its parts; `digests` by object key. */
export function formBody(form: EditForm, digests: ReadonlyMap<string, string>): unknown {
  const [images, masks] = [form.images, form.mask === null ? [] : [form.mask]].map((inputs) =>
    inputs.map((input) => (input.kind === 'object' ? digests.get(input.key) : input.url)),
  );
  return { form: form.texts, images, masks };
}

/** JSON with sorted keys; long texts in pieces, so that no second copy of an image is made. */
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
