// The published clients for test/clients: npm packages in a folder per client, Python packages in a virtual environment
// per version. Both are installed on first use, and kept.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureInstalled, ROOT } from '../build/prepare.mjs';

const NODE_CLIENTS = join('test', 'clients', 'node');
const PYTHON_CLIENTS = join(ROOT, 'test', 'clients', 'python');
/** Folder of the virtual environments. */
const PYTHONS = join(ROOT, 'node_modules', '.cache', 'darkroom', 'clients');
const STEP_TIMEOUT_MS = 300_000;
const execute = promisify(execFile);

/** The folders with a lock file, relative to the root. */
export function clientFolders() {
  return readdirSync(join(ROOT, NODE_CLIENTS))
    .map((name) => join(NODE_CLIENTS, name))
    .filter((folder) => existsSync(join(ROOT, folder, 'package-lock.json')));
}

/**
 * Whether the clients can run; passes their Python interpreters to the tests. Says what can't be installed; in CI,
 * where nothing may be skipped silently, it throws. Only Python and its packages are optional.
 */
export async function hasClients(tell) {
  try {
    for (const folder of clientFolders()) await ensureInstalled(tell, folder);
  } catch (error) {
    if (process.env.CI === 'true') throw error;
    tell(`${error.message} The clients tests are left out.`);
    return false;
  }
  process.env.TEST_CLIENT_PYTHONS = JSON.stringify(await pythons(tell));
  return true;
}

/** The interpreter of each version; none where Python is missing. */
async function pythons(tell) {
  const hasPython = await execute('python3', ['-c', 'import venv, ensurepip']).then(
    () => true,
    () => false,
  );
  if (!hasPython) {
    tell('No python3 with venv was found: the clients tests leave out openai-python, llm and MCP.');
    return {};
  }
  const found = {};
  for (const file of readdirSync(PYTHON_CLIENTS).filter((name) => name.endsWith('.txt'))) {
    try {
      found[file.replace(/\.txt$/, '')] = await pythonWith(file, tell);
    } catch (error) {
      tell(`The packages of ${file} could not be installed (${error.message}): the clients tests leave it out.`);
    }
  }
  return found;
}

/** The packages are pinned in the file; after a change they are reinstalled. */
async function pythonWith(file, tell) {
  const wanted = readFileSync(join(PYTHON_CLIENTS, file), 'utf8');
  const folder = join(PYTHONS, file.replace(/\.txt$/, ''));
  const python = join(folder, 'bin', 'python');
  const stamp = join(folder, 'installed.txt');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted && (await runs(python))) return python;
  tell(`Installing packages of Python (${file}) ...`);
  rmSync(folder, { recursive: true, force: true });
  const options = { timeout: STEP_TIMEOUT_MS };
  await execute('python3', ['-m', 'venv', folder], options);
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary', ':all:'];
  await execute(python, [...install, '--requirement', join(PYTHON_CLIENTS, file)], options);
  writeFileSync(stamp, wanted);
  return python;
}

/** A virtual environment no longer starts once its interpreter was updated or removed. */
function runs(python) {
  return execute(python, ['-c', 'import pydantic'], { timeout: STEP_TIMEOUT_MS }).then(
    () => true,
    () => false,
  );
}
