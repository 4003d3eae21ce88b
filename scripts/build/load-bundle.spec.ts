import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const LOADER = pathToFileURL(join('dist', 'bin', 'load-bundle.mjs')).href;

/** Starts a role without any setting, which ends it, and tells of which files it had to compile. */
async function startOf(role: string): Promise<{ readonly compiled: unknown; readonly errors: string }> {
  const program = `
    const { compiledAnew, loadBundle } = await import(${JSON.stringify(LOADER)});
    process.on('exit', () => console.log(JSON.stringify(compiledAnew())));
    loadBundle('${role}.cjs');`;
  return await new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--input-type=module', '--eval', program],
      { env: { PATH: process.env['PATH'] }, timeout: 60_000 },
      (_, stdout, errors) => resolve({ compiled: JSON.parse(stdout) as unknown, errors }),
    );
  });
}

test.each(['api', 'worker'])('the %s starts with what the build compiled, and compiles nothing again', async (role) => {
  const { compiled, errors } = await startOf(role);
  expect(errors).toContain('DATABASE_URL');
  expect(compiled).toEqual([]);
});
