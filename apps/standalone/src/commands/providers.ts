import { InvalidArgumentError, Option } from 'commander';
import { serverId, type ProviderEntry } from '#providers/provider-entry.js';
import { loadConfig } from '#config/load-config.js';
import type { PrismaService } from '#database/prisma.service.js';
import { SetupError } from '#embedded/setup-error.js';
import { RedisConfig } from '#redis/redis.config.js';
import { STARTS_KEPT } from '#routing/call-permit.js';
import { CallHistory, totalsOf, type CallCount } from '#routing/call-history.js';
import { LimiterState, type ServerState } from '#routing/limiter-state.js';
import { DRAIN_REASON, ProviderSwitches, type ProviderSwitch } from '#routing/provider-switches.js';
import { RoutingConfig } from '#routing/routing.config.js';
import { catalogInForce } from './catalog-in-force.js';
import { noteCommand } from './note-command.js';
import { StandaloneConfig } from '../platform/standalone.config.js';
import { findRunning, reasonOf, requireDatabaseUrl, withDatabase, withRedis } from '../platform/running.js';
import { runTerminalCommand, subcommand, terminalCommand } from './terminal-command.js';
import { textTable, textTime } from './text-table.js';

type Environment = Readonly<Record<string, string | undefined>>;

interface Opened {
  readonly database: PrismaService;
  readonly switches: ProviderSwitches;
  /** The servers of the catalog's providers, by their ids. */
  readonly known: ReadonlyMap<string, ProviderEntry>;
  readonly drained: ReadonlyMap<string, ProviderSwitch>;
}

/** `providers list|drain|resume`. Throws SetupError that explains the problem, ConfigError, CatalogError. */
export async function providers(args: readonly string[], env: Environment, say: (line: string) => void): Promise<void> {
  const [config] = loadConfig([StandaloneConfig], env);
  const reason = new Option('--reason <text>', 'reason shown in the list').argParser(reasonFrom);
  const program = terminalCommand('providers', 'Shows, drains, and resumes providers and their servers.', say);
  program
    .command('list', { isDefault: true })
    .description('list providers with their keys, limits, calls, and circuit breakers')
    .action(() => withSwitches(config, env, ({ known, drained }) => list(known, drained, config, env, say)));
  subcommand(
    program,
    'drain <name>',
    'stop sending new calls to a provider, or to one of its servers (provider/server)',
    [reason],
  ).action((name: string, options: { readonly reason?: string }) =>
    withSwitches(config, env, async (opened) => say(await drain(opened, name, options.reason ?? null))),
  );
  subcommand(program, 'resume <name>', 'resume sending calls to a provider or server').action((name: string) =>
    withSwitches(config, env, async (opened) => say(await resume(opened, name))),
  );
  await runTerminalCommand(program, args);
}

async function withSwitches(
  config: StandaloneConfig,
  env: Environment,
  work: (opened: Opened) => Promise<void>,
): Promise<void> {
  await withDatabase(requireDatabaseUrl(config), async (database) => {
    const { providers } = await catalogInForce(config, env, database);
    const servers = [...providers.values()].flatMap((provider) => provider.servers);
    const known = new Map(servers.map((server) => [serverId(server), server]));
    const switches = new ProviderSwitches(database);
    const drained = new Map((await switches.list()).map((row) => [row.provider, row]));
    await work({ database, switches, known, drained });
  });
}

async function drain({ database, switches, ...all }: Opened, name: string, reason: string | null): Promise<string> {
  assertKnown(name, all);
  await switches.drain(name, reason);
  await noteCommand(database, 'provider.drained', { target: name, details: { reason } });
  return `${name} is drained: it gets no new calls after 2 s at most. Running calls finish.`;
}

async function resume({ database, switches, ...all }: Opened, name: string): Promise<string> {
  assertKnown(name, all);
  if (!(await switches.resume(name))) return `${name} was not drained.`;
  await noteCommand(database, 'provider.resumed', { target: name });
  return `${name} is resumed: it gets new calls within 2 s.`;
}

function reasonFrom(given: string): string {
  if (!DRAIN_REASON.test(given)) throw new InvalidArgumentError('The reason must have 1 to 200 visible characters.');
  return given;
}

function assertKnown(name: string, { known, drained }: Pick<Opened, 'known' | 'drained'>): void {
  const names = new Set([...providerNames(known), ...known.keys(), ...drained.keys()]);
  if (!names.has(name)) throw new SetupError(`There is no provider ${name}; there are ${[...names].join(', ')}.`);
}

/** A provider with several servers has a name of its own, by which all of them are drained at once. */
function providerNames(known: Opened['known']): string[] {
  return [...known.values()].map(({ name }) => name);
}

async function list(
  known: ReadonlyMap<string, ProviderEntry>,
  drained: ReadonlyMap<string, ProviderSwitch>,
  config: StandaloneConfig,
  env: Environment,
  say: (line: string) => void,
): Promise<void> {
  const names = [...new Set([...known.keys(), ...drained.keys()])];
  const seen = await look(names, config, env, say);
  const header = ['NAME', 'TYPE', 'KEYS', 'LIMITS', 'CALLS', 'STARTS/MIN', 'BREAKER', 'COOLING', 'LAST HOUR', 'SWITCH'];
  const rows = names.map((name, index) => [
    name,
    ...entryCells(known.get(name)),
    ...stateCells(seen?.states[index]),
    hourText(name, seen?.hour),
    switchText(drained.get(name)),
  ]);
  say(textTable([header, ...rows]));
}

/** What Redis has of providers. */
interface Seen {
  readonly states: readonly ServerState[];
  /** Their calls of the last hour. */
  readonly hour: readonly CallCount[];
}

/** Reports when Redis does not answer, and returns undefined. */
async function look(
  names: readonly string[],
  config: StandaloneConfig,
  env: Environment,
  say: (line: string) => void,
): Promise<Seen | undefined> {
  const { redisUrl } = findRunning(config);
  try {
    const [queue, routing] = loadConfig([RedisConfig, RoutingConfig], { ...env, REDIS_URL: redisUrl });
    return await withRedis(queue, async (redis) => {
      const states = await new LimiterState(redis, queue, routing).statesOf(names);
      const { minutes } = await new CallHistory(redis, queue).read([]);
      return { states, hour: minutes.flatMap(({ counts }) => counts) };
    });
  } catch (error) {
    say(`Calls, circuit breakers, and paused keys are unknown, because Redis can't be reached: ${reasonOf(error)}\n`);
    return undefined;
  }
}

function entryCells(entry: ProviderEntry | undefined): string[] {
  if (entry === undefined) return ['not in the catalog', '-', '-'];
  const { concurrency, startsPerMinute } = entry.limits;
  const limits = [
    ...(concurrency === undefined ? [] : [`${concurrency} at a time`]),
    ...(startsPerMinute === undefined ? [] : [`${startsPerMinute}/min`]),
  ];
  const keys = entry.keys.map(({ name, secret }) => (secret === '' ? `${name} (not set here)` : name));
  return [entry.type, keys.join(', ') || '-', limits.join(', ') || 'none'];
}

function stateCells(state: ServerState | undefined): string[] {
  if (state === undefined) return ['?', '?', '?', '?'];
  const { calls, starts, breaker, openMs, cooling } = state;
  return [
    String(calls),
    starts === STARTS_KEPT ? `${starts} or more` : String(starts),
    breaker === 'open' ? `open ${seconds(openMs)}` : breaker,
    [...cooling].map(([name, ms]) => `${name || 'no key'} ${seconds(ms)}`).join(', ') || '-',
  ];
}

/** The same numbers as the console's. A provider that was drained with all its servers has the calls of all of them. */
function hourText(name: string, hour: readonly CallCount[] | undefined): string {
  if (hour === undefined) return '?';
  const own = hour.filter(({ provider, server }) => name === provider || name === serverId({ name: provider, server }));
  const { calls, failed } = totalsOf(own);
  return calls === 0 ? '-' : `${calls} ${calls === 1 ? 'call' : 'calls'}, ${failed} failed`;
}

function switchText(row: ProviderSwitch | undefined): string {
  if (row === undefined) return 'on';
  return `drained ${textTime(row.drainedAt)}${row.reason === null ? '' : `: ${row.reason}`}`;
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1_000)} s`;
}
