import { parseArgs } from 'node:util';
import { loadConfig } from '#config/load-config.js';
import {
  createApiKey,
  listApiKeys,
  revokeApiKey,
  updateApiKey,
  type ApiKeyRow,
  type ApiKeySettings,
} from '#database/api-keys.js';
import { SetupError } from '#embedded/setup-error.js';
import { OneboxConfig } from './onebox.config.js';
import { findRunning, notRunning, requireDatabaseUrl, withPool } from './running.js';
import { textTable, textTime } from './text-table.js';

const USAGE = `How to use it:
  npm run keys -- create --name <name> [settings]
  npm run keys -- list
  npm run keys -- update <id or prefix> [settings]
  npm run keys -- revoke <id or prefix>
Settings:
  --weight <1 to 100>            turns in the queue, relative to other keys
  --submits-per-minute <number>  image requests; 0 = any number, default = as the deployment says
  --polls-per-minute <number>    reads of tasks; likewise
  --tasks-in-flight <number>     tasks that wait or run at a time; likewise`;

/** Options of the command line by the setting they change. */
const OPTIONS = {
  weight: 'weight',
  'submits-per-minute': 'submitsPerMinute',
  'polls-per-minute': 'pollsPerMinute',
  'tasks-in-flight': 'tasksInFlight',
} as const satisfies Record<string, keyof ApiKeySettings>;
type Option = keyof typeof OPTIONS;

const MAX_LIMIT = 1_000_000_000;
const MAX_WEIGHT = 100;

/** `keys create|list|update|revoke`. Throws SetupError with a sentence or the usage. */
export async function keys(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<void> {
  const [config] = loadConfig([OneboxConfig], env);
  const { command, name, target, settings } = parse(args);
  await withPool(requireDatabaseUrl(config), async (pool) => {
    if (command === 'list') say(table(await listApiKeys(pool)));
    else if (command === 'revoke') say(revoked(found(await revokeApiKey(pool, target), target)));
    else if (command === 'update') say(updated(found(await updateApiKey(pool, target, settings), target)));
    else {
      const { secretKey } = findRunning(config);
      if (secretKey === undefined)
        throw new SetupError(`SECRET_KEY is not known: ${notRunning(config, 'SECRET_KEY')}.`);
      const { id, key } = await createApiKey(pool, secretKey, { name, settings });
      say(`${key}\n\nThis is the key "${name}" (${id}). It is shown only now; keep it.`);
    }
  });
}

interface KeysCommand {
  readonly command: 'create' | 'list' | 'update' | 'revoke';
  readonly name: string;
  readonly target: string;
  readonly settings: Partial<ApiKeySettings>;
}

function parse(args: readonly string[]): KeysCommand {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: {
        name: { type: 'string', default: 'unnamed' },
        weight: { type: 'string' },
        'submits-per-minute': { type: 'string' },
        'polls-per-minute': { type: 'string' },
        'tasks-in-flight': { type: 'string' },
      },
      allowPositionals: true,
    });
    const [command, target = '', ...rest] = positionals;
    const settings = readSettings(values);
    const changes = Object.keys(settings).length > 0;
    if (!/^[^\p{C}]{1,100}$/u.test(values.name)) throw new SetupError('A name has 1 to 100 visible characters.');
    if (rest.length > 0) throw new SetupError(USAGE);
    if (command === 'create' && target === '') return { command, name: values.name, target, settings };
    if (command === 'list' && target === '' && !changes) return { command, name: '', target, settings };
    if (command === 'update' && target !== '' && changes) return { command, name: '', target, settings };
    if (command === 'revoke' && target !== '' && !changes) return { command, name: '', target, settings };
  } catch (error) {
    if (error instanceof SetupError) throw error;
  }
  throw new SetupError(USAGE);
}

function readSettings(values: Readonly<Partial<Record<Option, string>>>): Partial<ApiKeySettings> {
  return Object.fromEntries(
    (Object.keys(OPTIONS) as Option[]).flatMap((option) => {
      const text = values[option];
      return text === undefined ? [] : [[OPTIONS[option], readSetting(option, text)]];
    }),
  );
}

function readSetting(option: Option, text: string): number | null {
  const [least, most] = option === 'weight' ? [1, MAX_WEIGHT] : [0, MAX_LIMIT];
  if (text === 'default') return option === 'weight' ? 1 : null;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
  if (value >= least && value <= most) return value;
  throw new SetupError(`--${option} takes a whole number from ${least} to ${most}, or default.`);
}

function found(result: ApiKeyRow | 'unknown' | 'ambiguous', target: string): ApiKeyRow {
  if (result === 'unknown') throw new SetupError(`There is no key with the id or prefix ${target}.`);
  if (result === 'ambiguous') throw new SetupError(`Several keys begin with ${target}; name one by its id.`);
  return result;
}

function revoked({ name, id }: ApiKeyRow): string {
  return `The key "${name}" (${id}) is revoked; within 10 s no process accepts it any more.`;
}

function updated(key: ApiKeyRow): string {
  return `The key "${key.name}" (${key.id}) has ${limitsOf(key)}; within 10 s every process goes by that.`;
}

function limitsOf(key: ApiKeyRow): string {
  const text = (value: number | null): string => (value === 0 ? 'any' : String(value ?? 'default'));
  return (
    `weight ${key.weight}, submits/min ${text(key.submitsPerMinute)}, polls/min ${text(key.pollsPerMinute)}, ` +
    `in flight ${text(key.tasksInFlight)}`
  );
}

function table(rows: readonly ApiKeyRow[]): string {
  return textTable([
    ['ID', 'PREFIX', 'NAME', 'CREATED', 'LIMITS', 'STATE'],
    ...rows.map((row) => [
      ...[row.id, `${row.prefix}...`, row.name, textTime(row.createdAt)],
      limitsOf(row),
      stateOf(row),
    ]),
  ]);
}

function stateOf({ revokedAt, expiresAt }: ApiKeyRow): string {
  if (revokedAt !== null) return `revoked ${textTime(revokedAt)}`;
  return expiresAt !== null && expiresAt < new Date() ? 'expired' : 'active';
}
