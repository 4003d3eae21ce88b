#!/usr/bin/env node
// The entry point of every role, in the container image and in a clone: darkroom api, worker, migrate, keys ...
// Runs the role in this process, because a shell or parent in between would not pass on signals.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Separate programs; every other name is an operator command. */
const ROLES = ['api', 'worker'];

const [command = '', ...args] = process.argv.slice(2);
const isRole = ROLES.includes(command);
const program = join(import.meta.dirname, '..', 'dist', 'bin', `${isRole ? command : 'operator'}.js`);
if (existsSync(program)) {
  process.argv = [process.execPath, import.meta.filename, ...(isRole ? args : process.argv.slice(2))];
  await import(pathToFileURL(program).href);
} else {
  process.stderr.write('Darkroom is not built yet: run `npm start`, or `npm run build`.\n');
  process.exitCode = 1;
}
