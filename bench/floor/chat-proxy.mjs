// The floor of a chat: a bare proxy with the same two libraries, Fastify and undici. No checks, keys or usage.
import Fastify from 'fastify';
import { Agent } from 'undici';

const agent = new Agent();
const server = Fastify({ logger: false, keepAliveTimeout: 75_000, bodyLimit: 67_108_864 });
server.removeAllContentTypeParsers();
server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
server.post('/v1/chat/completions', async (request, reply) => {
  const left = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) left.abort();
  });
  const { statusCode, headers, body } = await agent.request({
    origin: process.env.UPSTREAM,
    path: '/v1/chat/completions',
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
    body: request.body,
    signal: left.signal,
  });
  reply.code(statusCode).header('content-type', headers['content-type']);
  if (headers['content-length'] !== undefined) reply.header('content-length', headers['content-length']);
  return reply.send(body);
});
await server.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
process.stdout.write('ready\n');
process.on('SIGTERM', () => process.exit());
