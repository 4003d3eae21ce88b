import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const cruiser = join(process.cwd(), 'tools', 'node_modules', 'dependency-cruiser', 'bin', 'dependency-cruise.mjs');
const configs = ['imports', 'folders'].map((name) => join(process.cwd(), 'scripts', 'check', `${name}.config.mjs`));
/** What the files of these tests import; what does not exist would be a finding of its own. */
const PACKAGES = ['@aws-sdk/client-s3', '@nestjs/bullmq', '@nestjs/common', 'bullmq', 'pg', 'sharp', 'undici'];
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'check-imports-'));
  copyFileSync('package.json', join(root, 'package.json'));
  mkdirSync(join(root, 'apps'));
  mkdirSync(join(root, 'libs'));
  for (const name of PACKAGES) write(`node_modules/${name}/index.js`, '');
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

function write(file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}

/** The findings of both configurations, each as `<rule>: <file>` with what it imports, or with its cycle. */
function check(files: Readonly<Record<string, string>>): string[] {
  for (const [file, text] of Object.entries(files)) write(file, text);
  return configs.flatMap((config) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [cruiser, '--config', config, 'apps', 'libs'], {
      cwd: root,
      env: { ...process.env, NO_COLOR: '1' },
      encoding: 'utf8',
      timeout: 60_000,
    });
    expect(stderr).toBe('');
    const found = stdout.replaceAll(/ → *\n */g, ' → ').split('\n');
    const findings = found.flatMap((line) => /^ {2}error (.*)$/.exec(line)?.[1] ?? []);
    expect(status).toBe(findings.length);
    return findings;
  });
}

it('lets imports go down, stay in their room and reach the fenced packages where they belong', () => {
  const findings = check({
    'apps/api/src/main.ts': `import '#tasks/reading/task-store.js';\nimport './http/filter.js';`,
    'apps/api/src/http/filter.ts': `import { AppError } from '#contract/app-error.js';`,
    'libs/accounts/session-store.ts': `import type { Prisma } from '#database/generated/client.js';`,
    'apps/worker/src/image.processor.ts': `import { Processor } from '@nestjs/bullmq';`,
    'apps/dashboard/src/page.ts': `import '#contract/app-error.js';`,
    'libs/contract/app-error.ts': `// import '#tasks/reading/task-store.js' in a comment is none\nexport const text = "import 'sharp'";`,
    'libs/tasks/reading/task-store.ts': `import '#queue/image-queue.js';\nimport '#database/generated/client.js';`,
    'libs/queue/image-queue.ts': `import { Queue } from 'bullmq';`,
    'libs/providers/sandbox/draw.ts': `import sharp from 'sharp';\nimport '#images/limits.js';`,
    'libs/images/limits.ts': `import sharp from 'sharp';`,
    'libs/images/limits.spec.ts': `import '#tasks/reading/task-store.js';`,
    'libs/database/generated/client.ts': '',
  });
  expect(findings).toEqual([]);
});

const forbidden: readonly (readonly [kind: string, file: string, text: string, rule: string])[] = [
  ['an app', 'apps/api/src/a.ts', `import '../../../worker/src/b.js';`, 'app'],
  ['an app from a room', 'libs/tasks/a.ts', `import '../../../apps/worker/src/b.js';`, 'app'],
  ['upwards', 'libs/queue/a.ts', `import '#tasks/b.js';`, 'layer-of-queue'],
  ['sideways', 'libs/storage/a.ts', `import '#database/b.js';`, 'layer-of-storage'],
  ['from the bottom', 'libs/contract/a.ts', `import '#config/b.js';`, 'layer-of-contract'],
  ['by type only', 'libs/images/a.ts', `import type { B } from '#config/b.js';`, 'layer-of-images'],
  ['by type expression', 'libs/images/a.ts', `export type B = import('#config/b.js').B;`, 'layer-of-images'],
  ['dynamically', 'libs/images/a.ts', `export const b = await import('#config/b.js');`, 'layer-of-images'],
  ['by export', 'libs/images/a.ts', `export * from '#config/b.js';`, 'layer-of-images'],
  ['images from a provider', 'libs/providers/openai/a.ts', `import '#images/b.js';`, 'layer-of-providers'],
  [
    'past its layer, in the sandbox',
    'libs/providers/sandbox/a.ts',
    `import '#tasks/b.js';`,
    'layer-of-providers/sandbox',
  ],
  ['past contract, in the dashboard', 'apps/dashboard/src/a.ts', `import '#tasks/b.js';`, 'dashboard'],
  ['a room by a relative path', 'libs/tasks/a.ts', `import '../../queue/b.js';`, 'relative'],
  ['a room nobody knows', 'libs/queue/a.ts', `import '#novelty/b.js';`, 'unknown-room'],
  ['from a room nobody knows', 'libs/novelty/a.ts', `import '#config/b.js';`, 'unknown-room'],
  ['what does not exist', 'libs/queue/a.ts', `import '#redis/nowhere.js';`, 'unresolved'],
  ['a test', 'libs/queue/a.ts', `import '../../../test/support/b.js';`, 'outside'],
  ['sharp', 'apps/worker/src/a.ts', `import sharp from 'sharp';`, 'fence-of-sharp'],
  ['bullmq', 'libs/tasks/a.ts', `import { Queue } from 'bullmq';`, 'fence-of-bullmq'],
  ['an HTTP client', 'apps/worker/src/a.ts', `import { request } from 'undici';`, 'fence-of-undici'],
  ['HTTPS of Node', 'apps/worker/src/a.ts', `import { request } from 'node:https';`, 'fence-of-undici'],
  ['S3', 'apps/api/src/a.ts', `import {} from '@aws-sdk/client-s3';`, 'fence-of-@aws-sdk/'],
  ['pg', 'libs/tasks/a.ts', `import pg from 'pg';`, 'fence-of-pg'],
  ['Prisma', 'apps/api/src/a.ts', `import '#database/generated/client.js';`, 'fence-of-@prisma/'],
  ['Nest', 'libs/images/a.ts', `import {} from '@nestjs/common';`, 'fence-of-@nestjs/'],
];

it('names the file and the rule of every import that is not allowed', () => {
  const cases = forbidden.map(([kind, file, text, rule], index) => {
    return { kind, file: file.replace('/a.ts', `/case${index}/a.ts`), text: `\n${text}`, rule };
  });
  for (const room of ['config', 'database', 'images', 'queue', 'tasks', 'novelty']) write(`libs/${room}/b.ts`, '');
  for (const file of ['apps/worker/src/b.ts', 'libs/database/generated/client.ts', 'test/support/b.ts'])
    write(file, '');
  const findings = check(Object.fromEntries(cases.map(({ file, text }) => [file, text])));
  for (const { kind, file, rule } of cases) {
    const lines = findings.filter((finding) => finding.includes(`: ${file} → `));
    expect({ kind, lines }).toEqual({ kind, lines: [expect.stringMatching(`^${rule}: `)] });
  }
  // Planted rooms that import each other are a cycle of folders, too.
  expect(findings.filter((finding) => !finding.startsWith('cycle-of-folders: '))).toHaveLength(cases.length);
});

it('finds a cycle between files, through rooms and types alike', () => {
  const findings = check({
    'libs/queue/a.ts': `import './b.js';`,
    'libs/queue/b.ts': `import type { C } from '#queue/c.js';`,
    'libs/queue/c.ts': `import './a.js';`,
  });
  expect(findings).toEqual(['cycle: libs/queue/a.ts → libs/queue/b.ts → libs/queue/c.ts → libs/queue/a.ts']);
});

it('finds a cycle between folders of a room where no file is part of one, types and deeper folders included', () => {
  const findings = check({
    'apps/worker/src/a/deep/one.ts': `import type { Two } from '../../b/two.js';`,
    'apps/worker/src/a/free.ts': '',
    'apps/worker/src/b/two.ts': '',
    'apps/worker/src/b/other.ts': `import '../a/free.js';`,
  });
  expect(new Set(findings)).toEqual(
    new Set([
      'cycle-of-folders: apps/worker/src/a → apps/worker/src/b → apps/worker/src/a',
      'cycle-of-folders: apps/worker/src/b → apps/worker/src/a → apps/worker/src/b',
    ]),
  );
});

it('lets modules name what is below them, which uses what stands beside them, and nobody below name the module', () => {
  const files = {
    'apps/worker/src/images/images.module.ts': `import './steps/step.js';`,
    'apps/worker/src/images/order.ts': '',
    'apps/worker/src/images/steps/step.ts': `import '../order.js';`,
  };
  expect(check(files)).toEqual([]);
  const findings = check({ ...files, 'apps/worker/src/images/order.ts': `import './images.module.js';` });
  expect(findings).toContainEqual(
    'assembler: apps/worker/src/images/order.ts → apps/worker/src/images/images.module.ts',
  );
  expect(findings).toContainEqual(expect.stringMatching('^cycle: '));
});

it('does not pass for want of files', () => {
  rmSync(join(root, 'libs'), { recursive: true });
  for (const config of configs)
    expect(spawnSync(process.execPath, [cruiser, '--config', config, 'apps', 'libs'], { cwd: root }).status).not.toBe(
      0,
    );
});
