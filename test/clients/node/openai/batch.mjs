// openai-node: node batch.mjs <6|7> <job>. Runs a batch as an application would, and prints what it came to.
// eslint-disable-next-line no-restricted-syntax -- applications poll at intervals
import { setTimeout as delay } from 'node:timers/promises';
import { job, variant } from '../report.mjs';

const { default: OpenAI, toFile } = await import(`openai-${variant}`);
const openai = new OpenAI({ apiKey: job.key, baseURL: job.url });
const url = '/v1/images/generations';
const text = job.lines
  .map((line) => JSON.stringify({ custom_id: line.id, method: 'POST', url, body: line.body }))
  .join('\n');

const input = await openai.files.create({ file: await toFile(Buffer.from(text), 'in.jsonl'), purpose: 'batch' });
let batch = await openai.batches.create({ input_file_id: input.id, endpoint: url, completion_window: '24h' });
while (!['completed', 'failed', 'expired', 'cancelled'].includes(batch.status)) {
  await delay(200);
  batch = await openai.batches.retrieve(batch.id);
}
const content = async (id) => (id ? await (await openai.files.content(id)).text() : '');
const listed = [];
for await (const one of openai.batches.list({ limit: 1 })) listed.push(one.id);
const files = [];
for await (const one of openai.files.list()) files.push(one.purpose);
const cancelled = await openai.batches.cancel(batch.id);
const output = await content(batch.output_file_id);
const errors = await content(batch.error_file_id);
const deleted = await openai.files.delete(input.id);
const linesOf = (results) => results.trim().split('\n').filter(Boolean).map(JSON.parse);
process.stdout.write(
  JSON.stringify({
    status: batch.status,
    counts: batch.request_counts,
    output: linesOf(output),
    errors: linesOf(errors),
    isListed: listed.includes(batch.id),
    purposes: [...new Set(files)].sort(),
    cancelled: cancelled.status,
    deleted: deleted.deleted,
  }),
);
