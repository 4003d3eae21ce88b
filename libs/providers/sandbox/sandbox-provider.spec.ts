import { jest } from '@jest/globals';
import sharp from 'sharp';
import { loadConfig } from '#config/load-config.js';
import { ProviderError } from '../provider-error.js';
import { bytesOf, contextOf, resultOf, inputOf, requestOf } from './sandbox-calls.fixture.js';
import { obeysDirectives, SandboxConfig } from './sandbox.config.js';
import { SandboxProvider } from './sandbox-provider.js';

const sandbox = new SandboxProvider();
const draw = async (changes: Parameters<typeof requestOf>[0]): Promise<Buffer> =>
  bytesOf(await sandbox.generate(requestOf(changes), contextOf()));

test.each([
  [1024, 1024],
  [2048, 1360],
  [768, 1024],
  [864, 2016],
  [2016, 864],
  [1344, 2688],
  [3840, 1648],
  [2880, 2880],
])('an image asked for in %ix%i has exactly these pixels', async (width, height) => {
  expect(await sharp(await draw({ width, height })).metadata()).toMatchObject({
    width,
    height,
    format: 'png',
    hasAlpha: false,
  });
});

test('an unnamed size is the square, and an edit keeps the size of its first image', async () => {
  const first = await inputOf(await draw({ width: 272, height: 160 }));
  const size = { width: undefined, height: undefined };
  expect(await sharp(await draw(size)).metadata()).toMatchObject({ width: 1024, height: 1024 });
  expect(await sharp(await draw({ ...size, action: 'edit', images: [first] })).metadata()).toMatchObject({
    width: 272,
    height: 160,
  });
});

test('the same request gives the same bytes, another prompt or reference another image', async () => {
  const image = await inputOf(await draw({ prompt: 'a fox' }));
  const images = await Promise.all([
    draw({}),
    draw({}),
    draw({ prompt: 'a lighthouse at dawn' }),
    draw({ images: [image] }),
  ]);
  expect(images[0].equals(images[1])).toBe(true);
  expect(new Set(images.map((bytes) => bytes.toString('base64'))).size).toBe(3);
});

test('a GIF moves if frames are asked for, and has fewer of them if they are large', async () => {
  const gif = { outputFormat: 'gif', frameCount: 4, frameDurationMs: 123 } as const;
  const moving = await draw(gif);
  expect(await sharp(moving, { animated: true }).metadata()).toMatchObject({
    format: 'gif',
    width: 320,
    pageHeight: 192,
    pages: 4,
    delay: [120, 120, 120, 120],
    loop: 0,
  });
  const pixels = await sharp(moving, { animated: true }).removeAlpha().raw().toBuffer();
  const frames = [0, 1, 2, 3].map((at) => pixels.subarray((at * pixels.length) / 4, ((at + 1) * pixels.length) / 4));
  expect(new Set(frames.map((frame) => frame.toString('base64'))).size).toBe(4);
  expect((await sharp(await draw({ outputFormat: 'gif' })).metadata()).pages ?? 1).toBe(1);
  const usual = await draw({ outputFormat: 'gif', frameDurationMs: 50 });
  expect((await sharp(usual, { animated: true }).metadata()).pages).toBe(9);
  const large = resultOf(
    await sandbox.generate(requestOf({ ...gif, frameCount: 16, width: 2336, height: 2336 }), contextOf()),
  );
  expect(large.warnings).toEqual(['The sandbox drew 2 of 16 frames, because they are large.']);
});

test('families of prompts look different', async () => {
  const prompts = [
    'a cat',
    'the sea',
    'a city',
    'a forest',
    'mountains',
    'a planet',
    'flowers',
    'coffee',
    'a logo',
    'music',
  ];
  const looks = await Promise.all(
    prompts.map(async (prompt) =>
      (
        await sharp(await draw({ prompt }))
          .resize(8, 8, { fit: 'fill' })
          .raw()
          .toBuffer()
      ).toString('hex'),
    ),
  );
  expect(new Set(looks).size).toBe(prompts.length);
});

test('the prompt is readable text in the image', async () => {
  const captions = await Promise.all(
    ['a red cat sat', 'a red cat lay'].map(async (prompt) =>
      sharp(await draw({ prompt: `${prompt} [[fault=banana]]`, width: 512, height: 512 }))
        .raw()
        .toBuffer(),
    ),
  );
  const lowest = (pixels: Buffer): number => pixels.subarray(512 * 440 * 3).filter((value) => value > 240).length;
  for (const pixels of captions) expect(lowest(pixels)).toBeGreaterThan(300);
});

test.each(['png', 'webp'] as const)(
  'a transparent %s has see-through corners and a solid middle',
  async (outputFormat) => {
    const bytes = await draw({ outputFormat, background: 'transparent' });
    const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
    expect(info.channels).toBe(4);
    expect(data[3]).toBe(0);
    expect(data[(96 * 320 + 160) * 4 + 3]).toBe(255);
  },
);

test('a jpeg says that it cannot be transparent', async () => {
  const order = requestOf({ outputFormat: 'jpeg', background: 'transparent' });
  const result = resultOf(await sandbox.generate(order, contextOf()));
  expect(result.warnings).toEqual([expect.stringContaining('transparency')]);
  expect(await sharp(bytesOf(result)).metadata()).toMatchObject({ format: 'jpeg', hasAlpha: false });
});

test('compression is honored', async () => {
  for (const outputFormat of ['jpeg', 'webp'] as const) {
    const [small, large] = await Promise.all(
      [10, 95].map((outputCompression) => draw({ outputFormat, outputCompression })),
    );
    expect((small as Buffer).length).toBeLessThan((large as Buffer).length);
  }
});

test.each([
  '<svg onload="x">&amp;]]>',
  '😀👩‍👩‍👧 مرحبا שלום',
  '\u0000\u0007\uD800 lone',
  'long '.repeat(6400),
  '[[latency=0ms]]',
  '一只可爱的猫',
])('draws whatever the prompt is: %.20s', async (prompt) => {
  expect(await sharp(await draw({ prompt })).metadata()).toMatchObject({ width: 320, height: 192 });
});

test('tells its progress upwards and hands out as many partial images as wanted', async () => {
  const progress: number[] = [];
  const partials: { image: Buffer; index: number }[] = [];
  const context = contextOf({
    onProgress: (percent) => progress.push(percent),
    onPartial: (image, index) => partials.push({ image, index }),
  });
  const prompt = 'the sea [[latency=24ms]]';
  await sandbox.generate(
    requestOf({ prompt, partialImages: 3, width: 1024, height: 1024, outputFormat: 'webp' }),
    context,
  );
  expect(progress.length).toBeGreaterThan(5);
  expect(progress).toEqual([...progress].sort((a, b) => a - b));
  expect(progress.at(-1)).toBe(100);
  expect(partials.map(({ index }) => index)).toEqual([0, 1, 2]);
  const widths = await Promise.all(partials.map(async ({ image }) => (await sharp(image).metadata()).width));
  expect(widths).toEqual([320, 512, 768]);
});

test('stops at once when aborted while time passes or while it hangs', async () => {
  for (const prompt of ['x [[latency=1000s]]', 'x [[fault=hang]]']) {
    const stop = new AbortController();
    const context = contextOf({
      signal: stop.signal,
      onProgress: () => setImmediate(() => stop.abort(new Error('cancelled'))),
    });
    await expect(sandbox.generate(requestOf({ prompt }), context)).rejects.toThrow('cancelled');
  }
});

test.each([
  ['http-500', 'upstream_error', true],
  ['http-503', 'upstream_error', true],
  ['http-429', 'upstream_error', true],
  ['empty', 'upstream_invalid_response', true],
  ['moderation', 'moderation_blocked', false],
])('[[fault=%s]] fails as %s', async (fault, code, retryable) => {
  const failing = sandbox.generate(requestOf({ prompt: `x [[fault=${fault}]]` }), contextOf());
  await expect(failing).rejects.toBeInstanceOf(ProviderError);
  await expect(failing).rejects.toMatchObject({ code, retryable, charged: 'no' });
});

test('a counted fault is over at a later start', async () => {
  const request = requestOf({ prompt: 'x [[fault=http-500 times=1]]' });
  await expect(sandbox.generate(request, contextOf({ startNumber: 1 }))).rejects.toThrow(ProviderError);
  expect(bytesOf(await sandbox.generate(request, contextOf({ startNumber: 2 }))).length).toBeGreaterThan(1000);
});

test('wrong answers are wrong in the way they say', async () => {
  expect(await sharp(await draw({ prompt: '[[fault=wrong-size]]' })).metadata()).toMatchObject({
    width: 160,
    height: 96,
  });
  expect((await draw({ prompt: '[[fault=not-an-image]]' })).toString()).toContain('<html>');
  expect((await draw({ prompt: '[[fault=huge]]' })).length).toBeGreaterThan(64_000_000);
});

test('a crash comes after the job was accepted', async () => {
  const events: string[] = [];
  const kill = jest.spyOn(process, 'kill').mockImplementation((pid, signal) => {
    events.push(`${pid === process.pid ? 'self' : 'other'} ${String(signal)}`);
    return true;
  });
  const stop = new AbortController();
  const onAccepted = (jobId: string): Promise<void> => {
    events.push(jobId);
    setImmediate(() => stop.abort(new Error('the test survives')));
    return Promise.resolve();
  };
  const crashing = sandbox.generate(
    requestOf({ prompt: '[[fault=crash-after-accept]]' }),
    contextOf({ onAccepted, signal: stop.signal }),
  );
  await expect(crashing).rejects.toThrow('the test survives');
  kill.mockRestore();
  expect(events).toEqual(['sandbox-task_1', 'self SIGKILL']);
});

test('directives are not obeyed, nor drawn, where they are switched off', async () => {
  const careful = new SandboxProvider(false);
  const prompt = 'a pear [[fault=crash-after-accept]] [[latency=1h]]';
  const asked = await careful.generate(requestOf({ prompt, width: 256, height: 256 }), contextOf());
  expect(bytesOf(asked)).toEqual(await draw({ prompt: 'a pear', width: 256, height: 256 }));
});

test.each([
  [{}, true],
  [{ NODE_ENV: 'production' }, false],
  [{ NODE_ENV: 'production', SANDBOX_DIRECTIVES: 'true' }, true],
  [{ SANDBOX_DIRECTIVES: 'false' }, false],
])('with %j directives are obeyed: %s', (env, obeyed) => {
  expect(obeysDirectives(loadConfig([SandboxConfig], env)[0])).toBe(obeyed);
});

test('unknown directives are named, and usage adds up', async () => {
  const order = requestOf({ prompt: 'x [[sing]]', quality: 'high' });
  const { warnings, usage } = resultOf(await sandbox.generate(order, contextOf()));
  expect(warnings).toEqual([expect.stringContaining('[[sing]]')]);
  expect(usage?.total_tokens).toBe((usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0));
});

it('names a job that is made in its own time, and brings the image when that is over', async () => {
  const named: string[] = [];
  const request = requestOf({ prompt: 'a heron [[pending=2s]]' });
  const onAccepted = (id: string): Promise<void> => Promise.resolve(void named.push(id));
  expect(await sandbox.generate(request, contextOf({ onAccepted }))).toEqual({ pending: { checkAfterMs: 500 } });
  const again = { onAccepted, resumeJobId: 'sandbox-task_1' };
  expect(await sandbox.generate(request, contextOf({ ...again, waitedMs: 1_900 }))).toEqual({
    pending: { checkAfterMs: 100 },
  });
  expect(named).toEqual(['sandbox-task_1']);
  const image = bytesOf(await sandbox.generate(request, contextOf({ ...again, waitedMs: 2_000 })));
  expect(image).toEqual(bytesOf(await sandbox.generate(requestOf({ prompt: 'a heron' }), contextOf())));
});
