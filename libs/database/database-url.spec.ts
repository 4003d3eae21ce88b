import { databaseUrlProblem, driverAddress } from './database-url.js';

const HERE = encodeURIComponent(import.meta.filename);

describe('DATABASE_URL', () => {
  it.each([
    'postgresql://darkroom:p%40ss@db.internal:5432/darkroom',
    'postgres://darkroom@[fd00::5]:5432/darkroom',
    `postgresql://darkroom@db/darkroom?sslmode=verify-full&sslrootcert=${HERE}`,
    'postgresql://darkroom@db/darkroom?sslmode=require&channel_binding=require',
    'postgresql://darkroom@/darkroom?host=/var/run/postgresql',
    'postgresql://darkroom:a,b@db/darkroom'.replace(',', '%2C'),
  ])('may be %s', (url) => {
    expect(databaseUrlProblem(url)).toBeUndefined();
  });

  it.each([
    ['mysql://db/darkroom', /must start with postgresql/],
    ['postgresql://u:p@one:5432,two:5432/darkroom', /one host.*follows the primary/],
    ['postgresql://u:p@one,two/darkroom?target_session_attrs=read-write', /one host/],
    ['postgresql://u:p@/darkroom?host=one,two', /one host/],
    ['postgresql://db/darkroom?sslmode=allow', /sslmode that is none of/],
    ['postgresql://db/darkroom?sslrootcert=/no/such/file', /can't be read: sslrootcert/],
  ])('may not be %s', (url, problem) => {
    expect(databaseUrlProblem(url)).toMatch(problem);
    expect(databaseUrlProblem(url)).not.toContain('u:p');
  });

  it('is told to the driver without what it would warn of, and without the options that would displace ours', () => {
    expect(driverAddress('postgresql://u:p%40@db:5/d?sslmode=require&options=-c%20search_path%3Dx')).toEqual({
      connectionString: 'postgresql://u:p%40@db:5/d?sslmode=verify-full',
      options: '-c search_path=x',
    });
    expect(driverAddress('postgresql://u@[::1]/d').connectionString).toBe('postgresql://u@[::1]/d');
    expect(driverAddress('postgresql://db/d?sslrootcert=system').connectionString).toMatch(/\?sslmode=verify-full$/);
    expect(driverAddress('postgresql://u@/d?host=/run').connectionString).toBe('postgresql://u@/d?host=/run');
  });
});
