// npm start: from a fresh clone to a running product. `--watch` rebuilds and restarts the processes after every change.
import { watch } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureBuilt, prepare, ROOT } from '../build/prepare.mjs';

await prepare();
if (process.argv.includes('--watch')) watchSources();
const entry = join(ROOT, 'bin', 'darkroom.mjs');
// In this process, so that no process between npm and the product can lose a signal.
process.argv = [process.execPath, entry, 'start', ...process.argv.slice(2).filter((arg) => arg !== '--watch')];
await import(pathToFileURL(entry).href);

function watchSources() {
  let timer;
  let building = Promise.resolve();
  const rebuild = () => {
    building = building
      .then(async () => {
        if (await ensureBuilt()) process.kill(process.pid, 'SIGUSR2');
      })
      .catch((error) => process.stderr.write(`${error.message}\n`));
  };
  for (const folder of ['apps', 'libs', 'prisma']) {
    watch(join(ROOT, folder), { recursive: true }, (_event, name) => {
      if (name?.includes('generated')) return;
      clearTimeout(timer);
      timer = setTimeout(rebuild, 300);
    });
  }
}
