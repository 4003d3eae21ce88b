import type { PlanOptions } from './commands/plan-options.js';
import { listenForStop } from './platform/stop-signals.js';

/** Errors whose message is for the user; any other error is a bug and shows its stack. */
const EXPECTED: ReadonlySet<string> = new Set([
  'SetupError',
  'MigrationError',
  'ConfigError',
  'CatalogError',
  'StorageError',
]);

const COMMANDS = 'api, worker, start, doctor, keys, admin, webhooks, providers, objects, restored, migrate, bucket';

const ROLES = {
  api: 'Serves the API and the console. The environment contains its settings (docs/operations.md).',
  worker: 'Runs image tasks and sends webhooks. The environment contains its settings (docs/operations.md).',
};

/** Runs one command and returns the exit code. Loads only that command. */
async function run(command: string, args: readonly string[]): Promise<number> {
  switch (command) {
    case 'start': {
      // Before the rest is loaded, so that no signal is missed.
      const signals = listenForStop();
      const { start } = await import('./commands/start.js');
      await runPlain('start', 'Runs the whole product on this machine until it is stopped.', args, () =>
        start(process.env, signals, say),
      );
      return 0;
    }
    case 'doctor': {
      const { doctor } = await import('./commands/doctor.js');
      const { planOptions } = await import('./commands/plan-options.js');
      const { runTerminalCommand, terminalCommand } = await import('./commands/terminal-command.js');
      const exit = { code: 0 };
      const checks = terminalCommand('doctor', 'Checks the setup and prints one line per check.', say);
      for (const option of planOptions()) checks.addOption(option);
      checks.action(async (plan: PlanOptions) => {
        exit.code = (await doctor(process.env, say, plan)) ? 0 : 1;
      });
      await runTerminalCommand(checks, args);
      return exit.code;
    }
    case 'keys': {
      const { keys } = await import('./commands/keys.js');
      await keys(args, process.env, say);
      return 0;
    }
    case 'admin': {
      const { admin } = await import('./commands/admin.js');
      await admin(args, process.env, say);
      return 0;
    }
    case 'webhooks': {
      const { webhooks } = await import('./commands/webhooks.js');
      await webhooks(args, process.env, say);
      return 0;
    }
    case 'providers': {
      const { providers } = await import('./commands/providers.js');
      await providers(args, process.env, say);
      return 0;
    }
    case 'bucket': {
      const { createBucket } = await import('./commands/create-bucket.js');
      await runPlain('bucket', 'Creates the bucket of the storage settings unless it exists.', args, () =>
        createBucket(process.env, say),
      );
      return 0;
    }
    case 'objects': {
      const { objects } = await import('./commands/objects.js');
      return (await objects(args, process.env, say)) === 0 ? 0 : 1;
    }
    case 'restored': {
      const { restored } = await import('./commands/restored.js');
      return (await restored(args, process.env, say)) === 0 ? 0 : 1;
    }
    case 'migrate': {
      const { migrateDatabase } = await import('./commands/migrate-database.js');
      await runPlain('migrate', 'Applies pending migrations to the database.', args, () =>
        migrateDatabase(process.env, say),
      );
      return 0;
    }
    // Only to describe them: bin/darkroom.mjs runs them as programs of their own.
    case 'api':
    case 'worker':
      await runPlain(command, ROLES[command], args, () => Promise.resolve());
      return 0;
    case '--help':
    case '-h':
    case 'help':
      say(`Usage: darkroom <command> [options]\n\nCommands: ${COMMANDS}. Run a command with --help for its options.`);
      return 0;
    default:
      process.stderr.write(
        `${command === '' ? 'Specify a command' : `There is no command "${command}"`}. Commands: ${COMMANDS}.\n`,
      );
      return 1;
  }
}

/** Runs a command that has no options, or prints its help. Throws SetupError for arguments. */
async function runPlain(
  name: string,
  description: string,
  args: readonly string[],
  work: () => Promise<void>,
): Promise<void> {
  const { runTerminalCommand, terminalCommand } = await import('./commands/terminal-command.js');
  await runTerminalCommand(terminalCommand(name, description, say).action(work), args);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function main(): Promise<void> {
  const [command = '', ...args] = process.argv.slice(2);
  try {
    process.exitCode = await run(command, args);
  } catch (error) {
    const text = error instanceof Error ? (EXPECTED.has(error.name) ? error.message : error.stack) : String(error);
    process.stderr.write(`${text}\n`);
    process.exitCode = 1;
  }
  // All work is done; a library's idle socket must not keep the process running.
  process.stdout.write('', () => process.exit());
}

// A closed terminal makes writes fail; a clean stop matters more than the output.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

void main();
