import { createLinkToken, type LinkFor } from './access.js';
import { assertDescribed } from './console-document.js';
import { patient } from './patience.js';
import type { ApiPlatform } from './platform.js';

export const PASSWORD = 'correct horse battery';

interface ConsoleCall {
  readonly method?: string;
  /** Objects are sent as JSON, forms as they are. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The browser's side of the console: keeps the cookie, and sends the same headers as the pages. */
export class Browser {
  cookie: string | undefined;

  constructor(private readonly url: string) {}

  /** Calls a path below /console/api. */
  async call(path: string, { method, body, headers = {} }: ConsoleCall = {}): Promise<Response> {
    const isForm = body instanceof FormData;
    const response = await fetch(`${this.url}/console/api${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        origin: this.url,
        'x-darkroom-csrf': '1',
        ...(this.cookie === undefined ? {} : { cookie: this.cookie }),
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      signal: AbortSignal.timeout(patient(60_000)),
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
    const [cookie] = response.headers.getSetCookie();
    if (cookie !== undefined) this.cookie = cookie.split(';', 1)[0];
    return response;
  }

  /** The body of a response that must succeed and match the document. */
  async ask<T>(path: string, call: ConsoleCall = {}): Promise<T> {
    const response = await this.call(path, call);
    const text = await response.text();
    if (!response.ok) throw new Error(`${call.method ?? ''} ${path} was answered ${response.status}: ${text}`);
    if (text === '') return undefined as T;
    const body: unknown = JSON.parse(text);
    assertDescribed({
      path,
      status: response.status,
      body,
      method: call.method ?? (call.body === undefined ? 'GET' : 'POST'),
    });
    return body as T;
  }
}

/** Creates a link and returns its token. */
export async function linkToken(platform: Pick<ApiPlatform, 'pool' | 'secretKey'>, link: LinkFor): Promise<string> {
  return await createLinkToken(platform.pool, platform.secretKey, link);
}

/** Signs in the first admin of a platform. */
export async function signInFirstAdmin(platform: ApiPlatform): Promise<Browser> {
  const browser = new Browser(platform.url);
  const token = await linkToken(platform, { purpose: 'first_admin' });
  await browser.ask('/first-admin', { body: { token, email: 'ada@example.org', name: 'Ada', password: PASSWORD } });
  return browser;
}

/** Signs in an invited user. */
export async function signInInvited(
  platform: ApiPlatform,
  person: { email: string; role: NonNullable<LinkFor['role']>; accountId?: string },
): Promise<Browser> {
  const browser = new Browser(platform.url);
  const token = await linkToken(platform, { purpose: 'invite', ...person });
  await browser.ask('/join', { body: { token, name: 'Somebody', password: PASSWORD } });
  return browser;
}
