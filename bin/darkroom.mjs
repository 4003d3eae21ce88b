#!/usr/bin/env node
// The one entry of every role, in the container image and in a clone: darkroom api, worker, migrate, keys ...
// It loads what is asked for into this very process: a shell or a child between would keep signals from it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Each is a program of its own; everything else is a command of the operator. */
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
