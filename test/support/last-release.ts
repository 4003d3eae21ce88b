import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { transform } from '@swc/core';

const run = promisify(execFile);
const HEADER = /last migration is (\w+)\. Its code is commit\s+\/\/ (\w+)\./;
const MIGRATIONS = join('prisma', 'migrations');
/** Of the folders of a release, those that its API and worker consist of. */
const SOURCES = ['apps/api', 'apps/worker', 'libs'];

export interface LastRelease {
  /** prisma/schema.prisma as it was. */
  readonly schema: string;
  readonly lastMigration: string;
  readonly commit: string;
}

/** The last release, from prisma/releases. */
export async function lastRelease(): Promise<LastRelease> {
  const file = (await readdir('prisma/releases')).sort().at(-1) ?? '';
  const schema = await readFile(join('prisma', 'releases', file), 'utf8');
  const [, lastMigration, commit] = HEADER.exec(schema) ?? [];
  if (lastMigration === undefined || commit === undefined) throw new Error(`${file} names no migration or commit`);
  return { schema, lastMigration, commit };
}

/** Copies the migrations of the release into `folder`, for `migrate`. */
export async function copyMigrations({ lastMigration }: LastRelease, folder: string): Promise<void> {
  for (const name of (await readdir(MIGRATIONS)).filter((one) => one <= lastMigration))
    await cp(join(MIGRATIONS, name), join(folder, name), { recursive: true });
}

/** What Prisma generates from a schema, in the folder that the schema names. */
export async function generateClient(schema: string): Promise<void> {
  await run(process.execPath, ['node_modules/prisma/build/index.js', 'generate', '--schema', schema], {
    // As in scripts/prepare.mjs: generating uses no native engine.
    env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' },
  });
}

/** Whether this is a clone with the history of the release: an archive or a shallow clone is not. */
export async function hasCode({ commit }: LastRelease): Promise<boolean> {
  return await run('git', ['cat-file', '-e', `${commit}^{commit}`]).then(
    () => true,
    () => false,
  );
}

/** Compiles API and worker of the release into `folder`, with the packages of today. */
export async function buildRelease({ commit }: LastRelease, folder: string): Promise<void> {
  const archive = join(folder, 'release.tar');
  await run('git', ['archive', `--output=${archive}`, commit, ...SOURCES, 'prisma', 'deploy', 'package.json']);
  await run('tar', ['--extract', `--file=${archive}`, `--directory=${folder}`]);
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  await generateClient(join(folder, 'prisma', 'schema.prisma'));
  for (const source of SOURCES) {
    const files = await readdir(join(folder, source), { recursive: true });
    for (const file of files.filter((name) => /(?<!\.spec|\.d)\.ts$/.test(name))) {
      const compiled = join(folder, 'dist', source, file.replace(/ts$/, 'js'));
      const { code } = await transform(await readFile(join(folder, source, file), 'utf8'), {
        configFile: resolve('.swcrc'),
        filename: file,
        sourceMaps: false,
      });
      await mkdir(dirname(compiled), { recursive: true });
      await writeFile(compiled, code);
    }
  }
}
