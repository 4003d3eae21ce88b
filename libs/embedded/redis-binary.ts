import { access, mkdir, mkdtemp, readdir, rename, rm, symlink } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { runCommand } from './run-command.js';
import { SetupError } from './setup-error.js';

/** Path of a Redis server, and the environment it needs. */
export interface RedisBinary {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
}

interface FindOptions {
  /** Folders for a downloaded server; the first writable one is used. */
  readonly toolFolders: readonly string[];
  /** Called once, before a download begins. */
  readonly onDownload?: () => void;
  readonly signal?: AbortSignal | undefined;
}

const HELP =
  'Install Redis (macOS: `brew install redis`; Debian, Ubuntu: `sudo apt-get install redis-server`; ' +
  'Fedora: `sudo dnf install valkey`), or set REDIS_URL to use a Redis server.';

/**
 * Finds redis-server or valkey-server on PATH, or a server downloaded earlier. Otherwise, on Debian and Ubuntu,
 * downloads the distribution's package and unpacks it, without root or a system service. Throws SetupError that says
 * what to do.
 */
export async function findRedis({ toolFolders, onDownload, signal }: FindOptions): Promise<RedisBinary> {
  for (const name of ['redis-server', 'valkey-server']) {
    const binary = { command: name, env: {} };
    if (await works(binary)) return binary;
  }
  for (const folder of toolFolders) {
    const binary = await unpacked(join(folder, 'redis'));
    if (binary !== undefined && (await works(binary))) return binary;
  }
  if (!(await runCommand(['apt-get', '--version'], { timeoutMs: 10_000 })).ok)
    throw new SetupError(`No Redis server was found. ${HELP}`);
  onDownload?.();
  return await download(await writableFolder(toolFolders), signal);
}

async function works({ command, env }: RedisBinary): Promise<boolean> {
  return (await runCommand([command, '--version'], { timeoutMs: 10_000, env: { ...process.env, ...env } })).ok;
}

async function writableFolder(folders: readonly string[]): Promise<string> {
  for (const folder of folders) {
    try {
      await mkdir(folder, { recursive: true });
      await rm(await mkdtemp(join(folder, 'try-')), { recursive: true });
      return folder;
    } catch {
      continue;
    }
  }
  throw new SetupError(`No Redis server was found, and ${folders.join(' and ')} can't be written to keep one. ${HELP}`);
}

async function download(folder: string, signal: AbortSignal | undefined): Promise<RedisBinary> {
  const work = await mkdtemp(join(folder, 'apt-'));
  try {
    const apt = await privateApt(work);
    // apt-get update fails if any configured source does, so only the download's result counts.
    const updated = await runCommand(['apt-get', ...apt, '-q', 'update'], { timeoutMs: 120_000, signal });
    const packages = ['redis-tools', ...(await missingLibraries(apt, signal))];
    const fetched = await runCommand(['apt-get', ...apt, '-q', 'download', ...packages], {
      cwd: work,
      timeoutMs: 120_000,
      signal,
    });
    if (!fetched.ok) throw failure(updated.ok ? fetched.reason : updated.reason);
    const root = join(work, 'root');
    await mkdir(root);
    for (const archive of (await readdir(work)).filter((name) => name.endsWith('.deb'))) {
      const extracted = await runCommand(['dpkg-deb', '-x', join(work, archive), root], { timeoutMs: 60_000, signal });
      if (!extracted.ok) throw failure(extracted.reason);
    }
    // redis-server is the same program as redis-check-rdb, which the redis-tools package contains.
    await symlink('redis-check-rdb', join(root, 'usr', 'bin', 'redis-server'));
    const target = join(folder, 'redis');
    await rm(target, { recursive: true, force: true });
    await rename(root, target);
    const binary = await unpacked(target);
    if (binary === undefined || !(await works(binary))) throw failure('the unpacked server does not run');
    return binary;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function failure(reason: string): SetupError {
  return new SetupError(`No Redis server was found, and fetching one with apt-get failed (${reason}). ${HELP}`);
}

/** Options that keep apt's lists, cache, and locks in our folder, so that it needs no root and changes nothing else. */
async function privateApt(work: string): Promise<string[]> {
  await mkdir(join(work, 'lists', 'partial'), { recursive: true });
  await mkdir(join(work, 'cache', 'archives', 'partial'), { recursive: true });
  const options = [
    `Dir::State=${join(work, 'state')}`,
    `Dir::State::Lists=${join(work, 'lists')}`,
    'Dir::State::status=/var/lib/dpkg/status',
    `Dir::Cache=${join(work, 'cache')}`,
    'Debug::NoLocking=1',
    'APT::Sandbox::User=',
    'Acquire::Languages=none',
    'Acquire::Retries=2',
    'Acquire::http::Timeout=20',
    'Acquire::https::Timeout=20',
  ];
  return options.flatMap((option) => ['-o', option]);
}

async function missingLibraries(apt: readonly string[], signal: AbortSignal | undefined): Promise<string[]> {
  const listed = await runCommand(['apt-cache', ...apt, 'depends', '--important', 'redis-tools'], {
    timeoutMs: 60_000,
    signal,
  });
  const names = [...listed.stdout.matchAll(/^\s*(?:Pre)?Depends: ([a-z0-9.+-]+)$/gm)].map((match) => match[1] ?? '');
  const missing: string[] = [];
  for (const name of names.filter((candidate) => candidate !== 'adduser' && candidate !== 'libc6')) {
    const state = await runCommand(['dpkg-query', '-W', '-f=${db:Status-Abbrev}', name], { timeoutMs: 10_000, signal });
    if (!state.ok || !state.stdout.startsWith('ii')) missing.push(name);
  }
  return missing;
}

async function unpacked(root: string): Promise<RedisBinary | undefined> {
  const command = join(root, 'usr', 'bin', 'redis-server');
  try {
    await access(command);
  } catch {
    return undefined;
  }
  const libraries: string[] = [];
  for (const parent of [join(root, 'usr', 'lib'), join(root, 'lib')]) {
    const entries = await readdir(parent, { withFileTypes: true }).catch(() => []);
    libraries.push(parent, ...entries.filter((entry) => entry.isDirectory()).map((entry) => join(parent, entry.name)));
  }
  return { command, env: { LD_LIBRARY_PATH: libraries.join(delimiter) } };
}
