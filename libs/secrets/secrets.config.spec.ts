import { randomBytes } from 'node:crypto';
import { loadConfig } from '#config/load-config.js';
import { SecretsConfig } from './secrets.config.js';

const load = (secret: string, nodeEnv = 'production', name = 'SECRET_KEY') =>
  loadConfig([SecretsConfig], { SECRET_KEY: RANDOM, [name]: secret, NODE_ENV: nodeEnv })[0];
const RANDOM = randomBytes(32).toString('hex');

describe('SecretsConfig', () => {
  it('needs a SECRET_KEY of 32 characters, and never shows it', () => {
    expect(() => loadConfig([SecretsConfig], {})).toThrow(/SECRET_KEY is required/);
    expect(() => loadConfig([SecretsConfig], { SECRET_KEY: 'short-one' })).toThrow(/at least 32/);
    expect(() => loadConfig([SecretsConfig], { SECRET_KEY: 'short-one' })).not.toThrow(/short-one/);
  });

  it.each(['a'.repeat(40), 'please-change-me-please-change-me-please', '0123456789abcdef0123456789abcdef'])(
    'refuses a secret in production that can be guessed: %s',
    (secret) => {
      expect(() => load(secret)).toThrow(
        /^Invalid settings:\n {2}- SECRET_KEY is easy to guess; generate a random one$/,
      );
      expect(() => load(secret, 'production', 'SECRET_KEY_PREVIOUS')).toThrow(/- SECRET_KEY_PREVIOUS is easy to guess/);
      expect(load(secret, 'development').secretKey).toBe(secret);
    },
  );

  it('takes a random one', () => {
    expect(load(RANDOM).secretKey).toBe(RANDOM);
    const other = randomBytes(32).toString('base64url');
    expect(load(other).secretKey).toBe(other);
  });
});
