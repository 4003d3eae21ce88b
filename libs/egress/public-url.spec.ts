import { loadConfig } from '#config/load-config.js';
import { AppError } from '#contract/app-error.js';
import { EgressConfig } from './egress.config.js';
import { assertPublicUrlShape, publicUrlProblem, receiverUrlProblem } from './public-url.js';

const [config] = loadConfig([EgressConfig] as const, { NODE_ENV: 'production' });

describe('assertPublicUrlShape', () => {
  it.each([
    'https://files.example/a.png',
    'http://93.184.216.34/a?b=c#d',
    'https://xn--e1afmkfd.example:443/',
    'http://h:80/',
  ])('takes %s', (text) => expect(assertPublicUrlShape(text, config)).toBeInstanceOf(URL));

  it.each([
    ...[
      '',
      'files.example/a.png',
      '//files.example/a.png',
      'http://',
      'http:///',
      'http://[::1',
      'https://a b.example/',
    ],
    ...[
      'ftp://files.example/a',
      'file:///etc/passwd',
      'gopher://files.example/',
      'data:image/png;base64,AA==',
      'javascript:1',
    ],
    ...[
      'http://user@files.example/',
      'http://:secret@files.example/',
      'http://files.example:22/',
      'http://files.example:8080/',
    ],
    ...[
      'http://127.0.0.1/',
      'http://127.1/',
      'http://2130706433/',
      'http://0x7f.1/',
      'http://0177.0.0.1/',
      'http://0/',
    ],
    ...[
      'http://①②⑦.0.0.1/',
      'http://127.0.0.1./',
      'http://[::1]/',
      'http://[::ffff:127.0.0.1]/',
      'http://[::ffff:7f00:1]/',
    ],
    ...[
      'http://[64:ff9b::7f00:1]/',
      'http://[2002:7f00:1::]/',
      'http://169.254.169.254/latest/meta-data/',
      'http://[fd00:ec2::254]/',
    ],
    ...[
      'http://10.0.0.1/',
      'http://192.168.1.1/',
      'http://100.100.100.200/',
      'http://localhost/',
      'http://x.LOCALHOST./',
    ],
    ...[
      'http://files.example\\@127.0.0.1/',
      'http://files.exa\tmple/',
      'http://files.example/\n',
      ' http://files.example/',
    ],
    `https://files.example/${'a'.repeat(8_192)}`,
  ])('refuses %j', (text) => {
    expect(() => assertPublicUrlShape(text, config)).toThrow(AppError);
    expect(publicUrlProblem(text, config)).toMatch(/^The URL /);
  });

  it('can insist on https', () => {
    expect(publicUrlProblem('http://files.example/', config, { httpsOnly: true })).toBe(
      'The URL must start with https://.',
    );
    expect(publicUrlProblem('https://files.example/', config, { httpsOnly: true })).toBeUndefined();
  });

  it('lets receivers on this machine have plain http, if it may be reached at all', () => {
    const [allowing] = loadConfig([EgressConfig] as const, { EGRESS_ALLOW_CIDRS: '127.0.0.0/8,::1/128,10.0.0.0/8' });
    for (const url of ['http://127.0.0.1/a', 'http://localhost/a', 'http://[::1]/a']) {
      expect(receiverUrlProblem(url, allowing)).toBeUndefined();
      expect(receiverUrlProblem(url, config)).toMatch(/public address/);
      expect(publicUrlProblem(url, allowing, { httpsOnly: true })).toMatch(/https/);
      const production = { allowCidrs: allowing.allowCidrs, ports: allowing.ports, nodeEnv: 'production' };
      expect(receiverUrlProblem(url, production)).toMatch(/public address/);
    }
    for (const url of ['http://10.0.0.1/a', 'http://files.example/a', 'http://localhost.example/a']) {
      expect(receiverUrlProblem(url, allowing)).toBe('The URL must start with https://.');
    }
  });

  it('refuses bad settings by name', () => {
    const bad = { EGRESS_ALLOW_CIDRS: '10.0.0.0/8,ten', EGRESS_PORTS: '80,http' };
    expect(() => loadConfig([EgressConfig] as const, bad)).toThrow(/EGRESS_ALLOW_CIDRS must[^]*EGRESS_PORTS must/);
  });
});
