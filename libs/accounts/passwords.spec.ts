import { PasswordHashLimiter } from './password-hash-limiter.js';
import { Passwords } from './passwords.js';

const FORM = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/;
const saltOf = (stored: string): string => stored.split('$')[4] ?? '';

describe('Passwords', () => {
  const passwords = new Passwords(new PasswordHashLimiter());

  it('stores Argon2id under a salt of its own, or of the hash it is told to be like', async () => {
    const one = await passwords.hash('net', 'correct horse');
    const other = await passwords.hash('net', 'correct horse');
    expect([one, other]).toEqual([expect.stringMatching(FORM), expect.stringMatching(FORM)]);
    expect(saltOf(one)).not.toBe(saltOf(other));
    const alike = await passwords.hash('net', 'another horse', one);
    expect(saltOf(alike)).toBe(saltOf(one));
    expect(await passwords.hash('net', 'another', 'no hash at all')).toMatch(FORM);
  });

  it('finds the hashes that a password belongs to, of one salt or of several', async () => {
    const one = await passwords.hash('net', 'correct horse');
    const alike = await passwords.hash('net', 'another horse', one);
    const other = await passwords.hash('net', 'correct horse');
    const stored = [one, alike, other, 'no hash at all', ''];
    expect(await passwords.matching('net', 'correct horse', stored)).toEqual(new Set([one, other]));
    expect(await passwords.matching('net', 'another horse', stored)).toEqual(new Set([alike]));
    expect(await passwords.matching('net', 'nobody signs in with this', [])).toEqual(new Set());
  });

  it('goes by the cost that a hash was made with', async () => {
    const older = '$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$fGboIvzlkt1eU7JnWpaFoCiFdQqj41xKJW/x6HC4Hu4';
    expect(await passwords.matching('net', 'correct horse', [older])).toEqual(new Set([older]));
    expect(await passwords.matching('net', 'wrong', [older])).toEqual(new Set());
  });
});
