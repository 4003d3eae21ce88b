import { json, startUpstream, text, type Script, type UpstreamCall } from './scripted-upstream.js';

export const LIBRARY_VENDORS = ['fal', 'google'] as const;
export type LibraryVendorType = (typeof LIBRARY_VENDORS)[number];

/** A vendor's documented requests and responses. */
interface LibraryShapes {
  readonly model: string;
  /** The header of the key. */
  readonly key: { readonly header: string; readonly value: (secret: string) => string };
  readonly path: string;
  readonly finished: (image: { readonly url: string; readonly base64: string }) => Script;
  readonly withoutImage: () => Script;
  /** Rejected before the generation, with this status. */
  readonly refused: (status: number, word: string, headers?: Record<string, string>) => Script;
  /** The request is blocked by moderation. */
  readonly moderated: () => Script;
  /** The finished image is blocked by moderation. */
  readonly keptBack: (image: { readonly url: string }) => Script;
}

const gemini = (candidate: object, more: object = {}): Script =>
  json({
    candidates: [{ index: 0, ...candidate }],
    usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 1_290, totalTokenCount: 1_302 },
    modelVersion: 'gemini-2.5-flash-image',
    responseId: 'r1',
    ...more,
  });

const LIBRARY_SHAPES: Readonly<Record<LibraryVendorType, LibraryShapes>> = {
  fal: {
    model: 'fal-ai/flux/dev',
    path: '/v1/fal-ai/flux/dev',
    key: { header: 'authorization', value: (secret) => `Key ${secret}` },
    finished: ({ url }) =>
      json({
        images: [{ url, width: 1536, height: 864, content_type: 'image/png' }],
        timings: { inference: 1.9 },
        seed: 7,
        has_nsfw_concepts: [false],
        prompt: '',
      }),
    withoutImage: () => json({ images: [], seed: 7, prompt: '' }),
    refused: (status, word, headers) =>
      json({ detail: [{ loc: ['body'], msg: 'No.', type: word, url: 'https://docs.fal.ai/errors' }] }, status, headers),
    moderated: () => json({ detail: [{ loc: ['body', 'prompt'], msg: 'No.', type: 'content_policy_violation' }] }, 422),
    keptBack: ({ url }) => json({ images: [{ url }], has_nsfw_concepts: [true], prompt: '' }),
  },
  google: {
    model: 'gemini-2.5-flash-image',
    path: '/v1/models/gemini-2.5-flash-image:generateContent',
    key: { header: 'x-goog-api-key', value: (secret) => secret },
    finished: ({ base64 }) =>
      gemini({
        content: { role: 'model', parts: [{ inlineData: { mimeType: 'image/png', data: base64 } }] },
        finishReason: 'STOP',
      }),
    withoutImage: () => gemini({ content: { role: 'model', parts: [{ text: 'No.' }] }, finishReason: 'STOP' }),
    refused: (status, word, headers) =>
      json({ error: { code: status, message: 'No.', status: word.toUpperCase() } }, status, headers),
    moderated: () => json({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, responseId: 'r2' }),
    keptBack: () => gemini({ content: {}, finishReason: 'IMAGE_SAFETY' }),
  },
};

export interface LibraryServer {
  /** With /v1, like a configured base URL. */
  readonly url: string;
  readonly shapes: LibraryShapes;
  readonly calls: readonly UpstreamCall[];
  /** URL of fal's images. */
  readonly imageUrl: string;
  /** Responses from now on; what is left out succeeds. */
  plan(plan?: { order?: Script; file?: Script }): void;
  close(): Promise<void>;
}

/** A vendor that checks the key, and responds when the image is finished. */
export async function startLibraryVendor(type: LibraryVendorType, key: string, png: Buffer): Promise<LibraryServer> {
  const upstream = await startUpstream();
  const shapes = LIBRARY_SHAPES[type];
  const imageUrl = upstream.url.replace('/v1', '/files/1.png');
  let order: Script | undefined;
  let file: Script | undefined;
  function answerOf({ method, path, headers }: UpstreamCall): Script {
    if (method === 'GET') return path === '/files/1.png' ? (file ?? text(png, 'image/png')) : json({}, 404);
    if (headers[shapes.key.header] !== shapes.key.value(key)) return shapes.refused(401, 'unauthenticated');
    return order ?? shapes.finished({ url: imageUrl, base64: png.toString('base64') });
  }
  upstream.script((call, response) => answerOf(call)(call, response));
  return {
    ...upstream,
    shapes,
    imageUrl,
    plan: (plan = {}) => {
      ({ order, file } = plan);
    },
  };
}
