// What every command needs first: the right Node, the packages, the build. Plain Node, because nothing is installed yet.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

/** The types of what the console API takes and answers, which scripts/console-types.mjs writes. */
export const CONSOLE_TYPES = join(ROOT, 'apps', 'dashboard', 'src', 'api', 'generated', 'schema.ts');

/** Loads a package of tools/, where tests and checks have theirs: Node does not look there by itself. */
export const requireTool = createRequire(join(ROOT, 'tools', 'package.json'));

/** Ends the process with one sentence; no stack for what the reader can put right. */
export function fail(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}

/** The same range as "engines" in package.json. */
function requireNode(version = process.versions.node) {
  const [major, minor] = version.split('.').map(Number);
  const fits = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22;
  if (!fits)
    fail(`Darkroom needs Node 20.19 or later, or 22.12 or later; this is Node ${version}. See https://nodejs.org`);
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
let child;

/** During the set-up a signal ends the running step first, then us; to stop on request is no failure. */
function quit() {
  if (child === undefined) process.exit(0);
  child.once('close', () => process.exit(0));
  child.kill('SIGTERM');
}

/**
 * A SIGTERM to npm ends npm and the shell between, and never reaches us: their end is our signal.
 * Only below npm, where nobody but the parent can stop us; elsewhere a parent may leave on purpose.
 */
function followParent() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, 200);
  timer.unref();
}

/** Leaves signals to whoever comes after the set-up. */
export function releaseSignals() {
  for (const signal of SIGNALS) process.off(signal, quit);
}

/**
 * Everything a command needs; with `tools` what tests and checks need besides. Ends the process with a sentence where
 * that fails. Signals end the process until releaseSignals() is called or someone else takes them.
 */
export async function prepare({ tell = say, tools = false } = {}) {
  for (const signal of SIGNALS) process.on(signal, quit);
  followParent();
  requireNode();
  try {
    await ensureInstalled(tell);
    if (tools) await ensureInstalled(tell, 'tools');
    await ensureBuilt(tell);
    if (tools) await ensureConsoleTypes();
  } catch (error) {
    fail(error.message);
  }
}

/**
 * Installs the packages of a folder's package-lock.json unless exactly they are there; `folder` is relative to ROOT.
 * Throws when it can't.
 */
export async function ensureInstalled(tell = say, folder = '.') {
  const modules = join(folder, 'node_modules');
  if (isInstalled(folder)) return;
  // `npm ci` would empty the folder behind the link, which belongs to someone else.
  if (lstatSync(join(ROOT, modules), { throwIfNoEntry: false })?.isSymbolicLink())
    throw new Error(
      `${modules} is a link to ${readlinkSync(join(ROOT, modules))}, whose packages are not those of package-lock.json. ` +
        'Remove the link and start again, or install there yourself.',
    );
  tell(folder === '.' ? 'Installing packages (npm ci) ...' : `Installing packages of ${folder} (npm ci) ...`);
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  await run(npm, ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: join(ROOT, folder),
    failure: 'The packages could not be installed; the reason stands above. Check the network and run it again.',
  });
}

/** Compares contents, not times: a copied or freshly cloned file is always new. npm writes its list last. */
function isInstalled(folder) {
  const list = join(ROOT, folder, 'node_modules', '.package-lock.json');
  if (!existsSync(list)) return false;
  const wanted = JSON.parse(readFileSync(join(ROOT, folder, 'package-lock.json'), 'utf8')).packages;
  const installed = JSON.parse(readFileSync(list, 'utf8')).packages;
  const same = (path) => wanted[path]?.version === installed[path]?.version;
  const needed = Object.keys(wanted).filter((path) => path !== '' && (path in installed || !wanted[path].optional));
  return needed.every(same) && Object.keys(installed).every(same);
}

/** Generates the database client and compiles, each only when its sources changed; true when it did. Throws when it can't. */
export async function ensureBuilt(tell = say) {
  const stamps = join(ROOT, 'dist', '.stamps.json');
  const known = existsSync(stamps) ? JSON.parse(readFileSync(stamps, 'utf8')) : {};
  const schema = digest([join(ROOT, 'prisma', 'schema.prisma'), join(ROOT, 'package-lock.json')]);
  const generated = join(ROOT, 'libs', 'database', 'generated', 'client.ts');
  const generate = known.schema !== schema || !existsSync(generated);
  if (generate) {
    tell('Generating the database client ...');
    // Prisma's command would download a native engine that generating does not use.
    await runNode(join('node_modules', 'prisma', 'build', 'index.js'), ['generate'], {
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
      CHECKPOINT_DISABLE: '1',
    });
  }
  const pages = join(ROOT, 'apps', 'dashboard', '');
  const sources = digest([
    ...filesIn(join(ROOT, 'apps')).filter((file) => !file.startsWith(pages)),
    ...filesIn(join(ROOT, 'libs')),
    ...['.swcrc', 'package.json', 'package-lock.json'].map((name) => join(ROOT, name)),
    ...['bundle.mjs', 'code-cache.mjs', 'image-packages.mjs', 'load-bundle.mjs'].map((name) =>
      join(ROOT, 'scripts', name),
    ),
  ]);
  const written = filesIn(pages).filter((file) => !file.includes(join('generated', '')));
  const shared = filesIn(join(ROOT, 'libs', 'contract'));
  const dashboard = digest([...written, ...shared, join(ROOT, 'package-lock.json')]);
  const compile = generate || known.sources !== sources || !existsSync(join(ROOT, 'dist', 'bin'));
  const pack = known.dashboard !== dashboard || !existsSync(join(ROOT, 'dist', 'dashboard', 'index.html'));
  if (!compile && !pack) return false;
  tell('Building ...');
  if (compile) {
    // What was compiled from a file that is gone would still be imported, by the list of settings for example.
    for (const folder of ['apps', 'libs']) rmSync(join(ROOT, 'dist', folder), { recursive: true, force: true });
    await runNode(join('node_modules', '@swc', 'cli', 'bin', 'swc.js'), [
      ...['apps/api', 'apps/standalone', 'apps/worker', 'libs', '--extensions', '.ts', '--out-dir', 'dist', '--quiet'],
    ]);
    await runNode(join('scripts', 'bundle.mjs'), []);
  }
  if (pack)
    await runNode(join('node_modules', 'vite', 'bin', 'vite.js'), [
      ...['build', '--config', join('apps', 'dashboard', 'vite.config.mjs'), '--logLevel', 'warn'],
    ]);
  mkdirSync(dirname(stamps), { recursive: true });
  writeFileSync(stamps, JSON.stringify({ schema, sources, dashboard }));
  return true;
}

/** Writes the types of the console API, which only editors and checks read: a build leaves types out. Throws when it can't. */
async function ensureConsoleTypes() {
  const script = join('scripts', 'console-types.mjs');
  const stamp = join(ROOT, 'dist', '.console-types');
  const sources = digest(
    [script, 'console-openapi.json', join('tools', 'package-lock.json')].map((name) => join(ROOT, name)),
  );
  const known = existsSync(stamp) && existsSync(CONSOLE_TYPES) ? readFileSync(stamp, 'utf8') : '';
  if (known === sources) return;
  await runNode(script, []);
  writeFileSync(stamp, sources);
}

function say(line) {
  process.stdout.write(`${line}\n`);
}

function runNode(script, args, env = {}) {
  return run(process.execPath, [join(ROOT, script), ...args], {
    env,
    failure: 'The build failed; the reason stands above.',
  });
}

/** Runs a command quietly; its output is shown when it fails. */
function run(command, args, { cwd = ROOT, env = {}, failure }) {
  return new Promise((resolve, reject) => {
    const started = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = started;
    const output = [];
    started.stdout.on('data', (bytes) => output.push(bytes));
    started.stderr.on('data', (bytes) => output.push(bytes));
    started.once('error', (error) => reject(new Error(`${command} can't be run: ${error.message}`)));
    started.once('close', (code, signal) => {
      child = undefined;
      if (code === 0) return resolve();
      if (signal === null) process.stderr.write(Buffer.concat(output));
      reject(new Error(failure));
    });
  });
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.spec.ts'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((file) => !file.includes(join('node_modules', '')))
    .sort();
}

function digest(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(relative(ROOT, file)).update('\0').update(readFileSync(file)).update('\0');
  return hash.digest('hex');
}
