import sharp from 'sharp';
import type {
  ProviderCallContext,
  ProviderImageRequest,
  ProviderImageResult,
  ProviderInputImage,
  ProviderPending,
} from '../image-provider.js';

/** A request as the worker makes it. */
export function requestOf(changes: Partial<ProviderImageRequest> = {}): ProviderImageRequest {
  return {
    action: 'generation',
    model: 'gpt-image-2',
    prompt: 'a lighthouse at night',
    n: 1,
    width: 320,
    height: 192,
    images: [],
    mask: undefined,
    quality: undefined,
    background: undefined,
    moderation: undefined,
    inputFidelity: undefined,
    outputFormat: 'png',
    outputCompression: undefined,
    user: undefined,
    partialImages: 0,
    ...changes,
  };
}

/** A call of a first start that nothing disturbs. */
export function contextOf(changes: Partial<ProviderCallContext> = {}): ProviderCallContext {
  return {
    signal: new AbortController().signal,
    idempotencyKey: 'task_1',
    startNumber: 1,
    waitedMs: 0,
    resumeJobId: undefined,
    onAccepted: () => Promise.resolve(),
    onProgress: () => undefined,
    onPartial: () => undefined,
    ...changes,
  };
}

/** The answer, which is an image. */
export function resultOf(answer: ProviderImageResult | ProviderPending): ProviderImageResult {
  if ('pending' in answer) throw new Error('the provider is still at work');
  return answer;
}

/** All bytes of an answer's first image. */
export function bytesOf(answer: ProviderImageResult | ProviderPending): Buffer {
  const [first] = resultOf(answer).images;
  if (first === undefined) throw new Error('a response without an image');
  return first;
}

/** An encoded image as a provider gets it. */
export async function inputOf(bytes: Buffer): Promise<ProviderInputImage> {
  const { width, height, format } = await sharp(bytes).metadata();
  return { bytes, contentType: `image/${format as 'png'}`, width, height };
}
