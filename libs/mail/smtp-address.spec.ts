import { isSmtpUrl, smtpAddress } from './smtp-address.js';

describe('smtpAddress', () => {
  it('takes an address apart, and knows the usual ports', () => {
    expect(smtpAddress('smtp://us%40er:p%2Fw@mail.example.org')).toEqual({
      ...{ host: 'mail.example.org', port: 587, secure: false, user: 'us@er', password: 'p/w' },
    });
    expect(smtpAddress('smtps://[::1]/')).toEqual({ host: '::1', port: 465, secure: true, user: '', password: '' });
    expect(smtpAddress('smtp://localhost:25').port).toBe(25);
  });

  it.each(['mail.example.org', 'https://mail.example.org', 'smtp://', 'smtp://host?tls=no', 'smtp://%zz@host', ''])(
    'takes nothing else: %s',
    (text) => {
      expect(isSmtpUrl(text)).toBe(false);
    },
  );
});
