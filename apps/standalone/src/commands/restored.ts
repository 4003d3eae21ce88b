import { loadConfig } from '#config/load-config.js';
import { readServer } from '#database/connections.sql.js';
import type { Queryable } from '#database/queryable.js';
import { SetupError } from '#embedded/setup-error.js';
import { EndUnfinished } from '#tasks/states/end-unfinished.js';
import { objects } from './objects.js';
import { requireDatabaseUrl, withDatabase } from '../platform/running.js';
import { StandaloneConfig } from '../platform/standalone.config.js';
import { runTerminalCommand, terminalCommand } from './terminal-command.js';

interface Options {
  readonly force?: boolean;
}

/** `restored`: repairs an installation between a restore and its first start; returns how many problems remain. */
export async function restored(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<number> {
  const [config] = loadConfig([StandaloneConfig], env);
  let left = 0;
  const program = terminalCommand(
    'restored',
    'Run once after a restore, before starting anything: fails unfinished tasks and repairs rows and objects.',
    say,
  )
    .option('--force', 'even while API or worker processes are connected to the database')
    .action(async ({ force = false }: Options) => {
      const count = await withDatabase(requireDatabaseUrl(config), async (database) => {
        if (!force) await refuseConnected(database.pool);
        return await new EndUnfinished(database).run();
      });
      say(`${count} unfinished tasks were failed, so that none is paid for twice.`);
      left = await objects(['--repair'], env, say);
    });
  await runTerminalCommand(program, args);
  return left;
}

/** Throws SetupError while processes are connected: the tasks that they run would fail, although nothing was lost. */
async function refuseConnected(database: Queryable): Promise<void> {
  const { processes } = await readServer(database);
  if (processes.length === 0) return;
  const count = (service: string): number => processes.filter((one) => one.service === service).length;
  throw new SetupError(
    `${processes.length} processes are connected to the database (APIs: ${count('api')}, workers: ${count('worker')}), ` +
      'and their running tasks would fail: stop them first. --force goes on nevertheless, for example if only a ' +
      'pooler holds these connections.',
  );
}
