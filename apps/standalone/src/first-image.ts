import { rename, writeFile } from 'node:fs/promises';
import { timeLimit } from '#egress/time-limit.js';
import type { StandaloneConfig } from './standalone.config.js';

const PROMPT = 'A lighthouse at dawn, soft pink clouds over a quiet sea';
const TIMEOUT_MS = 120_000;
/** What a call without a size gets. */
const EDGE = 2048;

/** The first image, and where it goes. */
export interface FirstImageOrder {
  /** Address of the API. */
  readonly url: string;
  readonly file: string;
  readonly signal: AbortSignal;
}

/** Milliseconds until the file was there, and its pixels. */
export interface MadeImage {
  readonly durationMs: number;
  readonly size: string;
}

/**
 * Whether an order can reach nobody but the sandbox: no vendor is set, and no worker of elsewhere, with vendors of its own,
 * shares the queue.
 */
export function isFree(
  { modelsFile, redisUrl }: StandaloneConfig,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  return modelsFile === undefined && redisUrl === undefined && (env['OPENAI_API_KEY'] ?? '').trim() === '';
}

/** Orders one image as any client would and saves it. Throws with the API's own sentence. */
export async function orderFirstImage({ url, file, signal }: FirstImageOrder, apiKey: string): Promise<MadeImage> {
  const since = performance.now();
  const response = await fetch(`${url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-image-2', prompt: PROMPT, response_format: 'b64_json' }),
    signal: timeLimit(TIMEOUT_MS, signal),
  });
  const answer = (await response.json()) as Answer;
  const base64 = answer.data?.[0]?.b64_json;
  if (!response.ok || base64 === undefined)
    throw new Error(answer.error?.message ?? `the API answered with status ${response.status}`);
  await save(file, Buffer.from(base64, 'base64'));
  return { durationMs: performance.now() - since, size: answer.size ?? '' };
}

/** Has the same image drawn in this process, past the queue and every vendor. */
export async function drawFirstImage({ file, signal }: FirstImageOrder): Promise<MadeImage> {
  const since = performance.now();
  const { drawImage } = await import('#providers/sandbox/draw-image.js');
  const nothing = { images: [], mask: undefined, quality: undefined, background: undefined, moderation: undefined };
  const wanted = { inputFidelity: undefined, outputFormat: 'png', outputCompression: undefined } as const;
  const { bytes } = await drawImage(
    {
      ...{ action: 'generation', model: 'gpt-image-2', prompt: PROMPT, width: EDGE, height: EDGE },
      ...{ ...nothing, ...wanted, n: 1, user: undefined, partialImages: 0 },
    },
    PROMPT,
    timeLimit(TIMEOUT_MS, signal),
  );
  await save(file, bytes);
  return { durationMs: performance.now() - since, size: `${EDGE}x${EDGE}` };
}

async function save(file: string, bytes: Buffer): Promise<void> {
  await writeFile(`${file}.new`, bytes, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

interface Answer {
  readonly data?: readonly { readonly b64_json?: string }[];
  readonly size?: string;
  readonly error?: { readonly message?: string };
}
