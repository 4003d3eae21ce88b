import { ConfigError, loadConfig } from '#config/load-config.js';
import { SignInConfig } from './accounts.config.js';

const ISSUER = { OIDC_ISSUER: 'https://login.example.org/realms/team', OIDC_CLIENT_ID: 'darkroom' };

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    loadConfig([SignInConfig], env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('the settings of the sign-in', () => {
  it('are passwords alone unless told', () => {
    const [config] = loadConfig([SignInConfig], {});
    expect(config).toEqual({ oidcName: 'single sign-on', oidcDomains: [], passwordSignIn: true });
  });

  it.each<Record<string, string>>([
    ISSUER,
    { ...ISSUER, OIDC_CLIENT_SECRET: 's', OIDC_NAME: 'Example SSO', OIDC_DOMAINS: 'example.org, a.example.com' },
    { ...ISSUER, PASSWORD_SIGN_IN: 'false' },
    { ...ISSUER, OIDC_ISSUER: 'http://localhost:8080' },
    { ...ISSUER, OIDC_ISSUER: 'http://127.0.0.1:8080/realms/team' },
    { ...ISSUER, OIDC_ISSUER: 'http://[::1]:8080' },
  ])('may be %j', (env) => {
    expect(problemsOf(env)).toEqual([]);
  });

  it.each<[Record<string, string>, RegExp]>([
    [{ OIDC_ISSUER: ISSUER.OIDC_ISSUER }, /^OIDC_CLIENT_ID must be given with OIDC_ISSUER/],
    [{ OIDC_CLIENT_ID: 'darkroom' }, /^OIDC_CLIENT_ID must be given with OIDC_ISSUER, and only with it/],
    [{ OIDC_CLIENT_SECRET: 's' }, /^OIDC_CLIENT_SECRET must be given only with OIDC_ISSUER/],
    [{ OIDC_DOMAINS: 'example.org' }, /^OIDC_DOMAINS must be given only with OIDC_ISSUER/],
    [{ PASSWORD_SIGN_IN: 'false' }, /^PASSWORD_SIGN_IN must not be false without OIDC_ISSUER/],
    [{ ...ISSUER, OIDC_ISSUER: 'http://login.example.org' }, /^OIDC_ISSUER must be the https URL/],
    [{ ...ISSUER, OIDC_ISSUER: 'http://127.0.0.1.example.org' }, /^OIDC_ISSUER/],
    [{ ...ISSUER, OIDC_ISSUER: 'https://login.example.org/.well-known/openid-configuration' }, /^OIDC_ISSUER/],
    [{ ...ISSUER, OIDC_ISSUER: 'https://user:secret@login.example.org' }, /^OIDC_ISSUER/],
    [{ ...ISSUER, OIDC_ISSUER: 'login.example.org' }, /^OIDC_ISSUER/],
    [{ ...ISSUER, OIDC_DOMAINS: 'example.org,@example.com' }, /^OIDC_DOMAINS must be domains/],
    [{ ...ISSUER, OIDC_DOMAINS: '*' }, /^OIDC_DOMAINS must be domains/],
    [{ ...ISSUER, OIDC_NAME: 'x'.repeat(41) }, /^OIDC_NAME must have/],
  ])('may not be %j', (env, problem) => {
    const problems = problemsOf(env);
    expect(problems).toEqual([expect.stringMatching(problem)]);
  });
});
