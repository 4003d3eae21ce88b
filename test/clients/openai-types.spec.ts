import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import ts from 'typescript';
import { openAiCatalog } from '#catalog/built-in.js';
import { openAiEnd } from '#catalog/openai-models.js';
import { parseCatalog } from '#catalog/parse-catalog.js';
import { animatedGif, gradientImage } from '#images/sample-images.fixture.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { image, startUpstream, type ScriptedUpstream, type UpstreamCall } from '../support/scripted-upstream.js';

const TYPES = resolve('test/clients/node/openai/node_modules/openai-7/resources/images.d.ts');

/** What a property comes to: the provider gets it, the caller is refused by its name, or is told that it was ignored. */
type Decision =
  | { readonly sent: unknown; readonly with?: object; readonly as?: Readonly<Record<string, unknown>> }
  | { readonly refused: unknown; readonly with?: object }
  | { readonly named: unknown };

const SVG: Decision = {
  sent: { model: 'gpt-5.5', reasoning: { effort: 'low' } },
  with: { output_format: 'svg' },
  as: { 'svg[model]': 'gpt-5.5', 'svg[reasoning][effort]': 'low' },
};
const DRAWING = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect/></svg>');

const SHARED: Readonly<Record<string, Decision>> = {
  prompt: { sent: 'a pear on a plate' },
  background: { sent: 'opaque' },
  complexity: { sent: 'low' },
  frame_count: { sent: 4, with: { output_format: 'gif' } },
  frame_duration_ms: { sent: 120, with: { output_format: 'gif' } },
  // The route's own name of the model.
  model: { sent: 'every-field', as: { model: 'upstream-name' } },
  n: { sent: 2 },
  output_compression: { sent: 40, with: { output_format: 'webp' } },
  output_format: { sent: 'webp' },
  partial_images: { sent: 2, with: { stream: true } },
  quality: { sent: 'xhigh' },
  // Every provider is asked for bytes; links and base64 are made here.
  response_format: { sent: 'b64_json', as: { response_format: undefined } },
  safety_identifier: { sent: 'a1b2c3' },
  size: { sent: '1536x1024' },
  stream: { sent: true, with: { partial_images: 1 } },
  svg: SVG,
  'svg.model': SVG,
  'svg.reasoning': SVG,
  'svg.reasoning.effort': SVG,
  user: { sent: 'someone' },
};

const GENERATE: Readonly<Record<string, Decision>> = {
  ...SHARED,
  moderation: { sent: 'low' },
  style: { named: 'vivid' },
};

const FILE = Symbol('a file');

const EDIT: Readonly<Record<string, Decision>> = {
  ...SHARED,
  image: { sent: FILE, as: { 'image[]': FILE } },
  mask: { sent: FILE },
  input_fidelity: { sent: 'high' },
  markup: { sent: FILE },
};

/** Names of all properties of an interface, with those of the objects in them: `svg.reasoning.effort`. */
function propertiesOf(name: string): string[] {
  const program = ts.createProgram([TYPES], {
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    module: ts.ModuleKind.NodeNext,
    strict: true,
    noLib: true,
    types: [],
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(TYPES);
  if (source === undefined) throw new Error(`${TYPES} is missing: run npm ci in test/clients/node/openai`);
  const declared = checker
    .getExportsOfModule(checker.getSymbolAtLocation(source) as ts.Symbol)
    .find((one) => one.name === name);
  if (declared === undefined) throw new Error(`openai has no ${name} any more`);
  const inside = (type: ts.Type, prefix: string): string[] =>
    checker.getPropertiesOfType(type).flatMap((property) => {
      const path = prefix + property.name;
      const own = checker.getNonNullableType(checker.getTypeOfSymbol(property));
      const nested = own.isClassOrInterface() && isIn(own, source) ? inside(own, `${path}.`) : [];
      return [path, ...nested];
    });
  return inside(checker.getDeclaredTypeOfSymbol(declared), '').sort();
}

function isIn(type: ts.Type, source: ts.SourceFile): boolean {
  return type.symbol.declarations?.every((declaration) => declaration.getSourceFile() === source) ?? false;
}

/** The names of a union of texts. */
function namesOf(name: string): string[] {
  const program = ts.createProgram([TYPES], { noLib: true, types: [] });
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(TYPES) as ts.SourceFile) as ts.Symbol;
  const declared = checker.getExportsOfModule(module).find((one) => one.name === name) as ts.Symbol;
  const type = checker.getDeclaredTypeOfSymbol(declared);
  return type.isUnion() ? type.types.map((one) => (one as ts.StringLiteralType).value) : [];
}

/** Nobody reads release notes as reliably as a compiler does: what OpenAI adds to its types must be decided here. */
describe("the newest types of OpenAI's SDK", () => {
  let upstream: ScriptedUpstream;
  let platform: Platform;
  let folder: string;
  let png: Buffer;
  let gif: Buffer;

  beforeAll(async () => {
    upstream = await startUpstream();
    // Masks need transparency.
    png = await gradientImage(1024, 1024, 'png', 4);
    gif = await animatedGif(1024, 1024, 4);
    folder = await mkdtemp(join(tmpdir(), 'darkroom-types-'));
    const file = `providers:
  vendor: { type: openai, base_url: "${upstream.url}", keys: [{ env: VENDOR_KEY }] }
models:
  every-field:
    kind: image
    accepts:
      qualities: [auto, low, medium, high, xhigh, max]
      output_formats: [png, jpeg, webp, gif, svg]
      complexities: [low, medium, high]
      max_n: 10
    routes: [{ provider: vendor, model: upstream-name, capabilities: { markup: true } }]
`;
    await writeFile(join(folder, 'models.yaml'), file);
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml'), VENDOR_KEY: 'k' });
  });
  afterAll(async () => {
    await platform.close();
    await upstream.close();
    await rm(folder, { recursive: true });
  });

  it.each([
    ['ImageGenerateParamsBase', GENERATE],
    ['ImageEditParamsBase', EDIT],
  ] as const)('have no property in %s that nobody decided about, and have all the others', (name, decided) => {
    expect(propertiesOf(name)).toEqual(Object.keys(decided).sort());
  });

  it('name no image model that the built-in catalog neither serves nor calls retired', () => {
    const { models } = parseCatalog(openAiCatalog(new Date('2026-11-28')), 'the built-in catalog', {
      OPENAI_API_KEY: 'k',
    });
    const unknown = namesOf('ImageModel').filter((name) => !models.has(name) && openAiEnd(name) === undefined);
    expect(unknown).toEqual([]);
    expect(namesOf('ImageModel')).toContain('gpt-image-2');
  });

  const base = { model: 'every-field', prompt: 'a pear', size: '1024x1024' };
  const fieldOf = (path: string): string => path.split('.')[0] ?? path;

  async function generate(fields: object): Promise<Response> {
    return await platform.call('/v1/images/generations', { body: { ...base, ...fields } });
  }

  /** As the SDK does: objects become `svg[model]`. */
  async function edit(fields: object): Promise<Response> {
    const form = new FormData();
    const append = (name: string, value: unknown): void => {
      if (value === FILE) form.append(name, new Blob([new Uint8Array(png)], { type: 'image/png' }), 'a.png');
      else if (typeof value === 'object' && value !== null)
        for (const [member, one] of Object.entries(value)) append(`${name}[${member}]`, one);
      else form.append(name, String(value));
    };
    for (const [name, value] of Object.entries({ image: FILE, ...base, ...fields })) append(name, value);
    return await platform.call('/v1/images/edits', { body: form });
  }

  const calls = { generate, edit };
  const decisions = (action: 'generate' | 'edit', table: Readonly<Record<string, Decision>>) =>
    Object.entries(table).map(([path, decision]) => [action, path, decision] as const);

  it.each([...decisions('generate', GENERATE), ...decisions('edit', EDIT)])(
    'come to what is decided in %s: %s',
    async (action, path, decision) => {
      const field = fieldOf(path);
      if ('refused' in decision) {
        const before = upstream.calls.length;
        const response = await calls[action]({ ...decision.with, [field]: decision.refused });
        const { error } = (await response.json()) as { error: { param: string } };
        expect([response.status, fieldOf(error.param.replace(/\[.*/s, ''))]).toEqual([400, field]);
        expect(upstream.calls).toHaveLength(before);
        return;
      }
      if ('named' in decision) {
        upstream.script(image(png));
        const response = await calls[action]({ [field]: decision.named });
        expect([response.status, response.headers.get('x-ignored-params')]).toEqual([200, field]);
        return;
      }
      const { sent, with: others = {}, as = { [field]: sent } } = decision;
      const format = 'output_format' in others ? others.output_format : 'png';
      upstream.script(image(format === 'svg' ? DRAWING : format === 'gif' ? gif : png));
      const response = await calls[action]({ ...others, [field]: sent });
      expect([response.status, response.headers.get('x-ignored-params')]).toEqual([200, null]);
      await response.arrayBuffer();
      const received = fieldsOf(upstream.calls.at(-1) as UpstreamCall);
      for (const [name, value] of Object.entries(as)) {
        // A form has only texts.
        const isText = action === 'edit' && (typeof value === 'number' || typeof value === 'boolean');
        const expected = isText ? value.toString() : value;
        expect([name, received[name]]).toEqual([name, expected]);
      }
    },
  );
});

/** The fields of a call: of JSON as they are, of a form as texts, and its files as `FILE`. */
function fieldsOf({ headers, body }: UpstreamCall): Record<string, unknown> {
  const type = headers['content-type'] ?? '';
  if (type.startsWith('application/json')) return flat(JSON.parse(body.toString()) as Record<string, unknown>);
  const boundary = /boundary="?([^";]+)/.exec(type)?.[1] ?? '';
  const parts = body.toString('latin1').split(`--${boundary}`).slice(1, -1);
  return Object.fromEntries(
    parts.map((part) => {
      const [head = '', ...rest] = part.split('\r\n\r\n');
      const name = /name="([^"]*)"/.exec(head)?.[1] ?? '';
      const text = Buffer.from(rest.join('\r\n\r\n').replace(/\r\n$/, ''), 'latin1').toString();
      return [name, head.includes('filename=') ? FILE : text];
    }),
  );
}

/** Members of objects as a form names them. */
function flat(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const pairs = (name: string, value: unknown): [string, unknown][] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([member, one]) => pairs(`${name}[${member}]`, one))
      : [[name, value]];
  return Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => pairs(name, value)));
}
