import 'reflect-metadata';
import { ConfigError, loadConfig } from '#config/load-config.js';
import { migrate, MigrationError } from '#database/migrate.js';
import { SetupError } from '#embedded/setup-error.js';
import { MIGRATIONS } from './data-folder.js';
import { doctor } from './doctor.js';
import { keys } from './keys.js';
import { OneboxConfig } from './onebox.config.js';
import { requireDatabaseUrl } from './running.js';
import { start } from './start.js';
import { listenForStop } from './stop-signals.js';

/** Runs one command; answers with the exit code. */
async function run(command: string, args: readonly string[]): Promise<number> {
  switch (command) {
    case 'start':
      await start(process.env, listenForStop(), say);
      return 0;
    case 'doctor':
      return (await doctor(process.env, say)) ? 0 : 1;
    case 'keys':
      await keys(args, process.env, say);
      return 0;
    case 'migrate': {
      const [config] = loadConfig([OneboxConfig], process.env);
      const applied = await migrate(requireDatabaseUrl(config), MIGRATIONS);
      say(applied.length === 0 ? 'The database is up to date.' : `Applied ${applied.join(', ')}.`);
      return 0;
    }
    default:
      throw new SetupError(`There is no command "${command}"; there are start, doctor, keys and migrate.`);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function main(): Promise<void> {
  const [command = 'start', ...args] = process.argv.slice(2);
  try {
    process.exitCode = await run(command, args);
  } catch (error) {
    const expected = error instanceof SetupError || error instanceof MigrationError || error instanceof ConfigError;
    const text = error instanceof Error ? (expected ? error.message : error.stack) : String(error);
    process.stderr.write(`${text}\n`);
    process.exitCode = 1;
  }
  // Nothing of ours is left by now; a library's idle socket must not keep the terminal waiting.
  process.stdout.write('', () => process.exit());
}

// A terminal that was closed takes no more lines; stopping cleanly matters more than telling so.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

await main();
