import { rename, writeFile } from 'node:fs/promises';

const PROMPT = 'A lighthouse at dawn, soft pink clouds over a quiet sea';
const TIMEOUT_MS = 120_000;

interface PictureOptions {
  /** Address of the API. */
  readonly url: string;
  readonly apiKey: string;
  readonly file: string;
  readonly signal: AbortSignal;
}

/**
 * Orders one picture as any client would and saves it.
 * Returns the milliseconds from the order to the saved file, and the pixels. Throws with the API's own sentence.
 */
export async function makeFirstPicture(options: PictureOptions): Promise<{ durationMs: number; size: string }> {
  const since = performance.now();
  const response = await fetch(`${options.url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${options.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-image-2', prompt: PROMPT, response_format: 'b64_json' }),
    signal: AbortSignal.any([options.signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  const answer = (await response.json()) as Answer;
  const base64 = answer.data?.[0]?.b64_json;
  if (!response.ok || base64 === undefined)
    throw new Error(answer.error?.message ?? `the API answered with status ${response.status}`);
  await writeFile(`${options.file}.new`, base64, { encoding: 'base64', mode: 0o600 });
  await rename(`${options.file}.new`, options.file);
  return { durationMs: performance.now() - since, size: answer.size ?? '' };
}

interface Answer {
  readonly data?: readonly { readonly b64_json?: string }[];
  readonly size?: string;
  readonly error?: { readonly message?: string };
}
