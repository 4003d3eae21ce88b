import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { patient } from '../support/patience.js';

const LINTERS = resolve('test', 'clients', 'node', 'linters');
const DOCUMENT = resolve('openapi.json');

/** Whether a linter finds nothing, and all that it says. Nothing is reported home, and no newer version looked for. */
function lint(program: string, ...args: string[]): Promise<{ passed: boolean; output: string }> {
  return new Promise((done) => {
    execFile(
      process.execPath,
      [resolve(LINTERS, 'node_modules', program), 'lint', DOCUMENT, ...args],
      {
        cwd: LINTERS,
        env: { PATH: process.env['PATH'], REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
        timeout: patient(170_000),
      },
      (error, stdout, stderr) => done({ passed: error === null, output: error === null ? stdout : stdout + stderr }),
    );
  });
}

/** The recommended rules; test/clients/node/linters says which finding is none, and why. */
describe('the OpenAPI document', () => {
  it("passes Redocly's rules without a warning", async () => {
    const { passed, output } = await lint('@redocly/cli/bin/cli.js', '--format', 'json');
    expect([passed, JSON.parse(output)]).toEqual([true, expect.objectContaining({ problems: [] })]);
  });

  it("passes Spectral's rules without a hint", async () => {
    const { passed, output } = await lint(
      '@stoplight/spectral-cli/dist/index.js',
      '--ruleset',
      '.spectral.yaml',
      '--fail-severity',
      'hint',
    );
    expect([passed, output]).toEqual([true, expect.stringContaining('No results')]);
  });
});
