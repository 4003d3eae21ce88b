import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '#config/package.js';
import { ApiModule } from './api.module.js';
import { consoleDocument, openApiDocument } from './docs/openapi-document.js';
import { createAdapter } from './common/fastify/server.js';

/** Placeholders: generating the document connects to nothing. */
const SETTINGS = {
  DATABASE_URL: 'postgresql://nobody@localhost/none',
  REDIS_URL: 'redis://localhost',
  SECRET_KEY: 'the document is made without any',
};

/** Writes both documents; with `--check`, compares them with the committed ones and sets the exit code. */
export async function writeDocuments(): Promise<void> {
  const app = await NestFactory.create<NestFastifyApplication>(ApiModule.forRoot(SETTINGS), createAdapter(), {
    preview: true,
    logger: false,
    abortOnError: false,
  });
  const documents = { 'openapi.json': openApiDocument(app), 'console-openapi.json': consoleDocument(app) };

  for (const [name, document] of Object.entries(documents)) {
    const lines = `${JSON.stringify(document, null, 2)}\n`;
    if (!process.argv.includes('--check')) {
      await writeFile(join(PACKAGE_ROOT, name), lines);
      continue;
    }
    const committed = await readFile(join(PACKAGE_ROOT, name), 'utf8').catch(() => '');
    const difference = firstDifference(committed.split('\n'), lines.split('\n'));
    if (difference === undefined) continue;
    process.stderr.write(`${name} is not what the code says; run: npm run openapi\n${difference}\n`);
    process.exitCode = 1;
  }
}

function firstDifference(committed: readonly string[], generated: readonly string[]): string | undefined {
  for (let index = 0; index < Math.max(committed.length, generated.length); index++) {
    if (committed[index] === generated[index]) continue;
    return `line ${index + 1}\n- ${committed[index] ?? '(end)'}\n+ ${generated[index] ?? '(end)'}`;
  }
  return undefined;
}
