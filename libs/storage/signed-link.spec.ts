import fc from 'fast-check';
import { loadConfig } from '#config/load-config.js';
import { resultOfFileName } from './object-key.js';
import { ResultLinks } from './result-links.js';
import { LinkSigner } from './signed-link.js';
import { StorageConfig } from './storage.config.js';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const HOUR = 3_600;
const KEY = 'results/task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A-2.png';
const secretKey = 'a secret of thirty-two characters';
let now = NOW;
const clock = (): number => now;
const signer = new LinkSigner({ secretKey }, 'https://images.example/base/', clock);

function parts(url: string): { file: string; exp: string; sig: string } {
  const { pathname, searchParams } = new URL(url);
  return {
    file: pathname.split('/').at(-1) ?? '',
    exp: searchParams.get('exp') ?? '',
    sig: searchParams.get('sig') ?? '',
  };
}

function linkOf(env: Record<string, string>, finishedAt: number, objectKey = KEY) {
  const [config] = loadConfig([StorageConfig] as const, env);
  return new ResultLinks(config, signer, clock).linkFor({ objectKey, finishedAt: new Date(finishedAt) });
}

beforeEach(() => (now = NOW));

describe('LinkSigner', () => {
  const { url, expiresAt } = signer.sign(KEY, NOW / 1_000 + HOUR);
  const { file, exp, sig } = parts(url);

  it('verifies what it signed until it expires', () => {
    expect(url).toMatch(
      /^https:\/\/images\.example\/base\/i\/task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A-2\.png\?exp=\d+&sig=[\w-]{22}$/,
    );
    expect(signer.verify(file, exp, sig)).toBe('ok');
    now = expiresAt * 1_000 - 1;
    expect(signer.verify(file, exp, sig)).toBe('ok');
    now = expiresAt * 1_000;
    expect(signer.verify(file, exp, sig)).toBe('expired');
  });

  it('takes nothing that differs in a single character', () => {
    const character = fc.constantFrom(...'AZaz09-_.+/=% \u00e4\n\0');
    const field = fc.constantFrom(0, 1, 2);
    fc.assert(
      fc.property(field, fc.nat(60), character, fc.constantFrom('put', 'cut', 'add'), (which, place, letter, how) => {
        const given: [string, string, string] = [file, exp, sig];
        const text = given[which];
        const at = place % text.length;
        const changed = text.slice(0, at) + (how === 'cut' ? '' : letter) + text.slice(how === 'add' ? at : at + 1);
        given[which] = changed;
        expect(signer.verify(...given)).toBe(changed === text ? 'ok' : 'invalid');
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['another file', file.replace('-2', '-1'), exp, sig],
    ['a later expiry', file, String(expiresAt + 1), sig],
    ['an expiry spelt otherwise', file, `${exp}.0`, sig],
    ['an expiry twice', file, [exp, exp], sig],
    ['no expiry', file, undefined, sig],
    ['an empty expiry', file, '', sig],
    ['a signature twice', file, exp, [sig, sig]],
    ['no signature', file, exp, undefined],
    ['a shorter signature', file, exp, sig.slice(1)],
    ['a padded signature', file, exp, `${sig}==`],
    ['other characters', file, exp, '!'.repeat(22)],
    ['a changed signature', file, exp, (sig.startsWith('A') ? 'B' : 'A') + sig.slice(1)],
    ['spare bits of the signature', file, exp, sig.slice(0, -1) + nextCharacter(sig.at(-1) ?? '')],
  ])('takes %s for invalid', (_, givenFile, givenExp, givenSig) => {
    expect(signer.verify(givenFile, givenExp, givenSig)).toBe('invalid');
  });

  it('keeps old links alive through a rotation, and signs with the new secret', () => {
    const rotated = new LinkSigner(
      { secretKey: 'the next secret', previousSecretKey: secretKey },
      'https://a.example',
      clock,
    );
    expect(rotated.verify(file, exp, sig)).toBe('ok');
    const fresh = parts(rotated.sign(KEY, expiresAt).url);
    expect(rotated.verify(file, fresh.exp, fresh.sig)).toBe('ok');
    expect(signer.verify(file, fresh.exp, fresh.sig)).toBe('invalid');
    expect(new LinkSigner({ secretKey: 'the next secret' }, '', clock).verify(file, exp, sig)).toBe('invalid');
  });

  it.each([
    'inputs/task_1/0',
    'checks/x-1.png',
    'results/../inputs/x-1.png',
    'results/a/b-1.png',
    'results/task_1-1.tiff',
  ])('never links %s', (key) => {
    expect(() => signer.sign(key, expiresAt)).toThrow('only results');
    expect(() => linkOf({}, NOW, key)).toThrow('only results');
    expect(() => linkOf(presigned, NOW, key)).toThrow('only results');
  });
});

const presigned = {
  STORAGE: 's3',
  S3_LINKS: 'presigned',
  S3_BUCKET: 'images',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'secret',
  S3_ENDPOINT: 'http://store:9000',
  S3_PUBLIC_ENDPOINT: 'https://store.example',
};

describe('ResultLinks', () => {
  it('lets a link live as long as the settings say, but never longer than its image', () => {
    const life = (finishedAgo: number, env = {}) =>
      (linkOf(env, NOW - finishedAgo * 1_000)?.expiresAt ?? 0) - NOW / 1_000;
    expect(life(0)).toBe(24 * HOUR);
    expect(life(0, { LINK_TTL_SECONDS: '600' })).toBe(600);
    expect(life(60 * HOUR)).toBe(12 * HOUR);
    expect(life(60 * HOUR, presigned)).toBe(12 * HOUR);
    expect(linkOf({}, NOW - 72 * HOUR * 1_000)).toBeUndefined();
    const week = { IMAGE_RETENTION_HOURS: '168' };
    expect([life(0, week), life(160 * HOUR, week), life(168 * HOUR - 1, week)]).toEqual([24 * HOUR, 8 * HOUR, 1]);
    expect(linkOf(week, NOW - 168 * HOUR * 1_000)).toBeUndefined();
    expect(life(0, { IMAGE_RETENTION_HOURS: '1' })).toBe(HOUR);
  });

  it('points to the store itself where the settings say so', () => {
    const start = /^https:\/\/store\.example\/images\/results\/task_\w+-2\.png\?X-Amz-Algorithm=.*X-Amz-Expires=86400&/;
    expect(linkOf(presigned, NOW)?.url).toMatch(start);
    const onHost = linkOf({ ...presigned, S3_FORCE_PATH_STYLE: 'false' }, NOW)?.url;
    expect(onHost).toMatch(/^https:\/\/images\.store\.example\/results\/task_/);
  });
});

describe('resultOfFileName', () => {
  it('finds the object and type behind a name, and nothing behind other names', () => {
    expect(resultOfFileName('task_1-2.jpeg')).toEqual({ key: 'results/task_1-2.jpeg', contentType: 'image/jpeg' });
    for (const name of ['', 'x.png', '../x-1.png', 'x-1.png/y', 'x-1.tiff', 'x-1.png\n'])
      expect(resultOfFileName(name)).toBeUndefined();
  });
});

function nextCharacter(character: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return alphabet[alphabet.indexOf(character) + 1] ?? 'A';
}
