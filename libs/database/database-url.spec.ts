import { databaseUrlProblem, driverAddresses } from './database-url.js';

const HERE = encodeURIComponent(import.meta.filename);

describe('DATABASE_URL', () => {
  it.each([
    'postgresql://darkroom:p%40ss@db.internal:5432/darkroom',
    'postgres://darkroom@[fd00::5]:5432/darkroom',
    `postgresql://darkroom@db/darkroom?sslmode=verify-full&sslrootcert=${HERE}`,
    'postgresql://darkroom@db/darkroom?sslmode=require&channel_binding=require',
    'postgresql://darkroom@/darkroom?host=/var/run/postgresql',
    'postgresql://darkroom@db/darkroom?schema=public',
    'postgresql://darkroom@db/darkroom?sslmode=verify-full&sslnegotiation=direct',
    'postgresql://darkroom:a%2Cb@db/darkroom',
    'postgresql://u:p@one:5432,two:5433/darkroom',
    'postgresql://u:p@one,[fd00::5]:5433,10.0.0.3/darkroom?target_session_attrs=read-write',
  ])('may be %s', (url) => {
    expect(databaseUrlProblem(url)).toBeUndefined();
  });

  it.each([
    ['mysql://db/darkroom', /must start with postgresql/],
    ['postgresql://u:p@one,two/darkroom?target_session_attrs=standby', /none of any, read-write, primary/],
    ['postgresql://u:p@/darkroom?host=one,two', /before its path/],
    // Prisma's own form: two installations would share the tables in public.
    ['postgresql://u:p@db/darkroom?schema=second', /schema, which is not supported: .* a database of its own/],
    ['postgresql://u:p@/darkroom?host=/run&schema=second', /schema, which is not supported/],
    ['postgresql://u:p@db/darkroom?pgbouncer=true', /pgbouncer, .* DATABASE_POOLER=transaction/],
    ['postgresql://u:p@db/darkroom?connection_limit=5', /connection_limit, .* DATABASE_POOL$/],
    ['postgresql://u:p@db/darkroom?pool_timeout=5', /pool_timeout, .* DATABASE_CONNECT_TIMEOUT_MS/],
    ['postgresql://u:p@db/darkroom?connect_timeout=5', /connect_timeout, .* DATABASE_CONNECT_TIMEOUT_MS/],
    // The driver would let these replace ours.
    ['postgresql://u:p@db/darkroom?application_name=mine', /application_name, .* doctor counts/],
    ['postgresql://u:p@db/darkroom?statement_timeout=1', /statement_timeout, .* DATABASE_QUERY_TIMEOUT_MS/],
    ['postgresql://u:p@db/darkroom?client_encoding=latin1', /client_encoding, which is not supported: remove it/],
    ['postgresql://u:p@db/darkroom?ssl=true', /ssl, .* sslmode=verify-full/],
    ['postgresql://u:p@db/darkroom?SSLMODE=require', /SSLMODE, which is not supported/],
    ['postgresql://u:p@db/darkroom?sslmode=disable&sslmode=verify-full', /sslmode more than once/],
    ['postgresql://u:p@db/darkroom?channel_binding=require', /needs sslmode=verify-full/],
    ['postgresql://u:p@db/darkroom?sslmode=no-verify&channel_binding=require', /needs sslmode=verify-full/],
    ['postgresql://u:p@db/darkroom?sslnegotiation=direct', /needs sslmode=verify-full/],
    ['postgresql://u:p#w@db/darkroom', /percent-encode/],
    ['postgresql://u:p/w@db/darkroom', /percent-encode/],
    ['postgresql://u:1?p=x@db/darkroom', /percent-encode/],
    ['postgresql://u:1/p@db/darkroom', /percent-encode/],
    ['postgresql://u:p@one:5432,two:99999/darkroom', /host or a port/],
    ['postgresql://u:p@one,/darkroom', /host or a port/],
    ['postgresql://u:p@one,two/darkroom?sslmode=allow', /sslmode that is none of/],
    ['postgresql://db/darkroom?sslmode=allow', /sslmode that is none of/],
    ['postgresql://db/darkroom?sslrootcert=/no/such/file', /can't be read: sslrootcert/],
  ])('may not be %s', (url, problem) => {
    expect(databaseUrlProblem(url)).toMatch(problem);
    expect(databaseUrlProblem(url)).not.toContain('u:p');
  });

  it('is told to the driver without what it would warn of, and without the options that would displace ours', () => {
    expect(driverAddresses('postgresql://u:p%40@db:5/d?sslmode=require&options=-c%20search_path%3Dx')).toEqual({
      urls: ['postgresql://u:p%40@db:5/d?sslmode=verify-full'],
      options: '-c search_path=x',
      channelBinding: false,
    });
    expect(driverAddresses('postgresql://u@[::1]/d').urls).toEqual(['postgresql://u@[::1]/d']);
    expect(driverAddresses('postgresql://db/d?sslrootcert=system').urls[0]).toMatch(/\?sslmode=verify-full$/);
    expect(driverAddresses('postgresql://u@/d?host=/run').urls).toEqual(['postgresql://u@/d?host=%2Frun']);
    expect(driverAddresses('postgresql://u:p@one,[::2]:6/d?target_session_attrs=primary&options=-c%20a%3Db')).toEqual({
      urls: ['postgresql://u:p@one/d', 'postgresql://u:p@[::2]:6/d'],
      options: '-c a=b',
      channelBinding: false,
    });
    // A socket's options, too, would displace ours.
    expect(driverAddresses('postgresql://u@/d?host=/run&options=-c%20a%3Db&schema=public')).toEqual({
      urls: ['postgresql://u@/d?host=%2Frun'],
      options: '-c a=b',
      channelBinding: false,
    });
    const bound = 'postgresql://db/d?sslmode=require&channel_binding=require';
    expect(driverAddresses(bound)).toMatchObject({
      urls: ['postgresql://db/d?sslmode=verify-full'],
      channelBinding: true,
    });
  });
});
