// The floor of a poll: bare Fastify and one read by primary key.
import Fastify from 'fastify';
import { openPool } from './table.mjs';

const pool = openPool();
const FIND = {
  name: 'find',
  text: 'SELECT id, model, status, progress, images, created_at, finished_at FROM tasks WHERE id = $1',
};

const server = Fastify({ logger: false, keepAliveTimeout: 75_000 });
server.get('/v1/tasks/:id', async (request) => {
  const { rows } = await pool.query({ ...FIND, values: [request.params.id] });
  return { code: 200, data: rows[0] };
});
await server.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
process.stdout.write('ready\n');
process.on('SIGTERM', () => process.exit());
