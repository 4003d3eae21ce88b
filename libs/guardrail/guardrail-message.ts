import { Readable } from 'node:stream';
import { LongText, piecesOf, type Text } from '#contract/long-text.js';

/** Characters of a data URI that are written at a time. */
const STEP = 65_536;

/**
 * An image to check: one that the guardrail may download, a data URI in the body of a request, or bytes that are read
 * while they are sent.
 */
export type GuardrailImage =
  { readonly url: Text } | { readonly bytes: number; readonly open: () => Promise<AsyncIterable<Uint8Array>> };

/** What the guardrail is asked about. */
export interface GuardrailInput {
  /** Id of the task, or of the request of a chat. */
  readonly callId: string;
  readonly texts: readonly string[];
  readonly images: readonly GuardrailImage[];
  readonly model: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly personId?: string | undefined;
  readonly endUser?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

/** A JSON text whose images are read while it is sent. */
export interface GuardrailMessage {
  readonly body: Readable;
  /** Exact length in bytes; undefined if only writing it shows that. */
  readonly length: number | undefined;
}

/** The request of LiteLLM's generic guardrail API. Images of the store are base64 without a prefix. */
export function guardrailMessage(input: GuardrailInput): GuardrailMessage {
  const { texts, images, callId, model, tags } = input;
  const fields = {
    input_type: 'request',
    litellm_call_id: callId,
    texts,
    request_data: {
      user_api_key_hash: input.keyId,
      user_api_key_user_id: input.personId,
      user_api_key_team_id: input.accountId,
      user_api_key_end_user_id: input.endUser,
    },
    additional_provider_specific_params: { model, tags },
  };
  const parts: (Buffer | GuardrailImage)[] = [Buffer.from(JSON.stringify(fields).slice(0, -1))];
  for (const [index, image] of images.entries()) {
    parts.push(Buffer.from(index === 0 ? ',"images":[' : ','));
    parts.push(Buffer.from('"'), image, Buffer.from('"'));
  }
  parts.push(Buffer.from(images.length === 0 ? '}' : ']}'));
  const lengths = parts.map(lengthOf);
  const length = lengths.includes(undefined) ? undefined : lengths.reduce<number>((sum, one = 0) => sum + one, 0);
  return { body: Readable.from(written(parts), { objectMode: false, highWaterMark: 1 }), length };
}

function lengthOf(part: Buffer | GuardrailImage): number | undefined {
  if (Buffer.isBuffer(part)) return part.length;
  if ('bytes' in part) return 4 * Math.ceil(part.bytes / 3);
  if (part.url instanceof LongText) return part.url.isPlain ? part.url.length : undefined;
  return Buffer.byteLength(quoted(part.url));
}

/** As in a JSON text, without the quotes. */
function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

async function* written(parts: readonly (Buffer | GuardrailImage)[]): AsyncGenerator<Buffer> {
  for (const part of parts) {
    if (Buffer.isBuffer(part)) yield part;
    else if ('open' in part) yield* inBase64(await part.open());
    else for (const piece of piecesOf(part.url, STEP)) yield Buffer.from(quoted(piece));
  }
}

/** Encodes whole groups of three bytes, so that no padding appears in between. */
async function* inBase64(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const chunk of bytes) {
    const all = Buffer.concat([rest, chunk]);
    const whole = all.length - (all.length % 3);
    rest = all.subarray(whole);
    if (whole > 0) yield Buffer.from(all.toString('base64', 0, whole), 'latin1');
  }
  if (rest.length > 0) yield Buffer.from(rest.toString('base64'), 'latin1');
}
