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

/** Runs a command with its arguments, and returns its exit code; 0 if it returns none. */
type Command = (args: readonly string[]) => Promise<number | void>;

/** Each loads only what it needs. The order is that of the help. */
const COMMANDS: Readonly<Record<string, Command>> = {
  // Only to describe them: bin/darkroom.mjs runs them as programs of their own.
  api: (args) => described('api', 'Serves the API and the console.', args),
  worker: (args) => described('worker', 'Runs image tasks and sends webhooks.', args),
  start: async (args) => {
    // Before the rest is loaded, so that no signal is missed.
    const signals = listenForStop();
    const { start } = await import('./commands/start.js');
    await runPlain('start', 'Runs the whole product on this machine until it is stopped.', args, () =>
      start(process.env, signals, say),
    );
  },
  doctor: async (args) => {
    const { doctor } = await import('./commands/doctor.js');
    const { planOptions } = await import('./commands/plan-options.js');
    const { runTerminalCommand, terminalCommand } = await import('./commands/terminal-command.js');
    let code = 0;
    const checks = terminalCommand('doctor', 'Checks the setup and prints one line per check.', say);
    for (const option of planOptions()) checks.addOption(option);
    checks.action(async (plan: PlanOptions) => {
      code = (await doctor(process.env, say, plan)) ? 0 : 1;
    });
    await runTerminalCommand(checks, args);
    return code;
  },
  keys: async (args) => (await import('./commands/keys.js')).keys(args, process.env, say),
  admin: async (args) => (await import('./commands/admin.js')).admin(args, process.env, say),
  webhooks: async (args) => (await import('./commands/webhooks.js')).webhooks(args, process.env, say),
  providers: async (args) => (await import('./commands/providers.js')).providers(args, process.env, say),
  objects: async (args) => failed(await (await import('./commands/objects.js')).objects(args, process.env, say)),
  restored: async (args) => failed(await (await import('./commands/restored.js')).restored(args, process.env, say)),
  migrate: async (args) => {
    const { migrateDatabase } = await import('./commands/migrate-database.js');
    await runPlain('migrate', 'Applies pending migrations to the database.', args, () =>
      migrateDatabase(process.env, say),
    );
  },
  bucket: async (args) => {
    const { createBucket } = await import('./commands/create-bucket.js');
    await runPlain('bucket', 'Creates the bucket of the storage settings unless it exists.', args, () =>
      createBucket(process.env, say),
    );
  },
};
const NAMES = Object.keys(COMMANDS).join(', ');
const HELP: readonly string[] = ['--help', '-h', 'help'];

async function run(name: string, args: readonly string[]): Promise<number> {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command !== undefined) return (await command(args)) ?? 0;
  if (HELP.includes(name)) {
    say(`Usage: darkroom <command> [options]\n\nCommands: ${NAMES}. Run a command with --help for its options.`);
    return 0;
  }
  const problem = name === '' ? 'Specify a command' : `There is no command "${name}"`;
  process.stderr.write(`${problem}. Commands: ${NAMES}.\n`);
  return 1;
}

/** The exit code for a number of problems. */
function failed(problems: number): number {
  return problems === 0 ? 0 : 1;
}

async function described(name: string, what: string, args: readonly string[]): Promise<void> {
  const description = `${what} The environment contains its settings (docs/operations.md).`;
  await runPlain(name, description, args, () => Promise.resolve());
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
