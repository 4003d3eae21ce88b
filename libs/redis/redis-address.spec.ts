import { redisUrlProblem, sentinelAddress, serverAddress } from './redis-address.js';

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

  it('names a server, its login with any characters, and the database', () => {
    expect(serverAddress('rediss://dark%3Aroom:p%40s%2F%23%25%3F@[fd00::1]:6380/3')).toEqual({
      tls: true,
      host: 'fd00::1',
      port: 6_380,
      username: 'dark:room',
      password: 'p@s/#%?',
      db: 3,
    });
    expect(serverAddress('redis://:secret@localhost')).toEqual({
      tls: false,
      host: 'localhost',
      port: 6_379,
      username: undefined,
      password: 'secret',
      db: 0,
    });
  });

  it.each(['redis://localhost', 'redis://localhost/', 'rediss://:p@[fd00::1]:6380/1', 'redis+sentinel://a,b/main'])(
    'may be %s',
    (url) => {
      expect(redisUrlProblem(url)).toBeUndefined();
    },
  );

  it.each([
    // ioredis would take each parameter for one of its options.
    ['redis://localhost/0?keyPrefix=mine', /\?keyPrefix\), which is not supported/],
    ['redis://localhost/0?db=3', /\?db\), which is not supported/],
    ['rediss://localhost?family=6', /\?family\), which is not supported/],
    ['redis+sentinel://a/main/0?sentinelPassword=x', /\?sentinelPassword\), which is not supported/],
    // ioredis would sign in as the default user.
    ['redis://darkroom@localhost', /a user without a password/],
    ['redis+sentinel://darkroom@a/main', /a user without a password/],
    ['redis://localhost/first', /must look like/],
    ['redis://localhost/0/1', /must look like/],
    ['redis://u:1#p@localhost', /percent-encoded/],
    ['redis://u:%zz@localhost', /percent-encoded/],
    ['redis:///0', /must look like/],
  ])('may not be %s, which would mean something else', (url, problem) => {
    expect(redisUrlProblem(url)).toMatch(problem);
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
    expect(redisUrlProblem(url)).toMatch(/^must look like/);
  });
});
