import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';
import type { ImageProvider, ProviderImageRequest } from '#providers/image-provider.js';
import { ProviderError } from '#providers/provider-error.js';
import { contextOf, requestOf } from '#providers/sandbox/sandbox-calls.fixture.js';

/** A request of a size that every adapter can be asked for. */
export function orderOf(changes: Partial<ProviderImageRequest> = {}): ProviderImageRequest {
  return requestOf({ width: 1536, height: 864, ...changes });
}

/** What a call throws; fails the test when it brings a picture. */
export async function failureOf(call: Promise<unknown>): Promise<ProviderError> {
  const thrown: unknown = await call.then(
    () => new Error('the call brought a picture'),
    (error: unknown) => error,
  );
  if (!(thrown instanceof ProviderError)) throw thrown;
  return thrown;
}

/** A plain picture, and the same as an input. */
export async function plainPicture(width: number, height: number, colour = '#406080'): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 4, background: colour } })
    .png()
    .toBuffer();
}

export type Behaviour = 'picture' | 'moderation' | 'rate-limit' | 'failure' | 'no-picture' | 'hang';

interface Suite {
  readonly provider: () => ImageProvider;
  /** Makes the vendor behave so at the calls to come, and changes the order where it must be said there. */
  readonly behave: (behaviour: Behaviour, order: ProviderImageRequest) => Promise<ProviderImageRequest>;
  /** When the vendor has the call in hand; a hanging one is aborted then. */
  readonly begun: () => Promise<void>;
}

/** What every adapter promises, whatever its vendor speaks. */
export function describeImageProvider({ provider, behave, begun }: Suite): void {
  const generate = async (behaviour: Behaviour, changes: Partial<ProviderImageRequest> = {}, context = contextOf()) => {
    const order = await behave(behaviour, orderOf(changes));
    const answer = await provider().generate(order, context);
    if ('pending' in answer) throw new Error('the provider is still at work');
    return answer;
  };

  it('brings a picture that can be decoded, its usage, and tells of its progress', async () => {
    const progress: number[] = [];
    const result = await generate('picture', {}, contextOf({ onProgress: (percent) => progress.push(percent) }));
    const { data, info } = await sharp(await buffer(result.image))
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect(data.length).toBe(info.width * info.height * info.channels);
    expect([info.width, info.height]).toEqual([1536, 864]);
    const { input_tokens, output_tokens, total_tokens } = result.usage ?? {};
    expect(total_tokens).toBe((input_tokens ?? NaN) + (output_tokens ?? NaN));
    expect(progress).toEqual([...progress].sort((a, b) => a - b));
    expect(progress.at(-1)).toBe(100);
  });

  it('takes several reference images and a mask', async () => {
    const bytes = await plainPicture(128, 128);
    const image = { bytes, contentType: 'image/png', width: 128, height: 128 } as const;
    const mask = { ...image, bytes: await plainPicture(128, 128, '#00000000') };
    const result = await generate('picture', { action: 'edit', images: [image, image], mask });
    expect((await sharp(await buffer(result.image)).metadata()).width).toBe(1536);
  });

  it('sends partial pictures in order when they are wanted, and none otherwise', async () => {
    const seen: number[] = [];
    const context = contextOf({ onPartial: (image, index) => seen.push(index, image.length > 0 ? 1 : 0) });
    await generate('picture', { partialImages: 2 }, context);
    expect(seen).toEqual([0, 1, 1, 1]);
    await generate('picture', {}, context);
    expect(seen).toHaveLength(4);
  });

  it('says of each failure whether it may be repeated and whether it was charged', async () => {
    const fate = async (behaviour: Behaviour): Promise<unknown> => {
      const { code, retryable, charged } = await failureOf(generate(behaviour));
      return [code, retryable, charged];
    };
    expect(await fate('moderation')).toEqual(['moderation_blocked', false, 'no']);
    expect(await fate('rate-limit')).toEqual(['upstream_error', true, 'no']);
    expect(await fate('failure')).toEqual(['upstream_error', true, 'no']);
    expect(await fate('no-picture')).toEqual(['upstream_invalid_response', true, 'no']);
    expect((await failureOf(generate('moderation'))).param).toBe('prompt');
    expect((await failureOf(generate('rate-limit'))).retryAfter).toBe(1);
  });

  it('ends with the signal’s reason when it is aborted in the middle of a call', async () => {
    const stop = new AbortController();
    const call = generate('hang', {}, contextOf({ signal: stop.signal }));
    void begun().then(() => stop.abort(new Error('cancelled')));
    await expect(call).rejects.toBe(await aborted(stop.signal));
  });

  it('does not begin when it is aborted before', async () => {
    const reason = new Error('cancelled before');
    await expect(generate('picture', {}, contextOf({ signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
  });
}

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });
}
