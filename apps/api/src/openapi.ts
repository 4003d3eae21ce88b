import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiModule } from './api.module.js';
import { openApiDocument } from './docs/openapi-document.js';
import { createAdapter } from './http/server.js';

const FILE = join(import.meta.dirname, '../../../../openapi.json');
/** Nothing is connected to: the document needs the classes, not their instances. */
const SETTINGS = {
  DATABASE_URL: 'postgresql://nobody@localhost/none',
  REDIS_URL: 'redis://localhost',
  SECRET_KEY: 'the document is made without any',
};

const app = await NestFactory.create<NestFastifyApplication>(ApiModule.forRoot(SETTINGS), createAdapter(), {
  preview: true,
  logger: false,
  abortOnError: false,
});
const lines = `${JSON.stringify(openApiDocument(app), null, 2)}\n`;

if (process.argv.includes('--check')) {
  const committed = await readFile(FILE, 'utf8').catch(() => '');
  const difference = firstDifference(committed.split('\n'), lines.split('\n'));
  if (difference !== undefined) {
    process.stderr.write(`openapi.json is not what the code says; run: npm run openapi\n${difference}\n`);
    process.exitCode = 1;
  }
} else {
  await writeFile(FILE, lines);
}

function firstDifference(committed: readonly string[], made: readonly string[]): string | undefined {
  for (let index = 0; index < Math.max(committed.length, made.length); index++) {
    if (committed[index] === made[index]) continue;
    return `line ${index + 1}\n- ${committed[index] ?? '(end)'}\n+ ${made[index] ?? '(end)'}`;
  }
  return undefined;
}
