import { loadConfig } from '#config/load-config.js';
import { EndUnfinished } from '#tasks/end-unfinished.js';
import { objects } from './objects.js';
import { requireDatabaseUrl, withDatabase } from './running.js';
import { StandaloneConfig } from './standalone.config.js';
import { runTerminalCommand, terminalCommand } from './terminal-command.js';

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
    'Run it once after a restore, before anything starts: fails tasks that had not ended, and repairs rows and objects.',
    say,
  ).action(async () => {
    const count = await withDatabase(requireDatabaseUrl(config), (database) => new EndUnfinished(database).run());
    say(`${count} tasks had not ended and failed, so that none is bought twice.`);
    left = await objects(['--repair'], env, say);
  });
  await runTerminalCommand(program, args);
  return left;
}
