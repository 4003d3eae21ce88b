import fc from 'fast-check';
import { anyJson, choice, flag, integer, text, type Field, type Problem } from './field.js';
import { anyReference, EXAMPLE, goodReference, listProblems, REFERENCES, type Reference } from './references.js';

const RATIOS = '1:1 3:2 2:3 4:3 3:4 5:4 4:5 16:9 9:16 2:1 1:2 21:9 9:21'.split(' ');
const notText = anyJson.filter((value) => value !== null && typeof value !== 'string');

/** Begins with what makes the sandbox refuse it, so that a task that was accepted ends at once and draws nothing. */
export const REFUSED_PROMPT = '[[fault=moderation]]';

const model: Field = {
  ...choice('model', ['gpt-image-2']),
  judge: (value) => {
    if (typeof value !== 'string') return [{ code: 'invalid_type' }];
    return value === 'gpt-image-2' ? [] : [{ code: 'model_not_found' }];
  },
};

function promptOf(letter: string, points: number): string {
  return REFUSED_PROMPT + letter.repeat(points - REFUSED_PROMPT.length);
}
const promptsAboutTheLimit = fc
  .tuple(fc.constantFrom('a', '字', '𝕏'), fc.constantFrom(31_999, 32_000, 32_001))
  .map(([letter, points]) => promptOf(letter, points));
const anyPrompt = text('prompt', 1, 32_000);
const prompt: Field = {
  ...anyPrompt,
  required: true,
  valid: anyPrompt.valid.map((value) => `${REFUSED_PROMPT} ${String(value)}`),
  odd: fc.oneof(anyPrompt.odd, promptsAboutTheLimit),
  edges: [
    '',
    'a\u0000b',
    ...['a', '𝕏'].flatMap((letter) => [32_000, 32_001].map((points) => promptOf(letter, points))),
  ],
};

const RESOLUTIONS = choice('resolution', ['1k', '2k', '4k']);
const resolution: Field = {
  ...RESOLUTIONS,
  valid: fc.constantFrom('1k', '2k', '4k', '1K', '2K', '4K'),
  edges: ['1k', '2k', '4k', '1K', '2K', '4K', '3k', 'k', '1024'],
  judge: (value) => RESOLUTIONS.judge(typeof value === 'string' ? value.replace(/^([124])K$/, '$1k') : value),
};

const common: readonly Field[] = [
  prompt,
  integer('n', 1, 1),
  resolution,
  choice('response_format', ['url', 'b64_json']),
  choice('background', ['transparent', 'opaque', 'auto']),
  choice('moderation', ['low', 'auto']),
  choice('output_format', ['png', 'jpeg', 'webp']),
  integer('output_compression', 0, 100),
  text('user', 0, 2_048),
  text('safety_identifier', 0, 64),
  flag('stream'),
  integer('partial_images', 0, 3),
  flag('strict'),
];

/** The rules that span fields, for what is right by itself. */
export function combinationProblems(sent: ReadonlyMap<string, unknown>, asynchronous: boolean): string[] {
  const problems: string[] = [];
  if (sent.get('background') === 'transparent' && sent.get('output_format') === 'jpeg') {
    problems.push('invalid_value at background');
  }
  if (sent.get('stream') === true && asynchronous) problems.push('invalid_value at stream');
  if (sent.get('stream') === true && sent.get('response_format') === 'url') {
    problems.push('invalid_value at response_format');
  }
  if (asynchronous && sent.get('response_format') === 'b64_json') problems.push('invalid_value at response_format');
  return problems;
}

/** A right compression of what has none: without a format, it is a PNG. */
export function losesCompression(sent: ReadonlyMap<string, unknown>): boolean {
  const value = sent.get('output_compression');
  const format = sent.get('output_format');
  const isRight = Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 100;
  return isRight && (format === undefined || format === null || format === 'png');
}

/** What a request says to no effect: what nobody knows, what its format has not, a resolution beside pixels. Null says nothing. */
export function ignoredOf(fields: readonly Field[], sent: ReadonlyMap<string, unknown>): string[] {
  const size = sent.get('size');
  const isPixels = typeof size === 'string' && /^[1-9]\d*x[1-9]\d*$/.test(size);
  return [...sent.keys()].filter(
    (name) =>
      sent.get(name) !== null &&
      (!fields.some((field) => field.name === name) ||
        (name === 'resolution' && isPixels) ||
        (name === 'output_compression' && losesCompression(sent))),
  );
}

/** With `strict: true` nothing is ignored, and pixels are only those that the model makes itself. */
export function strictProblems(sent: ReadonlyMap<string, unknown>, unknown: readonly string[]): string[] {
  if (sent.get('strict') !== true) return [];
  const problems = unknown.map((name) => `unsupported_parameter at ${name.replace(/[^A-Za-z0-9_.[\]-]/g, '_')}`);
  const size = sent.get('size');
  const pixels = typeof size === 'string' ? /^([1-9]\d*)x([1-9]\d*)$/.exec(size) : null;
  const [, width = 0, height = 0] = pixels?.map(Number) ?? [];
  const isAllowed = width % 16 === 0 && height % 16 === 0 && width * height >= 655_360;
  return width > 0 && !isAllowed ? [...problems, 'invalid_value at size'] : problems;
}

/** The rule of free sizes, as the contract words it. */
function pixelsAllowed(size: string): boolean {
  const [width = 0, height = 0] = /^[1-9]\d*x[1-9]\d*$/.test(size) ? size.split('x').map(Number) : [];
  const area = width * height;
  const short = Math.min(width, height);
  const long = Math.max(width, height);
  return short >= 64 && long <= 3_840 && long <= 3 * short && area <= 8_294_400;
}

const sixteenths = fc.integer({ min: 20, max: 245 }).map((steps) => steps * 16);
const pixelSizes = fc.oneof(
  fc.tuple(sixteenths, sixteenths),
  fc.tuple(fc.integer({ min: 60, max: 4_000 }), fc.integer({ min: 60, max: 4_000 })),
  fc.constantFrom<[number, number]>([3840, 2160], [3840, 2176], [3840, 1280], [3840, 1264], [1024, 640], [1008, 640]),
);

const sizeField: Field = {
  name: 'size',
  valid: fc.oneof(
    fc.constantFrom('auto', ...RATIOS),
    pixelSizes.map(([width, height]) => `${width}x${height}`).filter(pixelsAllowed),
  ),
  odd: fc.oneof(
    pixelSizes.map(([width, height]) => `${width}x${height}`),
    fc.constantFrom(
      '1024X1024',
      '01024x1024',
      '1024x1024 ',
      '1e3x1000',
      '-1024x-1024',
      '1024x1024x1024',
      '9'.repeat(400),
    ),
    fc.string(),
    notText,
  ),
  edges: [
    ...[
      'auto',
      '1:1',
      '3840x2160',
      '3840x2176',
      '3856x1600',
      '3840x1280',
      '3840x1264',
      '1024x1024',
      '64x64',
      '63x64',
      '192x64',
      '193x64',
    ],
    ...['1280x3840', '1264x3840', '1000x1000', '2881x2879', '3841x2000', '0x0', '1024'],
  ],
  judge: (value) => {
    if (typeof value !== 'string') return [{ code: 'invalid_type' }];
    return ['auto', ...RATIOS].includes(value) || pixelsAllowed(value) ? [] : [{ code: 'invalid_value' }];
  },
};

/** Judges a value that was made from references by remembering which ones they were. */
function remembered<T>(
  name: string,
  lists: { valid: fc.Arbitrary<T>; odd: fc.Arbitrary<T>; edges: readonly T[] },
  wire: (from: T) => unknown,
  judge: (from: T) => Problem[],
  others: { values: fc.Arbitrary<unknown>; judge: (value: unknown) => Problem[] },
): Field {
  const sources = new WeakMap<object, T>();
  const remember = (from: T): unknown => {
    const value = wire(from);
    sources.set(value as object, from);
    return value;
  };
  return {
    name,
    valid: lists.valid.map(remember),
    odd: fc.oneof({ weight: 3, arbitrary: lists.odd.map(remember) }, others.values),
    edges: lists.edges.map(remember),
    judge: (value) => {
      const from = typeof value === 'object' && value !== null ? sources.get(value) : undefined;
      return from === undefined ? others.judge(value) : judge(from);
    },
  };
}

const imageUrls = remembered<readonly Reference[]>(
  'image_urls',
  {
    valid: fc.array(goodReference, { maxLength: 3 }),
    odd: fc.array(anyReference, { maxLength: 18, size: 'max' }),
    edges: [
      [],
      Array<Reference>(16).fill(EXAMPLE),
      Array<Reference>(17).fill(EXAMPLE),
      ...REFERENCES.map((one) => [one]),
    ],
  },
  (references) => references.map(({ text: value }) => value),
  (references) => listProblems(references, (index) => `[${index}]`),
  {
    values: anyJson.filter((value) => value !== null && !Array.isArray(value)),
    judge: () => [{ code: 'invalid_type' }],
  },
);

interface EditImage {
  readonly wire: unknown;
  readonly problem?: Problem;
}

const reference = (from: Reference): EditImage => ({
  wire: { image_url: from.text },
  ...(from.problem === undefined ? {} : { problem: { code: from.problem, at: '.image_url' } }),
});
const oddImage: fc.Arbitrary<EditImage> = fc.oneof(
  { weight: 4, arbitrary: anyReference.map(reference) },
  fc.constantFrom<EditImage>(
    ...['x', 1, null, [], true].map((wire) => ({ wire, problem: { code: 'invalid_type' } })),
    { wire: {}, problem: { code: 'missing_required_parameter', at: '.image_url' } },
    { wire: { image_url: null }, problem: { code: 'missing_required_parameter', at: '.image_url' } },
    { wire: { file_id: 'file-1' }, problem: { code: 'unsupported_parameter', at: '.file_id' } },
  ),
);

const images = remembered<readonly EditImage[]>(
  'images',
  {
    valid: fc.array(goodReference.map(reference), { minLength: 1, maxLength: 3 }),
    odd: fc.array(oddImage, { maxLength: 18, size: 'max' }),
    edges: [0, 1, 16, 17].map((count) => Array<EditImage>(count).fill(reference(EXAMPLE))),
  },
  (list) => list.map(({ wire }) => wire),
  (list) => {
    if (list.length === 0) return [{ code: 'array_below_min_length' }];
    if (list.length > 16) return [{ code: 'array_above_max_length' }];
    return list.flatMap(({ problem }, index) =>
      problem === undefined ? [] : [{ code: problem.code, at: `[${index}]${problem.at ?? ''}` }],
    );
  },
  {
    values: anyJson.filter((value) => value !== null && !Array.isArray(value)),
    judge: () => [{ code: 'invalid_type' }],
  },
);

const mask = remembered<EditImage>(
  'mask',
  { valid: goodReference.map(reference), odd: anyReference.map(reference), edges: REFERENCES.map(reference) },
  ({ wire }) => wire,
  ({ problem }) => (problem === undefined ? [] : [problem]),
  {
    values: anyJson.filter((value) => value !== null && (typeof value !== 'object' || Array.isArray(value))),
    judge: () => [{ code: 'invalid_type' }],
  },
);

const callbackUrl: Field = {
  name: 'callback_url',
  valid: fc.constantFrom('https://nowhere.invalid/hook', 'HTTPS://nowhere.invalid/?a=b'),
  odd: fc.oneof(
    fc.constantFrom<unknown>(
      ...[
        'http://nowhere.invalid/',
        'https://127.0.0.1/',
        'https://[::ffff:127.0.0.1]/',
        'https://localhost/',
        'https://',
      ],
      ...[`https://nowhere.invalid/${'a'.repeat(2_048)}`, 'ftp://nowhere.invalid/', 'https://u:p@nowhere.invalid/', ''],
    ),
    notText,
  ),
  edges: [2_048, 2_049].map((length) => 'https://nowhere.invalid/'.padEnd(length, 'a')),
  judge: (value) => {
    if (typeof value !== 'string') return [{ code: 'invalid_type' }];
    if (value.length > 2_048) return [{ code: 'string_above_max_length' }];
    return /^https:\/\/nowhere\.invalid\//i.test(value) ? [] : [{ code: 'invalid_value' }];
  },
};

const QUALITIES = ['low', 'medium', 'high', 'auto', 'standard'];
const editOptions: readonly Field[] = [
  ...common,
  model,
  sizeField,
  choice('quality', QUALITIES),
  choice('input_fidelity', ['high', 'low']),
];

/** The fields of POST /v1/images/generations, its async form without callback_url. */
export const GENERATION_FIELDS: readonly Field[] = [
  ...common,
  { ...model, required: true },
  sizeField,
  choice('quality', [...QUALITIES, 'hd']),
  imageUrls,
];
/** The fields of a JSON POST /v1/images/edits. */
export const EDIT_FIELDS: readonly Field[] = [...editOptions, { ...images, required: true }, mask];
/** The text fields of a multipart edit, as the values that their texts stand for. */
export const FORM_FIELDS: readonly Field[] = editOptions;
/** What the async forms take besides. */
export const CALLBACK: Field = callbackUrl;
