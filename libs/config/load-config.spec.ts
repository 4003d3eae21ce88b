import { IsIn, IsInt, IsString, Matches, Min } from 'class-validator';
import { ConfigError, loadConfig, startFailure, unknownSettings, unknownText } from './load-config.js';
import { Setting, Within } from './setting.js';

class FirstConfig {
  @Setting('ROOM_PORT', 'A port.', { who: 'start' })
  @IsInt()
  @Min(1)
  readonly port: number = 80;

  @Setting('ROOM_LOUD', 'A switch.', { who: 'start' })
  readonly loud: boolean = false;

  @Setting('ROOM_NAMES', 'A list.', { who: 'start', list: true })
  readonly names: string[] = [];
}

class SecondConfig {
  @Setting('ROOM_SECRET', 'A secret.', { who: 'start', secret: true })
  @IsString()
  @Matches(/^\w{8,}$/, { message: 'ROOM_SECRET must have 8 letters or more' })
  readonly secret!: string;
}

class SharedConfig {
  @Setting('CLUSTER_SAMPLER', 'Which.', { who: 'start', shared: true })
  @IsIn(['on', 'off'])
  readonly sampler: string = 'on';

  @Setting('CLUSTER_RATIO', 'How many.', { who: 'start', shared: true })
  @Within(0, 1)
  readonly ratio: number = 1;
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

  it('refuses to go on without checks of certificates', () => {
    expect(problemsOf({ ROOM_SECRET: 'longenough', NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toEqual([
      expect.stringMatching(/^NODE_TLS_REJECT_UNAUTHORIZED must not be 0, .* NODE_EXTRA_CA_CERTS$/),
    ]);
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

  it('says what became of a setting that was removed', () => {
    const env = { SEND_TIMEOUT_MS: '5000', WEBHOOK_CONCURRENCY: ' ' };
    const unknown = unknownSettings([FirstConfig], env);
    expect(unknown).toEqual([{ name: 'SEND_TIMEOUT_MS', now: 'REQUEST_TIMEOUT_MS' }]);
    expect(unknown.map(unknownText)).toEqual([
      'SEND_TIMEOUT_MS is no longer a setting, and is ignored: it is REQUEST_TIMEOUT_MS.',
    ]);
  });

  it('ignores what a cluster sets for other programs and can’t be used here, and says so', () => {
    const env = { CLUSTER_SAMPLER: 'jaeger_remote', CLUSTER_RATIO: 'endpoint=http://collector' };
    expect(loadConfig([SharedConfig], env)[0]).toEqual({ sampler: 'on', ratio: 1 });
    expect(unknownSettings([SharedConfig], env).map(unknownText)).toEqual([
      "CLUSTER_SAMPLER has a value that can't be used here, and is ignored.",
      "CLUSTER_RATIO has a value that can't be used here, and is ignored.",
    ]);
    const usable = { CLUSTER_SAMPLER: 'off', CLUSTER_RATIO: '0' };
    expect(loadConfig([SharedConfig], usable)[0]).toEqual({ sampler: 'off', ratio: 0 });
    expect(unknownSettings([SharedConfig], usable)).toEqual([]);
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
