#!/usr/bin/env node
// The entry point of every role, in the container image and in a clone: darkroom api, worker, migrate, keys ...
// Runs the role in this process, because a shell or parent in between would not pass on signals.
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Separate programs; every other name is an operator command. */
const ROLES = ['api', 'worker'];

// The reminder about later Node versions, 8 lines that are not JSON, concerns changes of "engines", not every start.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

const [command = '', ...args] = process.argv.slice(2);
// The operator's program describes the roles too.
const isRole = ROLES.includes(command) && !args.some((arg) => ['--help', '-h'].includes(arg));
// In a container this process has PID 1, for which Linux ignores signals without a handler. While the program loads,
// which takes seconds on a busy node, there is nothing to finish; then it receives signals itself.
for (const signal of ['SIGTERM', 'SIGINT'])
  process.on(signal, () => process.exit(isRole ? 0 : 128 + constants.signals[signal]));
const program = join(import.meta.dirname, '..', 'dist', 'bin', `${isRole ? command : 'operator'}.js`);
if (existsSync(program)) {
  process.argv = [process.execPath, import.meta.filename, ...(isRole ? args : process.argv.slice(2))];
  await import(pathToFileURL(program).href);
} else {
  process.stderr.write('Darkroom is not built yet: run `npm start`, or `npm run build`.\n');
  process.exitCode = 1;
}
