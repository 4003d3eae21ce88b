import { randomBytes } from 'node:crypto';
import { loadConfig } from '#config/load-config.js';
import { guessableSecrets, SecretsConfig } from './secrets.config.js';

const guessable = (secretKey: string): string[] =>
  guessableSecrets(loadConfig([SecretsConfig], { SECRET_KEY: secretKey })[0]);

describe('SecretsConfig', () => {
  it('needs a SECRET_KEY of 32 characters, and never shows it', () => {
    expect(() => loadConfig([SecretsConfig], {})).toThrow(/SECRET_KEY is required/);
    expect(() => loadConfig([SecretsConfig], { SECRET_KEY: 'short-one' })).toThrow(/at least 32/);
    expect(() => loadConfig([SecretsConfig], { SECRET_KEY: 'short-one' })).not.toThrow(/short-one/);
  });

  it.each(['a'.repeat(40), 'please-change-me-please-change-me-please', '0123456789abcdef0123456789abcdef'])(
    'names a secret that can be guessed: %s',
    (secret) => {
      expect(guessable(secret)).toEqual(['SECRET_KEY']);
    },
  );

  it('takes a random one', () => {
    expect(guessable(randomBytes(32).toString('hex'))).toEqual([]);
    expect(guessable(randomBytes(32).toString('base64url'))).toEqual([]);
  });
});
