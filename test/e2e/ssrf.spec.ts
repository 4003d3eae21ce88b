import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitUntil } from '#embedded/wait-until.js';
import { answerOf, contractError } from '../support/contract-answer.js';
import { startPlatform, type Platform } from '../support/platform.js';

const SUBMIT = '/v1/images/generations/async';
const PROMPT = { model: 'gpt-image-2', prompt: '[[fault=moderation]]' };

/** Every notation of an address that is not public which a parser somewhere takes for one. */
const HOSTS = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f.1',
    '0x7f000001',
    '017700000001',
    '0177.0.0.1',
    '127.0.0.1.',
  ],
  ...[
    '0',
    '0.0.0.0',
    '127.255.255.254',
    '①②⑦.⓪.⓪.①',
    '127。0。0。1',
    '%31%32%37.0.0.1',
    '0000177.0.0.1',
    '127.0.0.0x1',
  ],
  ...[
    '[::1]',
    '[::]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[::ffff:0:127.0.0.1]',
  ],
  ...[
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:0:7f00:1::1]',
    '[fe80::1]',
    '[fec0::1]',
    '[fd00::1]',
  ],
  ...[
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.0.1',
    '169.254.169.254',
  ],
  ...['100.64.0.1', '192.0.0.192', '198.18.0.1', '224.0.0.1', '255.255.255.255', '[ff02::1]', '[fd00:ec2::254]'],
  ...[
    'nowhere.invalid@127.0.0.1',
    'nowhere.invalid\\@127.0.0.1',
    '127.0.0.1#@nowhere.invalid',
    '127.0.0.1\t',
    '127.0.0.1%00',
  ],
];

/** Default settings, in which nothing private is allowed; the listener stands on the very ports that are. */
describe('addresses that are not public', () => {
  let platform: Platform;
  let inside: Server;
  let connections = 0;
  let port: number;

  beforeAll(async () => {
    inside = createServer((_request, response) => response.end('secret')).on('connection', () => (connections += 1));
    await new Promise<void>((resolve) => inside.listen(0, '::', resolve));
    port = (inside.address() as AddressInfo).port;
    platform = await startPlatform({ EGRESS_PORTS: `80,443,${port}`, EGRESS_CONNECT_TIMEOUT_MS: '500' });
  });
  afterAll(async () => {
    await platform.close();
    inside.closeAllConnections();
    inside.close();
  });

  const submit = async (fields: object) => answerOf(await platform.call(SUBMIT, { body: { ...PROMPT, ...fields } }));

  it('the listener would have been found', async () => {
    for (const host of ['127.0.0.1', '[::1]']) {
      const response = await fetch(`http://${host}:${port}/`);
      expect(await response.text()).toBe('secret');
    }
    expect(connections).toBe(2);
    connections = 0;
  });

  it.each(['image_urls', 'callback_url'])('are never reached through %s, however they are written', async (field) => {
    const scheme = field === 'callback_url' ? 'https' : 'http';
    const code = field === 'callback_url' ? 'invalid_value' : 'invalid_image_url';
    const accepted: string[] = [];
    for (const host of HOSTS) {
      for (const address of [`${scheme}://${host}:${port}/a.png`, `${scheme}://${host}/a.png`]) {
        const answer = await submit({ [field]: field === 'callback_url' ? address : [address] });
        const error = contractError(answer, SUBMIT);
        if (error === undefined) accepted.push(address);
        else expect([error.code, error.param?.replace('[0]', '')]).toEqual([code, field]);
        expect(error?.message ?? '').not.toMatch(/127|secret|::1|ECONN/);
      }
    }
    expect(accepted).toEqual([]);
    expect(connections).toBe(0);
  });

  it('are never reached through an edit and its mask either', async () => {
    const url = `http://[::ffff:127.0.0.1]:${port}/`;
    for (const fields of [
      { images: [{ image_url: url }] },
      { images: [{ image_url: 'https://nowhere.invalid/' }], mask: { image_url: url } },
    ]) {
      const response = await platform.call('/v1/images/edits', { body: { prompt: 'x', ...fields } });
      expect(contractError(await answerOf(response), '/v1/images/edits')?.code).toBe('invalid_image_url');
    }
    expect(connections).toBe(0);
  });

  it('a name that leads inside is told apart from one that leads nowhere by nobody', async () => {
    // The machine's own name is in /etc/hosts or nowhere; either way nothing is learnt.
    const names = ['ip6-localhost', 'ip6-loopback', 'nowhere.invalid'].map((name) => `http://${name}:${port}/`);
    const answers = await Promise.all(names.map((url) => submit({ image_urls: [url] })));
    const seen = await Promise.all(
      answers.map(async (answer) => {
        const error = contractError(answer, SUBMIT);
        if (error !== undefined) return error.message;
        const path = `/v1/tasks/${answer.headers['x-task-id']}`;
        let message: string | undefined;
        await waitUntil(
          async () => {
            const { data } = (await (await platform.call(path)).json()) as { data: { error?: { message: string } } };
            message = data.error?.message;
            return message !== undefined;
          },
          { timeoutMs: 20_000 },
        );
        return message;
      }),
    );
    expect(new Set(seen)).toEqual(new Set(['The image could not be downloaded from its URL.']));
    expect(connections).toBe(0);
  });
});
