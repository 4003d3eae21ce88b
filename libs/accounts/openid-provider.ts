import * as openid from 'openid-client';
import { isLoopback } from './loopback.js';
import { shownNameOf, storedEmailOf } from './person-rules.js';
import type { SignInConfig } from './accounts.config.js';

/** Why somebody who came back from the provider is not let in; the sign-in page has a sentence for each. */
export type RefusalReason =
  /** The browser did not begin here, or too long ago. */
  | 'not_begun'
  /** The provider said no, or the person did there. */
  | 'denied'
  /** What came back does not hold against what was asked for. */
  | 'failed'
  /** The provider does not answer, or not as one. */
  | 'unavailable'
  | 'unverified'
  | 'not_invited'
  /** The email address is of somebody whom the provider knows as another. */
  | 'taken'
  | 'disabled'
  | 'link_used'
  | 'too_often';

/** A sign-in with the provider that ends on the sign-in page. */
export class OpenIdRefusal extends Error {
  override readonly name = 'OpenIdRefusal';
  /** `code` is the field's own word for what went wrong, for the log. */
  constructor(
    readonly reason: RefusalReason,
    readonly code?: string,
  ) {
    super(reason);
  }
}

/** For each request to the provider. */
const TIMEOUT_SECONDS = 5;
/** How long what the provider says of itself is believed; its keys are asked for again when one is unknown. */
const METADATA_MS = 3_600_000;
const MAX_SUBJECT_LENGTH = 255;
/** Codes of a provider that does not answer as one; every other failure is a refusal. */
const SILENT = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON']);

/** What one way to the provider and back is checked with; known to the browser that began it alone. */
export interface Checks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Who somebody is at a provider: an email address may change hands, this never does. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

/** What the provider says of somebody. */
export interface Claims extends Identity {
  /** As `storedEmailOf` spells it. */
  readonly email: string | undefined;
  readonly emailVerified: boolean;
  readonly name: string | undefined;
}

/** The OpenID Connect provider of the settings: authorization code flow with PKCE, state and nonce. */
export class OpenIdProvider {
  private known: { readonly configuration: Promise<openid.Configuration>; readonly until: number } | undefined;

  /** The settings must have an issuer; the provider sends people back to `redirectUri`. */
  constructor(
    private readonly config: SignInConfig,
    private readonly redirectUri: string,
  ) {}

  /** Where a browser is sent to sign in, and what its return is checked with. Throws OpenIdRefusal `unavailable`. */
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

  /** Who came back with this query (`?code=...`). Throws OpenIdRefusal. */
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
      // Many providers say who somebody is only when they are asked.
      const told =
        claims['email'] === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined
          ? { ...(await openid.fetchUserInfo(configuration, tokens.access_token, claims.sub)) }
          : claims;
      return {
        issuer: claims.iss,
        subject: claims.sub,
        email: storedEmailOf(told['email']),
        emailVerified: told['email_verified'] === true,
        name: shownNameOf(told['name']),
      };
    } catch (error) {
      throw refusalOf(error);
    }
  }

  /** Finds out where the provider's endpoints are, if that is not known. Throws OpenIdRefusal `unavailable`. */
  async discover(): Promise<openid.Configuration> {
    if (this.known === undefined || this.known.until < Date.now()) {
      this.known = { configuration: this.ask(), until: Date.now() + METADATA_MS };
    }
    const { known } = this;
    try {
      return await known.configuration;
    } catch (error) {
      // Whoever comes next asks again.
      if (this.known === known) this.known = undefined;
      throw new OpenIdRefusal('unavailable', codeOf(error));
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

/** In the header, as the standard has it unless the provider says that it can't. */
function withSecret(secret: string): openid.ClientAuth {
  const [basic, post] = [openid.ClientSecretBasic(secret), openid.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    (methods.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
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
  // A connection that fails is a TypeError of fetch.
  return new OpenIdRefusal(SILENT.has(code) || error instanceof TypeError ? 'unavailable' : 'failed', code);
}

/** A word for the log; whatever a provider might have put there besides is left out. */
function codeOf(error: unknown): string {
  const { error: told, code, cause } = error as { error?: unknown; code?: unknown; cause?: unknown };
  const word = [told, code, (cause as { code?: unknown } | undefined)?.code].find(
    (one): one is string => typeof one === 'string' && /^[\w-]{1,60}$/.test(one),
  );
  return word ?? (error instanceof Error ? error.name : 'unknown');
}
