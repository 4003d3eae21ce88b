import { isRedisUrl, sentinelAddress } from './redis-address.js';

describe('REDIS_URL', () => {
  it('names Sentinels by name, IPv4 and IPv6 address, and the login of the servers', () => {
    const url = 'redis+sentinel://darkroom:p%40ss@one.internal,10.0.0.2:5000,[fd00::3]:26380/mymaster/2';
    expect(sentinelAddress(url)).toEqual({
      tls: false,
      sentinels: [
        { host: 'one.internal', port: 26_379 },
        { host: '10.0.0.2', port: 5_000 },
        { host: 'fd00::3', port: 26_380 },
      ],
      group: 'mymaster',
      username: 'darkroom',
      password: 'p@ss',
      db: 2,
    });
    expect(sentinelAddress('rediss+sentinel://:secret@[::1]/main')).toMatchObject({
      tls: true,
      sentinels: [{ host: '::1', port: 26_379 }],
      username: undefined,
      password: 'secret',
    });
  });

  it.each(['redis://localhost', 'rediss://:p@[fd00::1]:6380/1', 'redis+sentinel://a,b/main'])('may be %s', (url) => {
    expect(isRedisUrl(url)).toBe(true);
  });

  it.each([
    'http://localhost',
    'redis://one:6379,two:6379',
    'redis+sentinel://a,b',
    'redis+sentinel:///main',
    'redis+sentinel://fd00::1/main',
    'redis+sentinel://a:b:c/main',
    'redis+sentinel://u:%zz@a/main',
  ])('may not be %s', (url) => {
    expect(isRedisUrl(url)).toBe(false);
  });
});
