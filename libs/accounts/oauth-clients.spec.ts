import { clientIdOf, clientOf, clientWithId, mayReturnTo } from './oauth-clients.js';

const NEW = { secretKey: 'n'.repeat(40) };
const OLD = { secretKey: 'o'.repeat(40) };
const URIS = ['http://127.0.0.1/callback', 'http://[::1]:1/', 'https://example.org:8443/callback?x=1'];
const client = clientOf({ client_name: ' An\u0000 agent\u202e ', redirect_uris: URIS, scope: 'everything' });

describe('an OAuth client', () => {
  it('has its registration in its id, with a visible name', () => {
    expect(clientWithId(NEW, clientIdOf(NEW, client))).toEqual({ name: 'An agent', redirectUris: URIS });
    expect(clientOf({ redirect_uris: URIS, client_name: '\u200b' }).name).toBe('MCP client');
    expect([...clientOf({ redirect_uris: URIS, client_name: '😀'.repeat(99) }).name]).toHaveLength(60);
  });

  it('is known by the SECRET_KEY before, and by no other', () => {
    const id = clientIdOf(OLD, client);
    expect(clientWithId({ ...NEW, secretKeyPrevious: OLD.secretKey }, id)).toEqual(client);
    expect(clientWithId(NEW, id)).toBeUndefined();
  });

  it.each([
    ['another body', (id: string) => `W${id}`],
    ['no signature', (id: string) => id.split('.')[0] ?? ''],
    ['an empty signature', (id: string) => `${id.split('.')[0]}.`],
    ['half a signature', (id: string) => id.slice(0, -20)],
    ['something behind it', (id: string) => `${id}.x`],
    ['nothing', () => ''],
  ])('is unknown with %s', (_what, change) => {
    expect(clientWithId(NEW, change(clientIdOf(NEW, client)))).toBeUndefined();
  });

  it.each([
    ['http://127.0.0.1/callback', true],
    ['http://127.0.0.1:5000/callback', true],
    ['http://[::1]:2/', true],
    ['https://example.org:8443/callback?x=1', true],
    ['http://127.0.0.2/callback', false],
    ['http://localhost/callback', false],
    ['https://127.0.0.1/callback', false],
    ['http://127.0.0.1/callback/', false],
    ['http://127.0.0.1/callback#x', false],
    ['http://me@127.0.0.1/callback', false],
    ['https://example.org/callback?x=1', false],
    ['https://example.org:8443/callback', false],
    ['not a URL', false],
  ])('may return to %s: %s', (uri, may) => {
    expect(mayReturnTo(client, uri)).toBe(may);
  });
});
