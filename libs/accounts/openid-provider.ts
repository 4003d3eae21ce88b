import * as openid from 'openid-client';
import { isLoopback } from './loopback.js';
import { shownNameOf, storedEmailOf } from './person-rules.js';
import type { SignInConfig } from './accounts.config.js';

/** Why a user who returns from the provider can't sign in; the sign-in page has a sentence for each. */
export type RefusalReason =
  /** The sign-in did not begin in this browser, or too long ago. */
  | 'not_begun'
  /** The provider refused, or the user canceled there. */
  | 'denied'
  /** The response does not match the request. */
  | 'failed'
  /** The provider does not respond, or not with a valid response. */
  | 'unavailable'
  | 'unverified'
  | 'not_invited'
  /** The email address belongs to a person with another identity at the provider. */
  | 'taken'
  | 'disabled'
  | 'link_used'
  | 'too_often';

/** A sign-in with the provider that failed; the sign-in page says why. */
export class OpenIdRefusal extends Error {
  override readonly name = 'OpenIdRefusal';
  /** `code` is OAuth's error code, for the log; `issuer` what the provider calls itself, if that is something else. */
  constructor(
    readonly reason: RefusalReason,
    readonly code?: string,
    readonly issuer?: string,
  ) {
    super(reason);
  }
}

/** For each request to the provider. */
const TIMEOUT_SECONDS = 5;
/** How long the provider's metadata is cached; an unknown key makes the client fetch the keys again. */
const METADATA_MS = 3_600_000;
const MAX_SUBJECT_LENGTH = 255;
/** Codes of a provider without a valid response; every other failure is a refusal. */
const UNAVAILABLE_CODES = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
]);

/** What the response is checked against; known only to the browser that began the sign-in. */
export interface Checks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** A user's identity at a provider: unlike an email address, it never changes hands. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

/** What the provider says about a user. */
export interface Claims extends Identity {
  /** As `storedEmailOf` spells it. */
  readonly email: string | undefined;
  readonly emailVerified: boolean;
  readonly name: string | undefined;
}

/** The OpenID Connect provider of the settings: authorization code flow with PKCE, state and nonce. */
export class OpenIdProvider {
  private known: { readonly configuration: Promise<openid.Configuration>; readonly until: number } | undefined;

  /** The settings must have an issuer; the provider redirects users to `redirectUri`. */
  constructor(
    private readonly config: SignInConfig,
    private readonly redirectUri: string,
  ) {}

  /** The URL to sign in at, and the checks for the response. Throws OpenIdRefusal `unavailable`. */
  async begin(): Promise<{ url: string; checks: Checks }> {
    const configuration = await this.discover();
    const checks = {
      state: openid.randomState(),
      nonce: openid.randomNonce(),
      verifier: openid.randomPKCECodeVerifier(),
    };
    const url = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: this.redirectUri,
      scope: 'openid email profile',
      state: checks.state,
      nonce: checks.nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(checks.verifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, checks };
  }

  /** The user who returned with this query (`?code=...`). Throws OpenIdRefusal. */
  async finish(query: string, { state, nonce, verifier }: Checks): Promise<Claims> {
    const configuration = await this.discover();
    const url = new URL(this.redirectUri);
    url.search = query;
    try {
      const tokens = await openid.authorizationCodeGrant(configuration, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
      });
      const claims = tokens.claims();
      if (claims === undefined || !isSubject(claims.sub)) throw new OpenIdRefusal('failed', 'subject');
      const told = await completed(claims, configuration, tokens.access_token);
      return {
        issuer: claims.iss,
        subject: claims.sub,
        email: storedEmailOf(told['email']),
        // Some providers send it as text.
        emailVerified: told['email_verified'] === true || told['email_verified'] === 'true',
        name: shownNameOf(told['name']),
      };
    } catch (error) {
      throw refusalOf(error);
    }
  }

  /** Fetches the provider's metadata unless it is cached. Throws OpenIdRefusal `unavailable`. */
  async discover(): Promise<openid.Configuration> {
    if (this.known === undefined || this.known.until < Date.now()) {
      this.known = { configuration: this.ask(), until: Date.now() + METADATA_MS };
    }
    const { known } = this;
    try {
      return await known.configuration;
    } catch (error) {
      // The next request tries again.
      if (this.known === known) this.known = undefined;
      throw new OpenIdRefusal('unavailable', codeOf(error), otherIssuerOf(error));
    }
  }

  private async ask(): Promise<openid.Configuration> {
    const { oidcIssuer = '', oidcClientId = '', oidcClientSecret } = this.config;
    const issuer = new URL(oidcIssuer);
    const execute = [openid.enableNonRepudiationChecks];
    if (issuer.protocol === 'http:' && isLoopback(issuer.hostname)) execute.push(openid.allowInsecureRequests);
    const authentication = oidcClientSecret === undefined ? openid.None() : withSecret(oidcClientSecret);
    return await openid.discovery(issuer, oidcClientId, undefined, authentication, {
      timeout: TIMEOUT_SECONDS,
      execute,
    });
  }
}

/** In the header, as the standard says, unless the provider does not support that. */
function withSecret(secret: string): openid.ClientAuth {
  const basic = openid.ClientSecretBasic(secret);
  const post = openid.ClientSecretPost(secret);
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    (methods.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
}

type Told = Readonly<Record<string, unknown>>;

/**
 * The claims of an ID token with those that many providers return only from their userinfo endpoint: the address and
 * whether it is verified, or only the latter. That counts for the same address alone.
 */
async function completed(
  claims: openid.IDToken,
  configuration: openid.Configuration,
  accessToken: string,
): Promise<Told> {
  const { email, email_verified: verified } = claims as Told;
  const isComplete = email !== undefined && verified !== undefined;
  if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
  const more: Told = { ...(await openid.fetchUserInfo(configuration, accessToken, claims.sub)) };
  if (email === undefined) return more;
  const isSame = storedEmailOf(more['email']) === storedEmailOf(email);
  return isSame ? { ...more, ...claims, email_verified: more['email_verified'] } : claims;
}

function isSubject(subject: string): boolean {
  return subject.length > 0 && subject.length <= MAX_SUBJECT_LENGTH && !/\p{C}/u.test(subject);
}

function refusalOf(error: unknown): OpenIdRefusal {
  if (error instanceof OpenIdRefusal) return error;
  const code = codeOf(error);
  if (error instanceof openid.AuthorizationResponseError) {
    return new OpenIdRefusal(error.error === 'access_denied' ? 'denied' : 'failed', code);
  }
  // A failed connection is a TypeError of fetch.
  return new OpenIdRefusal(UNAVAILABLE_CODES.has(code) || error instanceof TypeError ? 'unavailable' : 'failed', code);
}

/** What the provider calls itself, when it is not what the settings call it. */
function otherIssuerOf(error: unknown): string | undefined {
  const { cause } = error as { cause?: { attribute?: unknown; body?: { issuer?: unknown } } };
  const issuer = cause?.attribute === 'issuer' ? cause.body?.issuer : undefined;
  return typeof issuer === 'string' && URL.canParse(issuer) ? issuer : undefined;
}

/** A short code for the log, without anything else that a provider may have put there. */
function codeOf(error: unknown): string {
  const { error: told, code, cause } = error as { error?: unknown; code?: unknown; cause?: unknown };
  const word = [told, code, (cause as { code?: unknown } | undefined)?.code].find(
    (one): one is string => typeof one === 'string' && /^[\w-]{1,60}$/.test(one),
  );
  return word ?? (error instanceof Error ? error.name : 'unknown');
}
