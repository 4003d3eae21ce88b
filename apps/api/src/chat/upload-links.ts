import { AppError } from '#contract/app-error.js';
import type { LinkSigner } from '#storage/signed-link.js';
import type { ScannedBody } from '../common/fastify/json-body.js';

/** Part of every upload's ID, which JSON never escapes. */
const MARK = 'upload_';
/** Occurrences that are looked at; a chat with more of them is no real one. */
const MAX_FOUND = 1_000;
/** Bytes of the longest text that can be a link. */
const MAX_LINK = 2_048;
/** The name of the member before a value. */
const MEMBER = /"([^"\\]{1,64})"\s*:\s*$/;
/** Members whose links are only words of a text. */
const TEXTS = ['content', 'text', 'arguments', 'input', 'output'];

/**
 * Refuses a chat that sends a text model one of this service's own upload links as an image: uploads are not served, so
 * that its provider would get a 404 for it. `input` names the member with what is said. Throws AppError `invalid_image_url`.
 */
export function assertNoUploadLinks({ bytes, scan }: ScannedBody, input: string, signer: LinkSigner): void {
  let at = bytes.indexOf(MARK);
  for (let found = 0; at !== -1 && found < MAX_FOUND; found++) {
    const address = textAround(bytes, at);
    if (address !== undefined && signer.uploadNamedBy(address) !== undefined) {
      const first = scan.itemCount - scan.items.length;
      const count = scan.items.findIndex(({ end }) => end > at);
      const param = count === -1 ? input : `${input}[${first + count}]`;
      const what = `${param} has the link of an upload, which only image requests can use`;
      throw new AppError('invalid_image_url', `${what}: send the image as a data URI.`, { param });
    }
    at = bytes.indexOf(MARK, at + MARK.length);
  }
}

/** The whole value that a position is in; undefined if it is too long for a link, or a text for people. */
function textAround(bytes: Buffer, at: number): string | undefined {
  const start = bytes.subarray(Math.max(0, at - MAX_LINK), at).lastIndexOf('"');
  const length = bytes.subarray(at, at + MAX_LINK).indexOf('"');
  if (start === -1 || length === -1) return undefined;
  const opening = Math.max(0, at - MAX_LINK) + start;
  const name = MEMBER.exec(bytes.toString('latin1', Math.max(0, opening - 128), opening))?.[1];
  if (name !== undefined && TEXTS.includes(name)) return undefined;
  try {
    return (JSON.parse(bytes.toString('utf8', opening, at + length + 1)) as string).trim();
  } catch {
    return undefined;
  }
}
