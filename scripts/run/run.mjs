// node scripts/run/run.mjs <command...>: builds what changed, then runs a command of bin/darkroom.mjs in this process.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare, releaseSignals, ROOT } from '../build/prepare.mjs';

// The command's own output may be piped, so progress goes to stderr.
const tell = (line) => process.stderr.write(`${line}\n`);
await prepare({ tell });
releaseSignals();
await import(pathToFileURL(join(ROOT, 'bin', 'darkroom.mjs')).href);
