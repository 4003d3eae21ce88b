import { readFileSync } from 'node:fs';
import { settingsOf } from '#config/setting.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { API_CONFIGS } from '../../apps/api/src/api-configs.js';
import { LimitsConfig } from '../../apps/api/src/limits/limits.config.js';
import { StandaloneConfig } from '../../apps/standalone/src/platform/standalone.config.js';
import { WORKER_CONFIGS } from '../../apps/worker/src/worker-configs.js';

const CONFIGS: readonly (new () => object)[] = [...API_CONFIGS, ...WORKER_CONFIGS, StandaloneConfig];

/** Default and unit of every setting, by name. */
const defaults = new Map(
  CONFIGS.flatMap((config) => {
    const values = new Map(Object.entries(new config()));
    return settingsOf(config).map(({ env, property, unit }) => [env, { value: values.get(property), unit }] as const);
  }),
);

/** Settings and defaults of the table "Default limits". */
const rows = readFileSync('docs/operations.md', 'utf8')
  .split('## Default limits')[1]
  ?.split('\n## ')[0]
  ?.split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => {
    const [, names = '', shown = ''] = line.split('|').map((cell) => cell.trim());
    return { names: Array.from(names.matchAll(/`([A-Z0-9_]+)`/g), ([, name = '']) => name), shown };
  });

function readable(name: string): string {
  const { value, unit } = defaults.get(name) ?? {};
  if (typeof value !== 'number') throw new Error(`${name} has no default`);
  expect([name, value > 0]).toEqual([name, true]);
  if (unit === 'ms') return `${value / 1_000} s`;
  if (unit !== 'bytes') return value.toLocaleString('en-US');
  if (value % 1_048_576 === 0) return `${value / 1_048_576} MiB`;
  return value < 1e9 ? `${value / 1e6} MB` : `${value / 1e9} GB`;
}

describe('H1, M2 to M5: what protects is on by default:', () => {
  const own = (rows ?? []).filter(({ names: [first = ''] }) => !/^(SOURCE|NETWORK)_/.test(first));

  it.each(own)('$names', ({ names, shown }) => {
    const texts = names.map(readable);
    const isSame = texts.length > 1 && new Set(texts).size === 1;
    expect(shown).toBe(isSame ? `${texts[0]} each` : texts.join(', '));
  });

  it('nothing that the table does not name is missing from it', () => {
    const named = new Set(rows?.flatMap(({ names }) => names));
    const limits = [...defaults.keys()].filter((name) =>
      /^(RATE|ACCOUNT|UNKNOWN)_|_PER_ACCOUNT(_|$)|_IN_FLIGHT$/.test(name),
    );
    expect(limits.length).toBeGreaterThan(11);
    expect(limits.filter((name) => !named.has(name))).toEqual([]);
  });

  it('an account gets five times what a key gets', () => {
    const limits = new LimitsConfig();
    const { submitsPerMinute: submits, pollsPerMinute: polls, chatsPerMinute: chats } = limits;
    expect(limits.account).toEqual({ submits: 5 * submits, polls: 5 * polls, chats: 5 * chats });
    expect(new TasksConfig().accountTasksInFlight).toBe(5 * new TasksConfig().maxTasksInFlight);
  });

  it('the balancer limits each source, alone and with docker compose', () => {
    expect(rows?.find(({ names }) => names.includes('SOURCE_CONNECTIONS'))?.shown).toBe('400, 2,000 in 10 s');
    expect(readFileSync('deploy/haproxy.cfg', 'utf8')).toMatch(
      /presetenv SOURCE_CONNECTIONS 400\n\s+presetenv SOURCE_REQUESTS 2000\n/,
    );
    expect(rows?.find(({ names }) => names.includes('NETWORK_CONNECTIONS'))?.shown).toBe('800, 4,000');
    expect(readFileSync('deploy/haproxy.cfg', 'utf8')).toMatch(
      /presetenv BALANCER_CONNECTIONS 4000\n[^]*presetenv NETWORK_CONNECTIONS 800\n/,
    );
    const compose = readFileSync('docker-compose.yml', 'utf8');
    expect(compose).toContain('SOURCE_CONNECTIONS: ${SOURCE_CONNECTIONS:-400}\n');
    expect(compose).toContain('SOURCE_REQUESTS: ${SOURCE_REQUESTS:-2000}\n');
    expect(compose).toContain('NETWORK_CONNECTIONS: ${NETWORK_CONNECTIONS:-800}\n');
    expect(compose).toContain('BALANCER_CONNECTIONS: ${BALANCER_CONNECTIONS:-4000}\n');
  });

  it('docker compose changes none of them', () => {
    const compose = readFileSync('docker-compose.yml', 'utf8');
    const names = (rows ?? [])
      .flatMap(({ names }) => names)
      .filter((name) => !/^(SOURCE|NETWORK|BALANCER)_/.test(name));
    expect(names.length).toBeGreaterThan(16);
    expect(names.filter((name) => compose.includes(`${name}:`))).toEqual([]);
  });
});
