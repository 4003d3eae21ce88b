import fc from 'fast-check';
import { gradientImage } from '#images/sample-images.fixture.js';
import type { Problem } from './field.js';

/** A reference image as a request may name it, with what the contract says of it. */
export interface Reference {
  readonly text: unknown;
  readonly problem?: string;
}

/** Small images of all kinds; the last two are converted for providers. */
export const [PNG, JPEG, WEBP, GIF, AVIF] = await Promise.all([
  gradientImage(96, 80, 'png'),
  gradientImage(96, 80, 'jpeg'),
  gradientImage(96, 80, 'webp'),
  gradientImage(96, 80, 'gif'),
  gradientImage(96, 80, 'avif', 4),
]);
const base64 = (bytes: Buffer): string => bytes.toString('base64');
const bare = (bytes: Buffer): string => base64(bytes).replace(/=+$/, '');

const TAKEN = [
  ...[PNG, JPEG, WEBP].flatMap((bytes) => [
    `data:image/png;base64,${base64(bytes)}`,
    `data:image/jpeg;base64,${bare(bytes)}`,
    `data:image/png;charset=utf-8;base64,${base64(bytes).replace(/.{76}/g, '$&\r\n')}`,
    `DATA:IMAGE/WEBP;BASE64,${base64(bytes)}`,
    `data:image/jpg; base64, ${base64(bytes)}`,
    `data:application/octet-stream;name="a b.png";base64,${bytes.toString('base64url')}`,
    `data:;base64,${encodeURIComponent(base64(bytes))}`,
  ]),
  ...['http://nowhere.invalid/a.png', 'https://nowhere.invalid:443/?a=b#c', 'HTTPS://NOWHERE.INVALID'],
];

const REFUSED: Readonly<Record<string, readonly unknown[]>> = {
  invalid_type: [1, true, {}, [], [`data:image/png;base64,${base64(PNG)}`], { url: 'http://nowhere.invalid/' }],
  invalid_base64_image: [
    ...['data:image/png;base64,', 'data:image/png,abc', 'data:image/png;base64'],
    ...[`data:image/png;base64,${base64(PNG).slice(0, 41)}`, `data:image/png;base64,${base64(PNG)}*`],
    `data:image/png;base64,${base64(PNG)}====`,
    `data:image/png;base64,${base64(PNG).replace(/.{20}/, '$&%3D')}`,
  ],
  unsupported_image_media_type: [
    ...['data:image/svg+xml;base64,PHN2Zy8+PHN2Zy8+PHN2Zy8+', 'data:image/heic;base64,AAAAGGZ0eXBoZWlj'],
    `data:image/png;base64,${base64(Buffer.from('<html><script>alert(1)</script></html>'))}`,
    ...['data:image/;base64,AAAA', 'data:image/png;charset=x;base64,AA=='],
  ],
  invalid_image_url: [
    ...[
      '',
      ' ',
      'a.png',
      '/a.png',
      '//nowhere.invalid/a.png',
      'ftp://nowhere.invalid/',
      'file:///etc/passwd',
      'http://',
    ],
    ...[
      'data:text/html;base64,AAAA',
      'javascript:alert(1)',
      'http://u:p@nowhere.invalid/',
      'http://nowhere.invalid:22/',
    ],
    ...[
      'http://127.0.0.1/',
      'http://[::1]/',
      'http://2130706433/',
      'http://localhost/',
      'http://10.0.0.1/',
      'https://0/',
    ],
    ...[
      `https://nowhere.invalid/${'a'.repeat(8_200)}`,
      'https://nowhere.invalid/ a',
      'http://nowhere.invalid\\@10.0.0.1/',
    ],
  ],
};

const TAKEN_ONES: readonly Reference[] = TAKEN.map((text) => ({ text }));
const REFUSED_ONES: readonly Reference[] = Object.entries(REFUSED).flatMap(([problem, texts]) =>
  texts.map((text) => ({ text, problem })),
);
/** One that is taken and short. */
export const EXAMPLE: Reference = { text: 'http://nowhere.invalid/a.png' };
/** Every form of a reference that is known here. */
export const REFERENCES: readonly Reference[] = [...TAKEN_ONES, ...REFUSED_ONES];

const taken: fc.Arbitrary<Reference> = fc.constantFrom(...TAKEN_ONES);
const refused: fc.Arbitrary<Reference> = fc.constantFrom(...REFUSED_ONES);
/** Text that begins like none of the forms the contract knows. */
const noise: fc.Arbitrary<Reference> = fc
  .string({ unit: 'binary', maxLength: 60 })
  .filter((text) => !/^(https?:\/\/|data:image\/)/i.test(text))
  .map((text) => ({ text, problem: 'invalid_image_url' }));

export const goodReference = taken;
export const anyReference = fc.oneof({ weight: 6, arbitrary: taken }, { weight: 2, arbitrary: refused }, noise);

/** The problems of a list of references that the contract limits to 16. */
export function listProblems(references: readonly Reference[], at: (index: number) => string): Problem[] {
  if (references.length > 16) return [{ code: 'array_above_max_length' }];
  return references.flatMap(({ problem }, index) => (problem === undefined ? [] : [{ code: problem, at: at(index) }]));
}
