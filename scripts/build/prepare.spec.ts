import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'darkroom-prepare-'));
  const scripts = join('scripts', 'build');
  await mkdir(join(folder, 'copy', scripts), { recursive: true });
  for (const name of ['prepare.mjs', 'build.mjs']) await cp(join(scripts, name), join(folder, 'copy', scripts, name));
  await writeList(join(folder, 'copy', 'package-lock.json'), '2.0.0');
  await mkdir(join(folder, 'shared'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function writeList(file: string, version: string): Promise<void> {
  await writeFile(file, JSON.stringify({ packages: { '': {}, 'node_modules/a': { version } } }));
}

// A copy of the repository whose node_modules was a link to another one's: `npm ci` emptied the folder behind it.
it('never installs through a link, so that the packages of another folder stay', async () => {
  const list = join(folder, 'shared', '.package-lock.json');
  await writeList(list, '1.0.0');
  await symlink(join(folder, 'shared'), join(folder, 'copy', 'node_modules'));
  const build = spawnSync(process.execPath, [join(folder, 'copy', 'scripts', 'build', 'build.mjs')], {
    encoding: 'utf8',
  });
  expect(build.status).toBe(1);
  expect(build.stderr).toMatch(/^node_modules is a link to .*shared, whose packages are not those/);
  expect(build.stderr).not.toMatch(/^ {4}at /m);
  expect(await readFile(list, 'utf8')).toContain('1.0.0');
});
