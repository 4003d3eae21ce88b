import OpenAI, { toFile } from 'openai';
import sharp from 'sharp';
import { credentialsOf, withCredentials } from '#images/content-credentials.fixture.js';
import { itWithExifTool, readMetadata } from '#images/exiftool.fixture.js';
import { gradientImage, pixelsOf } from '#images/sample-images.fixture.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { image, startUpstream, type ScriptedUpstream } from '../support/scripted-upstream.js';

const SOURCE_TYPE = 'XMP-iptcExt:DigitalSourceType';
const SOURCE_TYPES = 'http://cv.iptc.org/newscodes/digitalsourcetype';

describe('the provenance of an image', () => {
  let upstream: ScriptedUpstream;
  let platform: Platform;
  beforeAll(async () => {
    upstream = await startUpstream();
    platform = await startPlatform({ OPENAI_API_KEY: 'sk-upstream', OPENAI_BASE_URL: upstream.url });
  });
  afterAll(async () => {
    await platform.close();
    await upstream.close();
  });

  let count = 0;
  /** The stored file, by its link, and the task. */
  async function generated(
    sent: Buffer,
    changes: object = {},
  ): Promise<{ bytes: Buffer; task: Record<string, unknown> }> {
    upstream.script(image(sent));
    const order = {
      model: 'gpt-image-2',
      prompt: `a fig, number ${++count}`,
      size: '1024x1024',
      response_format: 'url',
    };
    const response = await platform.call('/v1/images/generations', { body: { ...order, ...changes } });
    const { data } = (await response.json()) as { data: { url: string }[] };
    const file = await fetch(data[0]?.url ?? '');
    const bytes = Buffer.from(await file.arrayBuffer());
    return { bytes, task: await taskOf(response.headers.get('x-task-id') ?? '') };
  }

  async function taskOf(id: string): Promise<Record<string, unknown>> {
    return ((await (await platform.call(`/v1/tasks/${id}`)).json()) as { data: Record<string, unknown> }).data;
  }

  it.each(['png', 'jpeg'] as const)('is kept: the credentials of a %s still hold', async (format) => {
    const signed = await withCredentials(await gradientImage(1024, 1024, format), format);
    const { bytes, task } = await generated(signed, { output_format: format });
    expect(bytes.equals(signed)).toBe(true);
    expect(await credentialsOf(bytes, format)).toMatchObject({ valid: true });
    expect(task).toMatchObject({ status: 'completed', provenance: 'kept' });
  });

  itWithExifTool.each(['png', 'jpeg', 'webp'] as const)(
    'is marked in a %s that had to be changed, or tells nothing',
    async (format) => {
      const signed = await withCredentials(await gradientImage(1536, 1024, 'png'), 'png');
      for (const sent of [signed, await gradientImage(1024, 1024, format)]) {
        const { bytes, task } = await generated(sent, { output_format: format });
        expect((await sharp(bytes).metadata()).format).toBe(format);
        expect(task).toMatchObject({ provenance: 'marked' });
        expect(await readMetadata(bytes)).toMatchObject({
          [SOURCE_TYPE]: `${SOURCE_TYPES}/trainedAlgorithmicMedia`,
          'XMP-dc:Identifier': task['id'],
          'XMP-xmp:CreatorTool': expect.stringMatching(/^Darkroom \d/) as unknown,
        });
      }
    },
  );

  itWithExifTool('of an edit is told apart, and its reference image arrives without any', async () => {
    const signed = await withCredentials(await gradientImage(256, 256, 'png'), 'png');
    upstream.script(image(await gradientImage(1024, 1024, 'png')));
    const openai = new OpenAI({ apiKey: platform.key, baseURL: `${platform.url}/v1`, maxRetries: 0 });
    const edited = await openai.images.edit({
      model: 'gpt-image-2',
      prompt: 'a plum',
      size: '1024x1024',
      image: await toFile(signed, 'a.png', { type: 'image/png' }),
    });
    const bytes = Buffer.from(edited.data?.[0]?.b64_json ?? '', 'base64');
    expect(await readMetadata(bytes)).toMatchObject({
      [SOURCE_TYPE]: `${SOURCE_TYPES}/compositeWithTrainedAlgorithmicMedia`,
    });
    const call = upstream.calls.at(-1);
    const headers = { 'content-type': call?.headers['content-type'] ?? '' };
    const form = await new Response(new Uint8Array(call?.body ?? []), { headers }).formData();
    const sent = Buffer.from(await (form.get('image[]') as File).arrayBuffer());
    expect(await credentialsOf(sent, 'png')).toEqual({ valid: false, found: [] });
    expect((await pixelsOf(sent)).equals(await pixelsOf(signed))).toBe(true);
  });
});
