import sharp from 'sharp';
import { gradientImage } from '#images/sample-images.fixture.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { startPlatform, type Platform } from '../support/platform.js';

type Fields = Readonly<Record<string, string | number>>;

/** What a client's source builds for its users, and what it reads of the answer. */
interface Recorded {
  readonly client: string;
  /** The version, or the commit, of the file that the requests were read from. */
  readonly version: string;
  readonly file: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What it asks for if nobody configures it; absent: its users choose. */
  readonly model?: string;
  /** JSON bodies, without model and prompt. */
  readonly generations: readonly Fields[];
  readonly edits: readonly { readonly fields: Fields; readonly images: readonly string[]; readonly mask?: true }[];
  /** The first that an item has is taken; the others stay unread. */
  readonly reads: readonly ('url' | 'b64_json')[];
  /** Loads the link with the headers of its own call, its key among them. */
  readonly loadsWithKey?: true;
}

/** What the official SDKs add to each request. */
const SDK = { 'x-stainless-retry-count': '0', 'x-stainless-timeout': '600' };

const RECORDED: readonly Recorded[] = [
  {
    client: 'Open WebUI',
    version: 'open-webui/open-webui at 02530d5',
    file: 'backend/open_webui/routers/images.py',
    // Its default size; models other than gpt-image-* are asked for base64.
    generations: [{ n: 1, size: '512x512' }, { n: 1 }, { n: 1, size: '1024x1024', response_format: 'b64_json' }],
    edits: [
      { fields: { n: 1, size: '512x512' }, images: ['image'] },
      { fields: { n: 1, response_format: 'b64_json' }, images: ['image[]', 'image[]'] },
    ],
    reads: ['url', 'b64_json'],
    loadsWithKey: true,
  },
  {
    client: 'LibreChat',
    version: 'danny-avila/LibreChat, the revision that reads IMAGE_GEN_OAI_MODEL',
    file: 'api/app/clients/tools/structured/OpenAIImageTools.js',
    model: 'gpt-image-2.5-flare',
    headers: SDK,
    generations: [
      { n: 1, background: 'auto', output_format: 'png', quality: 'auto', size: 'auto' },
      { n: 1, background: 'auto', output_format: 'webp', output_compression: 100, quality: 'high', size: '1536x1024' },
    ],
    // Edits go through axios.
    edits: [{ fields: { quality: 'auto', size: 'auto' }, images: ['image[]'] }],
    reads: ['b64_json'],
  },
  {
    client: 'n8n',
    version: '@n8n/n8n-nodes-langchain 2.41.1',
    file: 'dist/nodes/vendors/OpenAi/v2/actions/image/{generate,edit}.operation.js',
    headers: { accept: 'application/json,text/*;q=0.99' },
    generations: [{}, { size: '1024x1024', quality: 'standard' }],
    edits: [
      { fields: { n: 1, size: '1024x1024', quality: 'auto' }, images: ['image[]'] },
      { fields: { n: 1, size: '1024x1536', quality: 'high', output_format: 'png' }, images: ['image[]'], mask: true },
    ],
    reads: ['b64_json'],
  },
  {
    client: 'LobeChat',
    version: 'lobehub/lobe-chat at 3c7f186',
    file: 'packages/model-runtime/src/core/openaiCompatibleFactory/createImage.ts',
    headers: SDK,
    // A size of auto is dropped.
    generations: [{ n: 1 }, { n: 1, size: '1536x1024' }],
    edits: [
      { fields: { n: 1, input_fidelity: 'high' }, images: ['image'] },
      { fields: { n: 1, input_fidelity: 'high', size: '1024x1024' }, images: ['image[]', 'image[]'] },
    ],
    reads: ['b64_json', 'url'],
  },
  {
    client: 'Dify',
    version: 'langgenius/openai_tool 0.2.1, langgenius/dify-official-plugins at 1896446',
    file: 'tools/openai/tools/{gpt_image_2_generate,gpt_image_2_edit,_image_utils}.py',
    headers: SDK,
    generations: [{ n: 1 }, { n: 1, size: '1024x1024', quality: 'high', output_format: 'png', moderation: 'low' }],
    edits: [
      { fields: { n: 1 }, images: ['image[]'] },
      { fields: { n: 1, size: '1024x1024', background: 'opaque' }, images: ['image'], mask: true },
    ],
    reads: ['b64_json'],
  },
  {
    client: 'Cherry Studio',
    version: 'CherryHQ/cherry-studio at 06d5bdd',
    file: 'src/renderer/src/pages/paintings/providers/newapi/generate.ts',
    headers: { origin: 'http://localhost:5173' },
    generations: [{ n: 1 }, { n: 1, size: '1024x1024', quality: 'high', moderation: 'low', background: 'opaque' }],
    edits: [{ fields: { size: '1024x1024', quality: 'high' }, images: ['image', 'image'] }],
    reads: ['url', 'b64_json'],
  },
];

/** Clients that can't run here, by the requests that their source builds, sent as they are with a key as usual. */
describe.each(['the sandbox', 'a server with OpenAI’s answers'])('recorded requests of clients, with %s', (behind) => {
  let provider: LedgerProvider;
  let platform: Platform;
  let png: Buffer;
  let mask: Buffer;

  beforeAll(async () => {
    provider = await LedgerProvider.start();
    const openai = { OPENAI_API_KEY: 'sk-ledger-secret-key', OPENAI_BASE_URL: provider.url };
    platform = await startPlatform(behind === 'the sandbox' ? {} : openai);
    png = await gradientImage(128, 128, 'png');
    mask = await gradientImage(128, 128, 'png', 4);
  });
  afterAll(async () => {
    await platform.close();
    await provider.close();
  });

  const shared = ({ client, model = 'gpt-image-2' }: Recorded) => ({ model, prompt: `a house for ${client}` });

  async function expectImage(response: Response, { reads, loadsWithKey }: Recorded, size: unknown): Promise<void> {
    const body = (await response.json()) as { data: Partial<Record<'url' | 'b64_json', string>>[] };
    expect([response.status, body]).toEqual([200, expect.objectContaining({ data: [expect.anything()] })]);
    const read = reads.find((name) => body.data[0]?.[name] !== undefined);
    const text = body.data[0]?.[read ?? 'url'] ?? '';
    const bytes = read === 'b64_json' ? Buffer.from(text, 'base64') : await load(text, loadsWithKey);
    const { width, height } = await sharp(bytes).metadata();
    if (typeof size === 'string' && size.includes('x')) expect(`${width}x${height}`).toBe(size);
    else expect(width).toBeGreaterThan(0);
  }

  async function load(url: string, withKey?: true): Promise<Buffer> {
    const response = await fetch(url, withKey && { headers: { authorization: `Bearer ${platform.key}` } });
    expect([response.status, response.headers.get('content-type')?.split('/')[0]]).toEqual([200, 'image']);
    return Buffer.from(await response.arrayBuffer());
  }

  describe.each(RECORDED)('$client ($version, $file)', (recorded) => {
    const { headers = {} } = recorded;

    it.each(recorded.generations)('gets its image for %j', async (fields) => {
      const body = { ...shared(recorded), ...fields };
      const response = await platform.call('/v1/images/generations', { headers, body });
      await expectImage(response, recorded, fields['size']);
    });

    it.each(recorded.edits)('gets its edit for %j', async ({ fields, images, mask: hasMask }) => {
      const form = new FormData();
      for (const [name, value] of Object.entries({ ...shared(recorded), ...fields })) form.append(name, String(value));
      const file = (bytes: Buffer): Blob => new Blob([new Uint8Array(bytes)], { type: 'image/png' });
      images.forEach((name, place) => {
        form.append(name, file(png), `${place}.png`);
      });
      if (hasMask) form.append('mask', file(mask), 'mask.png');
      const response = await platform.call('/v1/images/edits', { headers, body: form });
      await expectImage(response, recorded, fields['size']);
    });
  });
});
