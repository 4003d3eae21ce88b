import sharp from 'sharp';
import type {
  ImageProvider,
  ProviderCallContext,
  ProviderImageRequest,
  ProviderImageResult,
} from '#providers/image-provider.js';
import { ProviderError } from '#providers/provider-error.js';
import { bytesOf, contextOf, requestOf } from '#providers/sandbox/sandbox-calls.fixture.js';

/** A request with a size that every adapter accepts. */
export function orderOf(changes: Partial<ProviderImageRequest> = {}): ProviderImageRequest {
  return requestOf({ width: 1536, height: 864, ...changes });
}

/** Far more polls than any vendor of the tests needs. */
const MAX_LOOKS = 50;

/** Calls the provider, and polls its job as long as it is still working, like the worker. */
export async function drive(
  provider: ImageProvider,
  order: ProviderImageRequest,
  context: ProviderCallContext,
): Promise<ProviderImageResult> {
  let { resumeJobId, waitedMs } = context;
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    const answer = await provider.generate(order, {
      ...context,
      resumeJobId,
      waitedMs,
      onAccepted: async (jobId) => {
        resumeJobId = jobId;
        await context.onAccepted(jobId);
      },
    });
    if (!('pending' in answer)) return answer;
    if (resumeJobId === undefined) throw new Error('the provider is still working, and named no job');
    waitedMs += answer.pending.checkAfterMs;
  }
  throw new Error(`no image after ${MAX_LOOKS} looks`);
}

/** The error of a call; fails the test when the call returns an image. */
export async function failureOf(call: Promise<unknown>): Promise<ProviderError> {
  const thrown: unknown = await call.then(
    () => new Error('the call brought an image'),
    (error: unknown) => error,
  );
  if (!(thrown instanceof ProviderError)) throw thrown;
  return thrown;
}

/** A plain image; also used as an input. */
export async function plainImage(width: number, height: number, color = '#406080'): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 4, background: color } })
    .png()
    .toBuffer();
}

export type Behavior = 'image' | 'moderation' | 'rate-limit' | 'failure' | 'no-image' | 'hang';

/** Error code, whether another start may follow, and whether it was charged. */
type Fate = readonly [string, boolean, 'no' | 'maybe' | 'yes'];

const FATES: Partial<Record<Behavior, Fate>> = {
  moderation: ['moderation_blocked', false, 'no'],
  'rate-limit': ['upstream_error', true, 'no'],
  failure: ['upstream_error', true, 'no'],
  'no-image': ['upstream_invalid_response', true, 'no'],
};

interface Suite {
  readonly provider: () => ImageProvider;
  /** Sets the vendor's behavior for the next calls, and changes the order if the vendor needs that. */
  readonly behave: (behavior: Behavior, order: ProviderImageRequest) => Promise<ProviderImageRequest>;
  /** Resolves when the vendor has received the call; a hanging call is aborted then. */
  readonly begun: () => Promise<void>;
  /** Features that the vendor does not have. */
  readonly lacks?: readonly ('usage' | 'partials' | 'moderation' | 'rate-limit')[];
  /** Warnings that come with every image. */
  readonly notes?: readonly string[];
  /** Where they differ from the usual. */
  readonly fates?: Partial<Record<Behavior, Fate>>;
}

/** The guarantees of every adapter, independent of its vendor's API. */
export function describeImageProvider({ provider, behave, begun, lacks = [], notes = [], fates = {} }: Suite): void {
  const generate = async (behavior: Behavior, changes: Partial<ProviderImageRequest> = {}, context = contextOf()) => {
    const order = await behave(behavior, orderOf(changes));
    return drive(provider(), order, context);
  };

  it('brings an image that can be decoded, its usage, and tells of its progress', async () => {
    const progress: number[] = [];
    const result = await generate('image', {}, contextOf({ onProgress: (percent) => progress.push(percent) }));
    const { data, info } = await sharp(bytesOf(result)).raw().toBuffer({ resolveWithObject: true });
    expect(data.length).toBe(info.width * info.height * info.channels);
    expect([info.width, info.height]).toEqual([1536, 864]);
    const { input_tokens, output_tokens, total_tokens } = result.usage ?? {};
    const sum = lacks.includes('usage') ? undefined : (input_tokens ?? NaN) + (output_tokens ?? NaN);
    expect(total_tokens).toBe(sum);
    expect(progress).toEqual([...progress].sort((a, b) => a - b));
    expect(progress.at(-1)).toBe(100);
  });

  it('takes several reference images and a mask', async () => {
    const bytes = await plainImage(128, 128);
    const image = { bytes, contentType: 'image/png', width: 128, height: 128 } as const;
    const mask = { ...image, bytes: await plainImage(128, 128, '#00000000') };
    const result = await generate('image', { action: 'edit', images: [image, image], mask });
    expect((await sharp(bytesOf(result)).metadata()).width).toBe(1536);
  });

  it('sends partial images in order when they are wanted and it can, and none otherwise', async () => {
    const seen: number[] = [];
    const context = contextOf({ onPartial: (image, index) => seen.push(index, image.length > 0 ? 1 : 0) });
    const { warnings } = await generate('image', { partialImages: 2 }, context);
    const sent = lacks.includes('partials') ? [] : [0, 1, 1, 1];
    expect(seen).toEqual(sent);
    expect(warnings).toEqual([...(sent.length === 0 ? ['The provider sent no partial images.'] : []), ...notes]);
    await generate('image', {}, context);
    expect(seen).toHaveLength(sent.length);
  });

  it('says of each failure whether it may be repeated and whether it was charged', async () => {
    const expected = Object.entries({ ...FATES, ...fates }).filter(
      ([behavior]) => !lacks.some((it) => it === behavior),
    );
    for (const [behavior, fate] of expected) {
      const error = await failureOf(generate(behavior as Behavior));
      expect([error.code, error.retryable, error.charged]).toEqual(fate);
      if (behavior === 'moderation') expect(error.param).toBe('prompt');
      if (behavior === 'rate-limit') expect(error.retryAfter).toBe(1);
    }
  });

  it('ends with the signal’s reason when it is aborted in the middle of a call', async () => {
    const stop = new AbortController();
    const call = generate('hang', {}, contextOf({ signal: stop.signal }));
    void begun().then(() => stop.abort(new Error('cancelled')));
    await expect(call).rejects.toBe(await aborted(stop.signal));
  });

  it('does not begin when it is aborted before', async () => {
    const reason = new Error('cancelled before');
    await expect(generate('image', {}, contextOf({ signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
  });
}

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });
}
