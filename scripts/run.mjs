// node scripts/run.mjs <app> <command...>: builds what changed, then runs an app's command in this process.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fail, prepare, releaseSignals, ROOT } from './prepare.mjs';

const [app = '', ...args] = process.argv.slice(2);
// The command's own output may be piped somewhere; progress is not part of it.
const tell = (line) => process.stderr.write(`${line}\n`);
await prepare({ tell });
releaseSignals();
const main = join(ROOT, 'dist', 'apps', app, 'src', 'main.js');
if (!/^[a-z]+$/.test(app) || !existsSync(main)) fail(`There is no app called "${app}".`);
process.argv = [process.execPath, main, ...args];
await import(pathToFileURL(main).href);
