import sharp from 'sharp';
import { noisePng } from '../noise-png.mjs';
import { NUMBER } from '../requests.mjs';
import { requestText } from '../socket-caller.mjs';

const PROMPT = `A lighthouse at dawn, soft pink clouds over a quiet sea, painted in watercolor, ${NUMBER}`;
const MESSAGES = [
  { role: 'system', content: 'You are a patient teacher of photography.' },
  { role: 'user', content: 'What happens to the paper in the developer bath, and why does the light have to be red?' },
];
/** Number of words in the provider's chat response. */
const WORDS = 20;
/** Noise with this side is a PNG of 5 MB. */
const UPLOAD_SIDE = 1_664;
/** Number of characters from the middle of an image's base64 that every response must contain. */
const SAMPLE = 1_000_000;
const CALL_TIMEOUT_MS = 120_000;

/** The compared calls: the request, and what proves a response right. */
export async function cases() {
  const upload = await noisePng(UPLOAD_SIDE);
  const image = { model: 'gpt-image-2', prompt: PROMPT, size: 'auto' };
  const chat = { model: 'gpt-5.5', messages: MESSAGES };
  return [
    { kind: 'inline', title: 'image, base64', path: '/v1/images/generations', body: image },
    // Models that return only base64 have no links at OpenAI, and so not at every peer.
    {
      kind: 'link',
      title: 'image, link',
      path: '/v1/images/generations',
      body: { model: 'dall-e-3', prompt: PROMPT, size: '1024x1024', response_format: 'url' },
      answer: () => ({ text: '"url":', times: 1 }),
    },
    {
      kind: 'edit',
      title: 'edit, 5 MB upload',
      path: '/v1/images/edits',
      form: { ...image, image: upload },
    },
    {
      kind: 'plain',
      title: 'chat, plain',
      path: '/v1/chat/completions',
      body: chat,
      answer: () => ({ text: 'word '.repeat(WORDS), times: 1 }),
    },
    {
      kind: 'streamed',
      title: 'chat, streamed',
      path: '/v1/chat/completions',
      body: { ...chat, stream: true },
      answer: () => ({ text: 'word ', times: WORDS }),
    },
  ];
}

export function requestOf({ path, body, form }, { key, headers }) {
  return requestText({ method: 'POST', path, apiKey: key, headers, body, form });
}

/**
 * Makes one call and checks the whole response: images byte by byte, or pixel by pixel if the bytes differ. Returns
 * what later responses must contain, and `kept`: `bytes`, `pixels`, or undefined for a chat. Throws on a wrong
 * response.
 */
export async function checkAnswer(call, side, provider) {
  const { kind, path, answer } = call;
  const response = await fetch(`http://127.0.0.1:${side.port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${side.key}`, ...side.headers, ...contentOf(call).headers },
    body: contentOf(call).body,
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text.slice(0, 200)}`);
  if (kind === 'plain' || kind === 'streamed') return { answer: answer() };
  const [{ b64_json: inline, url }] = JSON.parse(text).data;
  const got = kind === 'link' ? await bytesAt(url) : Buffer.from(inline, 'base64');
  const kept = await sameImage(got, await bytesAt(`${provider.address}/image.png`));
  const from = Math.floor((inline?.length ?? 0) / 3);
  return { kept, answer: answer?.() ?? { text: inline.slice(from, from + SAMPLE), times: 1 } };
}

function contentOf({ body, form }) {
  if (form === undefined) return { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const { image, ...fields } = form;
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  data.append('image', new Blob([image], { type: 'image/png' }), 'image.png');
  return { body: data, headers: {} };
}

async function bytesAt(url) {
  const response = await fetch(url, { signal: AbortSignal.timeout(CALL_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`the link answers ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

/** `bytes`: nothing was changed; `pixels`: only the metadata. Throws when the pixels differ. */
export async function sameImage(got, sent) {
  if (got.equals(sent)) return 'bytes';
  const [ours, theirs] = await Promise.all([got, sent].map((image) => sharp(image).raw().toBuffer()));
  if (!ours.equals(theirs)) throw new Error('the image is another one');
  return 'pixels';
}
