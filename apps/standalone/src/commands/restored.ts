import { loadConfig } from '#config/load-config.js';
import { EndUnfinished } from '#tasks/states/end-unfinished.js';
import { objects } from './objects.js';
import { requireDatabaseUrl, withDatabase } from '../platform/running.js';
import { StandaloneConfig } from '../platform/standalone.config.js';
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
    'Run once after a restore, before starting anything: fails unfinished tasks and repairs rows and objects.',
    say,
  ).action(async () => {
    const count = await withDatabase(requireDatabaseUrl(config), (database) => new EndUnfinished(database).run());
    say(`${count} unfinished tasks were failed, so that none is paid for twice.`);
    left = await objects(['--repair'], env, say);
  });
  await runTerminalCommand(program, args);
  return left;
}
