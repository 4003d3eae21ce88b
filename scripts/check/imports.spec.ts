import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const script = join(process.cwd(), 'scripts', 'check', 'imports.mjs');
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'check-imports-'));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

function check(files: Readonly<Record<string, string>>): { status: number | null; lines: string[] } {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  const { status, stderr } = spawnSync(process.execPath, [script, root], { encoding: 'utf8', timeout: 30_000 });
  return { status, lines: stderr.split('\n').filter((line) => line !== '') };
}

it('lets imports go down, stay in their room and reach the fenced packages where they belong', () => {
  const answer = check({
    'apps/api/src/main.ts': `import '#tasks/reading/task-store.js';\nimport './http/filter.js';`,
    'apps/api/src/http/filter.ts': `import { AppError } from '#contract/app-error.js';`,
    'apps/api/src/auth/api-key-store.ts': `import type { Prisma } from '#database/generated/client.js';`,
    'apps/worker/src/image.processor.ts': `import { Processor } from '@nestjs/bullmq';`,
    'apps/dashboard/src/page.ts': `import '#contract/app-error.js';`,
    'libs/contract/app-error.ts': `// import '#tasks/reading/task-store.js' in a comment is none\nexport const text = "import 'sharp'";`,
    'libs/tasks/reading/task-store.ts': `import '#queue/image-queue.js';\nimport '#database/generated/client.js';`,
    'libs/queue/image-queue.ts': `import { Queue } from 'bullmq';`,
    'libs/providers/sandbox/draw.ts': `import sharp from 'sharp';\nimport '#images/limits.js';`,
    'libs/images/limits.ts': `import sharp from 'sharp';`,
    'libs/images/limits.spec.ts': `import '#tasks/reading/task-store.js';`,
  });
  expect(answer).toEqual({ status: 0, lines: [] });
});

const forbidden: readonly (readonly [kind: string, file: string, text: string, rule: RegExp])[] = [
  ['an app', 'apps/api/src/a.ts', `import '../../../worker/src/b.js';`, /an app never imports an app/],
  ['an app from a room', 'libs/tasks/a.ts', `import '../../../apps/api/src/b.js';`, /never imports an app/],
  ['upwards', 'libs/queue/a.ts', `import '#tasks/b.js';`, /queue may import telemetry, config, contract/],
  ['sideways', 'libs/storage/a.ts', `import '#database/b.js';`, /storage may import/],
  ['from the bottom', 'libs/contract/a.ts', `import '#config/b.js';`, /contract may import nothing of ours/],
  ['by type only', 'libs/images/a.ts', `import type { B } from '#config/b.js';`, /images may import bytes/],
  ['by type expression', 'libs/images/a.ts', `export type B = import('#config/b.js').B;`, /images may import bytes/],
  ['dynamically', 'libs/images/a.ts', `export const b = await import('#config/b.js');`, /images may import bytes/],
  ['by export', 'libs/images/a.ts', `export * from '#config/b.js';`, /images may import bytes/],
  ['images from a provider', 'libs/providers/openai/a.ts', `import '#images/b.js';`, /providers may import/],
  ['past contract, in the dashboard', 'apps/dashboard/src/a.ts', `import '#tasks/b.js';`, /contract only/],
  ['a room by a relative path', 'libs/tasks/a.ts', `import '../../queue/b.js';`, /is written #room\/file\.js/],
  ['a room nobody knows', 'libs/queue/a.ts', `import '#novelty/b.js';`, /the room novelty is in no layer/],
  ['a test', 'libs/queue/a.ts', `import '../../../test/support/b.js';`, /only rooms of libs/],
  ['sharp', 'apps/worker/src/a.ts', `import sharp from 'sharp';`, /imports sharp: only files like/],
  ['bullmq', 'libs/tasks/a.ts', `import { Queue } from 'bullmq';`, /imports bullmq: only files like/],
  ['an HTTP client', 'apps/worker/src/a.ts', `import { request } from 'undici';`, /imports undici: only files like/],
  ['S3', 'apps/api/src/a.ts', `import {} from '@aws-sdk/client-s3';`, /imports @aws-sdk\/client-s3: only/],
  ['pg', 'libs/tasks/a.ts', `import pg from 'pg';`, /imports pg: only files like/],
  ['Prisma', 'apps/api/src/a.ts', `import '#database/generated/client.js';`, /generated\/client.js: only files like/],
  ['Nest', 'libs/images/a.ts', `import {} from '@nestjs/common';`, /imports @nestjs\/common: only files like/],
];

it('names file, line and rule of every import that is not allowed', () => {
  const cases = forbidden.map(([kind, file, text, rule], index) => {
    return { kind, file: file.replace('/a.ts', `/case${index}/a.ts`), text: `\n${text}`, rule };
  });
  const answer = check(Object.fromEntries(cases.map(({ file, text }) => [file, text])));
  expect(answer.status).toBe(1);
  expect(answer.lines).toHaveLength(cases.length);
  for (const { kind, file, rule } of cases) {
    const lines = answer.lines.filter((line) => line.startsWith(`${file}:2 `));
    expect({ kind, lines }).toEqual({ kind, lines: [expect.stringMatching(rule)] });
  }
});

it('finds a cycle between files, through rooms and types alike', () => {
  const answer = check({
    'libs/queue/a.ts': `import './b.js';`,
    'libs/queue/b.ts': `import type { C } from '#queue/c.js';`,
    'libs/queue/c.ts': `import './a.js';`,
  });
  expect(answer.status).toBe(1);
  expect(answer.lines).toEqual([
    'libs/queue/a.ts:1 is part of a cycle: libs/queue/a.ts -> libs/queue/b.ts -> libs/queue/c.ts -> libs/queue/a.ts',
  ]);
});

it('finds a cycle between folders of a room where no file is part of one, types included', () => {
  const answer = check({
    'apps/worker/src/a/one.ts': `import type { Two } from '../b/two.js';`,
    'apps/worker/src/a/free.ts': '',
    'apps/worker/src/b/two.ts': '',
    'apps/worker/src/b/other.ts': `import '../a/free.js';`,
  });
  expect(answer.status).toBe(1);
  expect(answer.lines).toEqual([
    'apps/worker/src/a:1 is part of a cycle: apps/worker/src/a -> apps/worker/src/b -> apps/worker/src/a',
  ]);
});

it('lets modules name what is below them, which uses what stands beside them', () => {
  const files = {
    'apps/worker/src/images/images.module.ts': `import './steps/step.js';`,
    'apps/worker/src/images/order.ts': '',
    'apps/worker/src/images/steps/step.ts': `import '../order.js';`,
  };
  expect(check(files)).toEqual({ status: 0, lines: [] });
  const answer = check({ ...files, 'apps/worker/src/images/order.ts': `import './images.module.js';` });
  expect(answer.status).toBe(1);
  expect(answer.lines).toHaveLength(1);
});

it('does not pass for want of files', () => {
  expect(check({}).status).toBe(1);
});
