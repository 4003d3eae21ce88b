import { Command, CommanderError, type Option } from 'commander';
import { SetupError } from '#embedded/setup-error.js';

/** `npm run <name> --`, to which subcommands are added. `say` gets the help that is asked for. */
export function terminalCommand(name: string, description: string, say: (line: string) => void): Command {
  let refused = '';
  return new Command(`npm run ${name} --`)
    .description(description)
    .helpCommand(false)
    .showHelpAfterError(`\`npm run ${name} -- --help\` shows how to use it.`)
    .configureOutput({
      writeOut: (text) => say(text.trimEnd()),
      writeErr: (text) => (refused += text),
    })
    .exitOverride((error) => {
      throw error.exitCode === 0 ? error : new SetupError(refused.trim());
    });
}

/** Adds `npm run <command> -- <usage>`, whose usage names the arguments: `revoke <key>`. */
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

/** Throws SetupError for what the command does not take, and what its action throws. */
export async function runTerminalCommand(command: Command, args: readonly string[]): Promise<void> {
  try {
    await command.parseAsync([...args], { from: 'user' });
  } catch (error) {
    // Help was asked for, and printed.
    if (!(error instanceof CommanderError)) throw error;
  }
}
