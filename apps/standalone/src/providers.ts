import { parseArgs } from 'node:util';
import { CatalogueConfig } from '#catalogue/catalogue.config.js';
import { readCatalogue } from '#catalogue/catalogue-source.js';
import type { ProviderEntry } from '#providers/provider-entry.js';
import { loadConfig } from '#config/load-config.js';
import { SetupError } from '#embedded/setup-error.js';
import { RedisConfig } from '#redis/redis.config.js';
import { STARTS_KEPT } from '#routing/limiter-scripts.js';
import { LimiterState, type ProviderState } from '#routing/limiter-state.js';
import { DRAIN_REASON, ProviderSwitches, type ProviderSwitch } from '#routing/provider-switches.js';
import { RoutingConfig } from '#routing/routing.config.js';
import { noteCommand } from './note-command.js';
import { StandaloneConfig } from './standalone.config.js';
import { findRunning, reasonOf, requireDatabaseUrl, withDatabase, withRedis } from './running.js';
import { textTable, textTime } from './text-table.js';

const USAGE = `How to use it:
  npm run providers -- list
  npm run providers -- drain <name> [--reason <text>]
  npm run providers -- resume <name>`;

type Environment = Readonly<Record<string, string | undefined>>;

interface Asked {
  readonly command: 'list' | 'drain' | 'resume';
  readonly name: string;
  readonly reason: string | null;
}

/** `providers list|drain|resume`. Throws SetupError with a sentence or the usage, ConfigError, CatalogueError. */
export async function providers(args: readonly string[], env: Environment, say: (line: string) => void): Promise<void> {
  const { command, name, reason } = parse(args);
  const [config] = loadConfig([StandaloneConfig], env);
  const known = catalogueOf(config, env);
  await withDatabase(requireDatabaseUrl(config), async (database) => {
    const switches = new ProviderSwitches(database);
    const drained = new Map((await switches.list()).map((row) => [row.provider, row]));
    if (command === 'list') return await list(known, drained, config, env, say);
    if (!known.has(name) && !drained.has(name))
      throw new SetupError(unknown(name, [...known.keys(), ...drained.keys()]));
    if (command === 'drain') {
      await switches.drain(name, reason);
      await noteCommand(database, 'provider.drained', { target: name, details: { reason } });
      say(`${name} gets no new calls: every worker knows within 2 s. What it works on is finished.`);
    } else if (await switches.resume(name)) {
      await noteCommand(database, 'provider.resumed', { target: name });
      say(`${name} gets calls again: every worker knows within 2 s.`);
    } else say(`${name} was not drained.`);
  });
}

function parse(args: readonly string[]): Asked {
  let parsed;
  try {
    parsed = parseArgs({ args: [...args], options: { reason: { type: 'string' } }, allowPositionals: true });
  } catch {
    throw new SetupError(USAGE);
  }
  const { positionals, values } = parsed;
  const [command = 'list', name = ''] = positionals;
  const { reason = null } = values;
  if (reason !== null && !DRAIN_REASON.test(reason)) throw new SetupError('A reason has 1 to 200 visible characters.');
  if (command === 'list' && positionals.length <= 1 && reason === null) return { command, name, reason };
  if (command === 'drain' && positionals.length === 2) return { command, name, reason };
  if (command === 'resume' && positionals.length === 2 && reason === null) return { command, name, reason };
  throw new SetupError(USAGE);
}

/** What the settings name, else what runs on DATA_DIR was started with. */
function catalogueOf(config: StandaloneConfig, env: Environment): ReadonlyMap<string, ProviderEntry> {
  const [catalogue] = loadConfig([CatalogueConfig], { ...env, MODELS_FILE: findRunning(config).modelsFile });
  try {
    return readCatalogue(catalogue, env).providers;
  } catch (error) {
    if (error instanceof Error && 'syscall' in error)
      throw new SetupError(`MODELS_FILE can't be read: ${error.message}`);
    throw error;
  }
}

function unknown(name: string, known: readonly string[]): string {
  return `There is no provider ${name}; there are ${[...new Set(known)].join(', ')}.`;
}

async function list(
  known: ReadonlyMap<string, ProviderEntry>,
  drained: ReadonlyMap<string, ProviderSwitch>,
  config: StandaloneConfig,
  env: Environment,
  say: (line: string) => void,
): Promise<void> {
  const names = [...new Set([...known.keys(), ...drained.keys()])];
  const states = await look(names, config, env, say);
  const header = ['NAME', 'TYPE', 'KEYS', 'LIMITS', 'CALLS', 'STARTS/MIN', 'BREAKER', 'COOLING', 'SWITCH'];
  const rows = names.map((name, index) => [
    name,
    ...entryCells(known.get(name)),
    ...stateCells(states?.[index]),
    switchText(drained.get(name)),
  ]);
  say(textTable([header, ...rows]));
}

/** Undefined, and said so, when Redis can't be asked. */
async function look(
  names: readonly string[],
  config: StandaloneConfig,
  env: Environment,
  say: (line: string) => void,
): Promise<readonly ProviderState[] | undefined> {
  const { redisUrl } = findRunning(config);
  try {
    const [queue, routing] = loadConfig([RedisConfig, RoutingConfig], { ...env, REDIS_URL: redisUrl });
    return await withRedis(queue.redisUrl, (redis) => new LimiterState(redis, queue, routing).look(names));
  } catch (error) {
    say(`Calls, breakers and resting keys are not known, because Redis can't be asked: ${reasonOf(error)}\n`);
    return undefined;
  }
}

function entryCells(entry: ProviderEntry | undefined): string[] {
  if (entry === undefined) return ['not in the catalogue', '-', '-'];
  const { concurrency, startsPerMinute } = entry.limits;
  const limits = [
    ...(concurrency === undefined ? [] : [`${concurrency} at a time`]),
    ...(startsPerMinute === undefined ? [] : [`${startsPerMinute}/min`]),
  ];
  const keys = entry.keys.map(({ name, secret }) => (secret === '' ? `${name} (not set here)` : name));
  return [entry.type, keys.join(', ') || '-', limits.join(', ') || 'none'];
}

function stateCells(state: ProviderState | undefined): string[] {
  if (state === undefined) return ['?', '?', '?', '?'];
  const { calls, starts, breaker, openMs, cooling } = state;
  return [
    String(calls),
    starts === STARTS_KEPT ? `${starts} or more` : String(starts),
    breaker === 'open' ? `open ${seconds(openMs)}` : breaker,
    [...cooling].map(([name, ms]) => `${name || 'no key'} ${seconds(ms)}`).join(', ') || '-',
  ];
}

function switchText(row: ProviderSwitch | undefined): string {
  if (row === undefined) return 'on';
  return `drained ${textTime(row.drainedAt)}${row.reason === null ? '' : `: ${row.reason}`}`;
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1_000)} s`;
}
