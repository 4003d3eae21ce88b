import { helloName, isSmtpUrl, smtpAddress } from './smtp-address.js';

/** Each would have been something else to the server, or nothing. */
const REFUSED = [
  'smtp://user@host',
  'smtp://:password@host',
  'smtp://host?name=images.example.org&pool=true',
  'smtp://host?name=a.example.org&name=b.example.org',
  'smtp://host?name=images',
  'smtp://host?name=evil%0d%0aQUIT.example.org',
];

describe('smtpAddress', () => {
  it('takes an address apart, and knows the usual ports', () => {
    expect(smtpAddress('smtp://us%40er:p%2Fw@mail.example.org')).toEqual({
      host: 'mail.example.org',
      port: 587,
      secure: false,
      user: 'us@er',
      password: 'p/w',
      name: undefined,
    });
    expect(smtpAddress('smtps://[::1]/')).toEqual({
      host: '::1',
      port: 465,
      secure: true,
      user: '',
      password: '',
      name: undefined,
    });
    expect(smtpAddress('smtp://localhost/?name=images.example.org').name).toBe('images.example.org');
    expect(smtpAddress('smtp://localhost:25').port).toBe(25);
  });

  it.each([
    'mail.example.org',
    'https://mail.example.org',
    'smtp://',
    'smtp://host?tls=no',
    'smtp://%zz@host',
    '',
    ...REFUSED,
  ])('takes nothing else: %s', (text) => {
    expect(isSmtpUrl(text)).toBe(false);
  });
});

describe('the name in EHLO', () => {
  const plain = smtpAddress('smtp://mail.example.org');

  it.each([
    // A container's or a pod's name, which strict relays refuse, and an address in its place as well.
    ['3f2a91c07b1d', 'example.org', 'example.org'],
    ['darkroom-api-7d9f-xyz', 'caf\u00e9.example', 'xn--caf-dma.example'],
    ['ip-10-0-0-1.ec2.internal', 'example.org', 'example.org'],
    ['api.darkroom.svc.cluster.local', 'example.org', 'example.org'],
    ['10.0.0.1', 'example.org', 'example.org'],
    ['my_host.example.net', 'example.org', 'example.org'],
    ['images.example.net', 'example.org', 'images.example.net'],
    ['localhost', 'localhost', undefined],
  ])('of the machine %s with the sender domain %s is %s', (machine, domain, name) => {
    expect(helloName(plain, machine, domain)).toBe(name);
  });

  it('is that of the URL before any other', () => {
    const named = smtpAddress('smtp://mail.example.org?name=relay.example.com');
    expect(helloName(named, 'images.example.net', 'example.org')).toBe('relay.example.com');
  });
});
