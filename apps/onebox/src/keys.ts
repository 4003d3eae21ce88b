import { parseArgs } from 'node:util';
import { loadConfig } from '#config/load-config.js';
import { createApiKey, listApiKeys, revokeApiKey, type ApiKeyRow } from '#database/api-keys.js';
import { SetupError } from '#embedded/setup-error.js';
import { OneboxConfig } from './onebox.config.js';
import { findRunning, notRunning, requireDatabaseUrl, withPool } from './running.js';

const USAGE = `How to use it:
  npm run keys -- create --name <name>
  npm run keys -- list
  npm run keys -- revoke <id or prefix>`;

/** `keys create|list|revoke`. Throws SetupError with a sentence or the usage. */
export async function keys(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<void> {
  const [config] = loadConfig([OneboxConfig], env);
  const { command, name, target } = parse(args);
  await withPool(requireDatabaseUrl(config), async (pool) => {
    if (command === 'list') say(table(await listApiKeys(pool)));
    else if (command === 'revoke') say(revoked(await revokeApiKey(pool, target), target));
    else {
      const { secretKey } = findRunning(config);
      if (secretKey === undefined)
        throw new SetupError(`SECRET_KEY is not known: ${notRunning(config, 'SECRET_KEY')}.`);
      const { id, key } = await createApiKey(pool, secretKey, { name });
      say(`${key}\n\nThis is the key "${name}" (${id}). It is shown only now; keep it.`);
    }
  });
}

interface KeysCommand {
  readonly command: 'create' | 'list' | 'revoke';
  readonly name: string;
  readonly target: string;
}

function parse(args: readonly string[]): KeysCommand {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { name: { type: 'string', default: 'unnamed' } },
      allowPositionals: true,
    });
    const [command, target = '', ...rest] = positionals;
    const known = (command === 'create' || command === 'list') && target === '';
    if (rest.length === 0 && (known || (command === 'revoke' && target !== ''))) {
      if (!/^[^\p{C}]{1,100}$/u.test(values.name)) throw new SetupError('A name has 1 to 100 visible characters.');
      return { command, name: values.name, target };
    }
  } catch (error) {
    if (error instanceof SetupError) throw error;
  }
  throw new SetupError(USAGE);
}

function revoked(result: ApiKeyRow | 'unknown' | 'ambiguous', target: string): string {
  if (result === 'unknown') throw new SetupError(`There is no key with the id or prefix ${target}.`);
  if (result === 'ambiguous') throw new SetupError(`Several keys begin with ${target}; name one by its id.`);
  return `The key "${result.name}" (${result.id}) is revoked; within 10 s no process accepts it any more.`;
}

function table(rows: readonly ApiKeyRow[]): string {
  const lines = [
    ['ID', 'PREFIX', 'NAME', 'CREATED', 'STATE'],
    ...rows.map((row) => [
      row.id,
      `${row.prefix}...`,
      row.name,
      row.createdAt.toISOString().slice(0, 19) + 'Z',
      stateOf(row),
    ]),
  ];
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function stateOf({ revokedAt, expiresAt }: ApiKeyRow): string {
  if (revokedAt !== null) return `revoked ${revokedAt.toISOString().slice(0, 19)}Z`;
  return expiresAt !== null && expiresAt < new Date() ? 'expired' : 'active';
}
