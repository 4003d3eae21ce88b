import fc from 'fast-check';
import { PROPERTY_TIMEOUT_MS, runs } from '../support/effort.js';
import { answerOf, contractError, type Answer, type ContractError } from '../support/contract-answer.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { expectNoDataLoss } from '../support/no-data-loss.js';
import { problem, problemsOf, type Field } from './field.js';
import { combinationProblems, FORM_FIELDS, losesCompression, REFUSED_PROMPT, strictProblems } from './image-fields.js';
import { AVIF, GIF, JPEG, PNG, WEBP } from './references.js';

const EDITS = '/v1/images/edits/async';
const BOUNDARY = 'b0undary';
/** Numbers that every reader of text reads alike. */
const PLAIN_NUMBER = /^-?\d{1,14}(\.\d+)?$/;

interface Part {
  readonly name: string;
  readonly content: Buffer;
  readonly fileName?: string;
}

const textPart = (name: string, value: string): Part => ({ name, content: Buffer.from(value) });
const filePart = (name: string, content: Buffer): Part => ({ name, content, fileName: 'x.bin' });

function bytesOf(parts: readonly Part[], boundary = BOUNDARY): Buffer {
  const pieces = parts.map(({ name, content, fileName }) => {
    const file = fileName === undefined ? '' : `; filename="${fileName}"\r\ncontent-type: application/octet-stream`;
    return [
      Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n`),
      content,
      Buffer.from('\r\n'),
    ];
  });
  return Buffer.concat([...pieces.flat(), Buffer.from(`--${boundary}--\r\n`)]);
}

/** A field with a value as text, and what that text stands for. */
function formField(field: Field): fc.Arbitrary<{ text: string; value: unknown }> {
  const written = fc.oneof(field.valid, field.odd).filter((value) => {
    if (typeof value === 'number') return PLAIN_NUMBER.test(String(value));
    // Text that reads like a number or a truth is one, in a form.
    return typeof value === 'boolean' || (typeof value === 'string' && !/^(-?[\d.]+(e.*)?|true|false)$/i.test(value));
  });
  return written.map((value) => {
    const text = Buffer.from(String(value)).toString();
    return { text, value: typeof value === 'string' ? text : value };
  });
}

/** What clients write for an option that is not set; in a text that is free, these are words. */
const isUnset = (name: string, text: string): boolean =>
  name !== 'prompt' &&
  (text === '' || (!/^(user|safety_identifier)$/.test(name) && /^(null|none|undefined)$/i.test(text)));

/** Why a strict form is refused for images that would be converted, whichever of them is named. */
function conversionProblems(parts: readonly Part[]): string[] {
  const files = parts.filter(({ fileName }) => fileName !== undefined);
  if (!files.some(({ content }) => content === GIF || content === AVIF)) return [];
  return files.map((_, n) => problem('unsupported_image_media_type', files.length === 1 ? 'image' : `image[${n}]`));
}

const COERCED = new Set(['n', 'output_compression', 'partial_images', 'stream', 'strict']);

describe('multipart edits', () => {
  let platform: Platform;

  beforeAll(async () => {
    platform = await startPlatform({ WORKER_CONCURRENCY: '20' });
  });
  afterAll(() => platform.close());

  async function send(
    body: Buffer,
    type = `multipart/form-data; boundary=${BOUNDARY}`,
  ): Promise<{ answer: Answer; error: ContractError | undefined }> {
    const answer = await answerOf(
      await platform.call(EDITS, { method: 'POST', body, headers: { 'content-type': type } }),
    );
    return { answer, error: contractError(answer, EDITS) };
  }

  const image = fc
    .tuple(
      fc.constantFrom('image', 'image[]', 'image[0]', 'image[7]', 'images', 'images[]'),
      fc.constantFrom(PNG, JPEG, WEBP, GIF, AVIF),
    )
    .map(([name, bytes]) => filePart(name, bytes));
  const images = fc.array(image, { minLength: 1, maxLength: 3 });

  it(
    'take and refuse text fields exactly as JSON does, in any order of parts',
    async () => {
      const one = fc
        .constantFrom(...FORM_FIELDS)
        .chain((field) => formField(field).map((form) => ({ field, ...form })));
      const unknown = fc.uniqueArray(
        fc.constantFrom('__proto__', 'constructor', 'toString', 'seed', 'a[b][c]', 'x.y'),
        { maxLength: 3 },
      );
      const shuffled = fc
        .tuple(fc.uniqueArray(one, { maxLength: 5, selector: ({ field }) => field.name }), images, unknown)
        .chain(([fields, files, names]) => {
          const prompted = fields.some(({ field }) => field.name === 'prompt');
          const parts = [
            ...(prompted ? [] : [textPart('prompt', REFUSED_PROMPT)]),
            ...fields.map(({ field, text }) => textPart(field.name, text)),
            ...files,
            ...names.map((name) => textPart(name, '1')),
          ];
          return fc
            .shuffledSubarray(parts, { minLength: parts.length })
            .map((order) => ({ fields, parts: order, names }));
        });
      await fc.assert(
        fc.asyncProperty(shuffled, async ({ fields, parts, names }) => {
          const sent = new Map<string, unknown>([['prompt', REFUSED_PROMPT]]);
          for (const { field, text, value } of fields) {
            if (isUnset(field.name, text)) sent.delete(field.name);
            else sent.set(field.name, COERCED.has(field.name) ? value : text);
          }
          // Beside a size in pixels a resolution is ignored, whatever it is.
          const isPixels = /^[1-9]\d{0,8}x[1-9]\d{0,8}$/.test(String(sent.get('size')));
          const ignored = isPixels && sent.delete('resolution') ? [...names, 'resolution'] : [...names];
          if (losesCompression(sent)) ignored.push('output_compression');
          const allowed = [
            ...problemsOf(FORM_FIELDS, sent),
            ...combinationProblems(sent, true),
            ...strictProblems(sent, ignored),
            ...(sent.get('strict') === true ? conversionProblems(parts) : []),
          ];
          if (allowed.length === 0 && !String(sent.get('prompt')).includes(REFUSED_PROMPT)) return;
          const { answer, error } = await send(bytesOf(parts));
          expect(answer.status).toBe(allowed.length === 0 ? 202 : 400);
          if (allowed.length > 0) expect(allowed).toContain(problem(error?.code ?? '', error?.param ?? ''));
          else expect((answer.headers['x-ignored-params'] ?? '').split(', ').sort().join()).toBe(ignored.sort().join());
        }),
        runs(120),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it(
    'take files by their bytes alone, under every name an image may have, up to 16',
    async () => {
      const hostile = fc.constantFrom(
        Buffer.alloc(0),
        Buffer.from('<svg/>'),
        Buffer.from('GIF89a'.padEnd(40)),
        PNG.subarray(1),
        Buffer.from('\x89PNG'),
      );
      const odd = fc
        .tuple(fc.constantFrom('image', 'image[]', 'mask'), hostile)
        .map(([name, bytes]) => filePart(name, bytes));
      const notFiles = fc
        .constantFrom('image', 'image[]', 'images', 'mask')
        .map((name) => textPart(name, 'https://nowhere.invalid/a.png'));
      const strange = fc
        .constantFrom('picture', 'image[x]', 'image[[0]]', 'image[-1]', 'init_image', 'file', '')
        .map((name) => filePart(name, PNG));
      const anyPart = fc.oneof({ weight: 8, arbitrary: image }, odd, notFiles, strange);
      const list = fc.oneof(fc.array(anyPart, { maxLength: 4 }), fc.array(image, { minLength: 15, maxLength: 18 }));
      await fc.assert(
        fc.asyncProperty(list, async (parts) => {
          const files = parts.filter(({ fileName }) => fileName !== undefined);
          const given = files.filter(({ name }) => /^images?(\[\d*\]|\.?\d)?$/i.test(name));
          const kinds = [PNG, JPEG, WEBP, GIF, AVIF];
          const right =
            given.length >= 1 &&
            given.length <= 16 &&
            given.every(({ content }) => kinds.includes(content)) &&
            files.length === given.length &&
            parts.length === files.length;
          const { answer, error } = await send(bytesOf([...parts, textPart('prompt', REFUSED_PROMPT)]));
          expect(answer.status).toBe(right ? 202 : 400);
          const left = files
            .filter((file) => !given.includes(file))
            .map(({ name }) => name.replace(/[^\w.[\]-]/g, '_'));
          if (!right && !left.includes(error?.param ?? '')) {
            expect(error?.param).toMatch(/^(image(\[\d+\])?|mask|unnamed)$/);
          }
        }),
        runs(60),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  const whole = bytesOf([
    textPart('prompt', REFUSED_PROMPT),
    filePart('image', PNG),
    textPart('n', '1'),
    filePart('mask', PNG),
  ]);
  const splice = fc.record({
    at: fc.nat(whole.length),
    cut: fc.oneof(fc.nat(8), fc.nat(400)),
    put: fc.oneof(
      fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
      fc.constantFrom(
        `--${BOUNDARY}`,
        `--${BOUNDARY}--`,
        `\r\n--${BOUNDARY}\r\n`,
        '\r\n\r\n',
        '\n',
        '\r',
        '\0',
        '"',
        ';',
        '--',
        '=',
      ),
      fc.constantFrom('content-disposition: form-data; name="n"\r\n', 'content-type: multipart/mixed; boundary=x\r\n'),
      fc.constantFrom(
        'content-transfer-encoding: base64\r\n',
        "; filename*=UTF-8''%E0%A4%A",
        '; name=__proto__',
        'x: y\r\n'.repeat(60),
      ),
    ),
  });

  it('may have a text without a name, which is ignored, but no file that would be left out', async () => {
    for (const gone of [filePart('gone', PNG), textPart('gone', 'x'), filePart('', PNG), textPart('', 'x')]) {
      const unnamed = bytesOf([textPart('prompt', REFUSED_PROMPT), filePart('image', PNG), gone])
        .toString('latin1')
        .replace('; name="gone"', '');
      const { answer, error } = await send(Buffer.from(unnamed, 'latin1'));
      if (gone.fileName === undefined) {
        expect([answer.status, answer.headers['x-ignored-params']]).toEqual([202, 'unnamed']);
      } else expect([error?.code, error?.param]).toEqual(['unsupported_parameter', 'unnamed']);
    }
    const several = bytesOf([
      textPart('prompt', REFUSED_PROMPT),
      filePart('image', PNG),
      textPart('', 'x'),
      textPart('', 'y'),
    ]);
    expect((await send(several)).answer.headers['x-ignored-params']).toBe('unnamed');
  });

  it.each([
    ['no header', 'x: y\r\n\r\n'],
    ['no blank line', 'content-disposition: form-data; name="size"\r\n'],
    ['nothing', ''],
    ['no semicolon', 'content-disposition: form-data name="size"\r\n\r\n'],
    ['another type', 'content-disposition: attachment; name="size"\r\n\r\n'],
    ['binary bytes', '\x00\x01\xff\r\ncontent-disposition: form-data; name="size"\r\n\r\n'],
    ['a line break in the name', 'content-disposition: form-data; name="si\nze"\r\n\r\n'],
  ])('are refused when a part has %s instead of a Content-Disposition', async (_case, head) => {
    const damaged = Buffer.from(`--${BOUNDARY}\r\n${head}1024x1024\r\n`, 'latin1');
    const good = bytesOf([textPart('prompt', REFUSED_PROMPT), filePart('image', PNG)]);
    const closing = `--${BOUNDARY}--\r\n`.length;
    const last = Buffer.concat([good.subarray(0, -closing), damaged, good.subarray(-closing)]);
    for (const body of [Buffer.concat([damaged, good]), last]) {
      expect((await send(body)).error?.code).toBe('invalid_multipart');
    }
  });

  it(
    'survive any damage to their bytes',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(splice, { minLength: 1, maxLength: 3 }), async (splices) => {
          let body = whole;
          for (const { at, cut, put } of splices) {
            body = Buffer.concat([body.subarray(0, at), Buffer.from(put, 'latin1'), body.subarray(at + cut)]);
          }
          const { answer } = await send(body);
          expect([202, 400]).toContain(answer.status);
        }),
        runs(150),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it(
    'survive any boundary and any spelling of their type',
    async () => {
      const boundary = fc.oneof(
        fc.string({ unit: 'grapheme-ascii', maxLength: 80 }),
        fc.constantFrom(
          '',
          '"',
          '""',
          '--',
          `"${BOUNDARY}"`,
          'a'.repeat(70),
          'a'.repeat(2_000),
          'a b',
          '[.*+?^$]',
          '\t',
        ),
      );
      const type = fc.constantFrom(
        'multipart/form-data; boundary=',
        'multipart/form-data; charset=utf-7; boundary=',
        'multipart/form-data;boundary*=',
        'Multipart/Form-Data; Boundary=',
      );
      await fc.assert(
        fc.asyncProperty(type, boundary, async (start, text) => {
          const { answer } = await send(
            bytesOf([textPart('prompt', REFUSED_PROMPT), filePart('image', PNG)], text),
            start + text,
          );
          expect([202, 400, 415]).toContain(answer.status);
        }),
        runs(60),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it('go on behind a long part that is ignored', async () => {
    const closing = `--${BOUNDARY}--\r\n`.length;
    const before = bytesOf([filePart('image', PNG)]).subarray(0, -closing);
    const long = bytesOf([textPart('gone', 'x'.repeat(200_000))]).subarray(0, -closing);
    const behind = bytesOf([textPart('prompt', REFUSED_PROMPT), textPart('n', '1')]);
    expect((await send(Buffer.concat([before, long, behind]))).answer.status).toBe(202);
    expect((await send(Buffer.concat([long, behind]))).error?.code).toBe('missing_required_parameter');
  });

  it('store nothing that stands behind a part that was refused', async () => {
    const { error } = await send(
      bytesOf([textPart('image', 'no file'), filePart('mask', PNG), filePart('image', PNG)]),
    );
    expect(error).toMatchObject({ code: 'invalid_type', param: 'image' });
  });

  it('end at 64 texts, at 128 parts and at texts too long, without a trace', async () => {
    const rest = [textPart('prompt', REFUSED_PROMPT), filePart('image', PNG)];
    const texts = (count: number): Part[] => Array.from({ length: count }, (_, index) => textPart(`t${index}`, 'x'));
    // File inputs in which nothing was chosen; any other unknown file would be refused for its name.
    const files = Array.from({ length: 200 }, (_, index) => ({
      ...filePart(`f${index}`, Buffer.alloc(0)),
      fileName: '',
    }));
    expect((await send(bytesOf([...rest, ...texts(63)]))).answer.status).toBe(202);
    for (const parts of [texts(100), files, texts(20_000)]) {
      expect((await send(bytesOf([...rest, ...parts]))).error?.code).toBe('invalid_multipart');
    }
    const long = await send(bytesOf([...rest, textPart('x'.repeat(5_000), 'y'.repeat(300_000))]));
    expect(long.error?.code).toMatch(/^(string_above_max_length|invalid_multipart)$/);
  });

  it('leave the platform as it was', () => expectNoDataLoss(platform, 'Damaged forms'));
});
