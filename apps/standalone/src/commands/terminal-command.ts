import { Command, CommanderError, type Option } from 'commander';
import { SetupError } from '#embedded/setup-error.js';

/** How to run one of our commands, the way this one was run: npm tells its scripts their names. */
export function commandLine(name: string, script = `${name === 'migrate' ? 'db:migrate' : name} --`): string {
  // eslint-disable-next-line no-restricted-syntax -- npm's own variable, not a setting of ours
  return process.env['npm_lifecycle_event'] === undefined ? `darkroom ${name}` : `npm run ${script}`;
}

/** Creates a command for subcommands to be added to. `say` receives the requested help. */
export function terminalCommand(name: string, description: string, say: (line: string) => void): Command {
  let refused = '';
  return new Command(commandLine(name))
    .description(description)
    .helpCommand(false)
    .showHelpAfterError(`\`${commandLine(name)} --help\` shows how to use it.`)
    .configureOutput({
      writeOut: (text) => say(text.trimEnd()),
      writeErr: (text) => (refused += text),
    })
    .exitOverride((error) => {
      throw error.exitCode === 0 ? error : new SetupError(refused.trim());
    });
}

/** Adds a subcommand; the usage names the arguments: `revoke <key>`. */
export function subcommand(
  command: Command,
  usage: string,
  description: string,
  options: readonly Option[] = [],
): Command {
  const added = command.command(usage).description(description);
  for (const option of options) added.addOption(option);
  return added;
}

/** Throws SetupError for invalid arguments, and what the action throws. */
export async function runTerminalCommand(command: Command, args: readonly string[]): Promise<void> {
  try {
    await command.parseAsync([...args], { from: 'user' });
  } catch (error) {
    // Help was requested and has been printed.
    if (!(error instanceof CommanderError)) throw error;
  }
}
