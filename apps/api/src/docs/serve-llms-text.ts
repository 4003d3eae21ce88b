import type { FastifyInstance } from 'fastify';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '#config/package.js';

/** The address in the file, which stands for that of the service. */
const SAMPLE_URL = 'http://127.0.0.1:3000';

/** Serves `/llms.txt`: what agents have to know about the service, with its own URLs. */
export function serveLlmsText(server: FastifyInstance, publicUrl: string): void {
  const text = readFileSync(join(PACKAGE_ROOT, 'llms.txt'), 'utf8').replaceAll(SAMPLE_URL, publicUrl);
  server.get('/llms.txt', { config: { public: true } }, (_request, reply) =>
    reply.type('text/plain; charset=utf-8').send(text),
  );
}
