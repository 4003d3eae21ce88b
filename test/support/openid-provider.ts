import { generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import Provider, { type Context } from 'oidc-provider';
import { patient } from './patience.js';

export const CLIENT = { id: 'darkroom', secret: 'a secret of the client that is long enough' };

const HOUR = 3_600;

/** The provider's claims about a user. */
export interface ProviderPerson {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: unknown;
  readonly name?: string;
}

interface Options {
  readonly issuer: string;
  /** Its port. */
  readonly port: number;
  /** Services to which it may redirect users. */
  readonly services: readonly string[];
  /** The client has no secret. */
  readonly publicClient?: boolean;
}

/** The real oidc-provider on this machine. Signs in every visitor as `person`, without a prompt. */
export class TestOpenIdProvider {
  person: ProviderPerson = { sub: 'nobody' };
  /** The user refuses, with this error description. */
  denial: string | undefined;
  /** Puts all claims into the ID token, like some providers; others have a userinfo endpoint. */
  talkative = true;
  /** Only these claims about the user in the ID token; the others only from the userinfo endpoint. */
  only: readonly string[] | undefined;
  /** Changes the claims of every ID token, which is signed again. */
  tamper: ((claims: Record<string, unknown>) => Record<string, unknown>) | undefined;
  /** Signs ID tokens with an unpublished key. */
  foreignKey = false;

  private readonly people = new Map<string, ProviderPerson>();
  private readonly own = generateKeyPairSync('rsa', { modulusLength: 2048 });
  private readonly foreign = generateKeyPairSync('rsa', { modulusLength: 2048 });

  private constructor(
    private readonly options: Options,
    private readonly server: Server,
  ) {}

  static async start(options: Options): Promise<TestOpenIdProvider> {
    const server = createServer();
    const op = new TestOpenIdProvider(options, server);
    server.on('request', op.provider().callback());
    server.listen(options.port, new URL(options.issuer).hostname);
    await once(server, 'listening');
    return op;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private provider(): Provider {
    const { issuer, services, publicClient } = this.options;
    const provider: Provider = new Provider(issuer, {
      clients: [
        {
          client_id: CLIENT.id,
          redirect_uris: services.map((url) => `${url}/console/api/oidc/callback`),
          ...(publicClient === true ? { token_endpoint_auth_method: 'none' } : { client_secret: CLIENT.secret }),
        },
      ],
      jwks: { keys: [{ ...this.own.privateKey.export({ format: 'jwk' }), kid: 'own', use: 'sig', alg: 'RS256' }] },
      ttl: { AccessToken: HOUR, Grant: HOUR, IdToken: HOUR, Interaction: HOUR, Session: HOUR },
      cookies: { keys: ['a key of the test'] },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context: Context, { uid }: { uid: string }) => `/interaction/${uid}` },
      findAccount: (_context: Context, sub: string) => ({ accountId: sub, claims: () => this.people.get(sub) }),
      pkce: { required: () => true },
      loadExistingGrant: async ({ oidc }: Context) => {
        const grant = new provider.Grant({ clientId: oidc!.client.clientId, accountId: oidc!.session.accountId });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
    });
    return provider.use(async (context, next) => {
      if (context.path.startsWith('/interaction/')) await this.decide(provider, context);
      else await next();
      if (context.oidc?.route === 'token') this.rewrite(context.body as { id_token?: string });
    });
  }

  private async decide(provider: Provider, context: Context): Promise<void> {
    context.respond = false;
    this.people.set(this.person.sub, this.person);
    const denied = { error: 'access_denied', error_description: this.denial };
    const result = this.denial === undefined ? { login: { accountId: this.person.sub } } : denied;
    await provider.interactionFinished(context.req, context.res, result);
  }

  private rewrite(answer: { id_token?: string }): void {
    if (answer.id_token === undefined) return;
    const [header = '', payload = ''] = answer.id_token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
    const about = Object.entries(this.people.get(String(claims['sub'])) ?? {});
    const told = about.filter(([name]) => this.talkative && (this.only?.includes(name) ?? true));
    const said = { ...claims, ...Object.fromEntries(told) };
    const body = Buffer.from(JSON.stringify(this.tamper?.(said) ?? said)).toString('base64url');
    const { privateKey } = this.foreignKey ? this.foreign : this.own;
    const signature = sign('sha256', Buffer.from(`${header}.${body}`), privateKey).toString('base64url');
    answer.id_token = `${header}.${body}.${signature}`;
  }
}

/** Follows redirects like a browser, with cookies, and stops before a page of the console. */
export class Visitor {
  private readonly cookies = new Map<string, string>();

  /** The first URL that is a page of the console, or that matches `stop`. */
  async follow(url: string, stop: (url: URL) => boolean = () => false): Promise<URL> {
    let next = new URL(url);
    for (let hop = 0; hop < 12; hop++) {
      const isPage = next.pathname.startsWith('/console/') && !next.pathname.startsWith('/console/api/');
      if (isPage || stop(next)) return next;
      const response = await this.open(next);
      const location = response.headers.get('location');
      if (location === null)
        throw new Error(`${next.pathname} led nowhere: ${response.status} ${await response.text()}`);
      next = new URL(location, next);
    }
    throw new Error('too many redirects');
  }

  /** One request, without following redirects. */
  async open(url: URL): Promise<Response> {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: this.cookiesFor(url) },
      signal: AbortSignal.timeout(patient(20_000)),
    });
    for (const line of response.headers.getSetCookie()) this.keep(url, line);
    return response;
  }

  /** The cookies for a URL, as a header. */
  cookiesFor({ host }: URL): string {
    return [...this.cookies]
      .filter(([name]) => name.startsWith(`${host} `))
      .map(([name, value]) => `${name.slice(host.length + 1)}=${value}`)
      .join('; ');
  }

  /** Stores the cookie of a Set-Cookie header. */
  keep({ host }: URL, line: string): void {
    const [name = '', value = ''] = line.split(';', 1)[0]!.split(/=(.*)/s);
    if (value === '') this.cookies.delete(`${host} ${name}`);
    else this.cookies.set(`${host} ${name}`, value);
  }
}
