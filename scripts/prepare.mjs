// What every command needs first: the right Node, the packages, the build. Plain Node, because nothing is installed yet.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

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

/** Everything a command needs; ends the process with a sentence where that fails. */
export async function prepare(tell = say) {
  requireNode();
  try {
    await ensureInstalled(tell);
    await ensureBuilt(tell);
  } catch (error) {
    fail(error.message);
  }
}

/** Installs the packages of package-lock.json unless they are there. */
async function ensureInstalled(tell = say) {
  const lock = join(ROOT, 'package-lock.json');
  const marker = join(ROOT, 'node_modules', '.package-lock.json');
  const hashFile = join(ROOT, 'node_modules', '.darkroom-lock');
  const hash = createHash('sha256').update(readFileSync(lock)).digest('hex');
  if (existsSync(marker)) {
    const known = existsSync(hashFile) ? readFileSync(hashFile, 'utf8') : undefined;
    if (known === hash) return;
    if (known === undefined && statSync(marker).mtimeMs >= statSync(lock).mtimeMs) return;
  }
  tell('Installing packages (npm ci) ...');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  await run(npm, ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    failure: 'The packages could not be installed; the reason stands above. Check the network and run it again.',
  });
  writeFileSync(hashFile, hash);
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
  const sources = digest([
    ...filesIn(join(ROOT, 'apps')),
    ...filesIn(join(ROOT, 'libs')),
    ...['.swcrc', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json', 'package.json'].map((name) =>
      join(ROOT, name),
    ),
  ]);
  if (!generate && known.sources === sources && existsSync(join(ROOT, 'dist', 'apps'))) return false;
  tell('Building ...');
  await runNode(join('node_modules', '@nestjs', 'cli', 'bin', 'nest.js'), ['build', '--all']);
  mkdirSync(dirname(stamps), { recursive: true });
  writeFileSync(stamps, JSON.stringify({ schema, sources }));
  return true;
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

/** Runs a command quietly; its output is shown when it fails. A signal to us ends it and us. */
function run(command, args, { env = {}, failure }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = [];
    child.stdout.on('data', (bytes) => output.push(bytes));
    child.stderr.on('data', (bytes) => output.push(bytes));
    let interrupted = false;
    const interrupt = () => {
      interrupted = true;
      child.kill('SIGTERM');
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, interrupt);
    child.once('error', (error) => reject(new Error(`${command} can't be run: ${error.message}`)));
    child.once('close', (code) => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(signal, interrupt);
      if (interrupted) process.exit(0);
      if (code === 0) return resolve();
      process.stderr.write(Buffer.concat(output));
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
