import { IsInt, IsString, Matches, Min } from 'class-validator';
import { ConfigError, loadConfig, startFailure, unknownSettings } from './load-config.js';
import { Setting } from './setting.js';

class FirstConfig {
  @Setting('ROOM_PORT', 'A port.')
  @IsInt()
  @Min(1)
  readonly port: number = 80;

  @Setting('ROOM_LOUD', 'A switch.')
  readonly loud: boolean = false;

  @Setting('ROOM_NAMES', 'A list.', { list: true })
  readonly names: string[] = [];
}

class SecondConfig {
  @Setting('ROOM_SECRET', 'A secret.', { secret: true })
  @IsString()
  @Matches(/^\w{8,}$/, { message: 'ROOM_SECRET must have 8 letters or more' })
  readonly secret!: string;
}

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    loadConfig([FirstConfig, SecondConfig], env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('loadConfig', () => {
  it('reads each room from the environment, with defaults for what is not set', () => {
    const [first, second] = loadConfig([FirstConfig, SecondConfig], {
      ROOM_LOUD: 'true',
      ROOM_NAMES: 'a, b,,c',
      ROOM_SECRET: 'longenough',
    });
    expect(first).toEqual({ port: 80, loud: true, names: ['a', 'b', 'c'] });
    expect(second.secret).toBe('longenough');
    expect(Object.isFrozen(first)).toBe(true);
  });

  it('takes an empty value as not set', () => {
    expect(loadConfig([FirstConfig], { ROOM_PORT: ' ' })[0].port).toBe(80);
  });

  it('reports every bad setting of every room at once, by name and without its value', () => {
    const problems = problemsOf({ ROOM_PORT: 'eighty', ROOM_LOUD: 'maybe', ROOM_SECRET: 'hunter2' });
    expect(problems).toEqual([
      'ROOM_PORT must be a number',
      'ROOM_LOUD must be true or false',
      'ROOM_SECRET must have 8 letters or more',
    ]);
    expect(problems.join()).not.toMatch(/eighty|maybe|hunter2/);
  });

  it('names the variable, not the property, when a rule is broken', () => {
    expect(problemsOf({ ROOM_PORT: '0', ROOM_SECRET: 'longenough' })).toEqual(['ROOM_PORT must not be less than 1']);
  });

  it('finds what was probably a misspelling, and leaves strangers alone', () => {
    const env = { ROOM_PROT: '1', ROOM_SECRETS: 'x', ROOM_PORT: '1', HOME: '/', PATH: '/bin' };
    expect(unknownSettings([FirstConfig, SecondConfig], env)).toEqual([
      { name: 'ROOM_PROT', meant: 'ROOM_PORT' },
      { name: 'ROOM_SECRETS', meant: 'ROOM_SECRET' },
    ]);
  });

  it('reports misspellings with the problems that keep a process from starting', () => {
    const env = { ROOM_PROT: '1', ROOM_PORT: '0', ROOM_SECRET: 'longenough' };
    const error = new ConfigError(problemsOf(env));
    expect(startFailure(error, [FirstConfig, SecondConfig], env).split('\n')).toEqual([
      'Invalid settings:',
      '  - ROOM_PORT must not be less than 1',
      '  - ROOM_PROT is not a setting. Did you mean ROOM_PORT?',
    ]);
    expect(startFailure(new Error('no disk'), [FirstConfig], env)).toBe('Error: no disk');
    const debug = startFailure(new Error('no disk'), [FirstConfig], { ...env, LOG_LEVEL: 'debug' });
    expect(debug).toMatch(/^Error: no disk\n +at /);
  });
});
