// AI SDK 7, whose batches are Responses: node batch.mjs <job>. Runs one as an application would, and prints what it came to.
// eslint-disable-next-line no-restricted-syntax -- applications poll at intervals
import { setTimeout as delay } from 'node:timers/promises';
import { createOpenAI } from '@ai-sdk/openai';
import {
  experimental_getBatchResults as getBatchResults,
  experimental_getBatchStatus as getBatchStatus,
  experimental_startBatch as startBatch,
} from 'ai';
import { job } from '../report.mjs';

const provider = createOpenAI({ apiKey: job.key, baseURL: job.url });
const requests = job.lines.map(({ id, model, prompt }) => ({ id, type: 'text', model, prompt }));
const batch = await startBatch({ provider, requests });
let state = batch;
while (state.status === 'pending') {
  await delay(200);
  state = await getBatchStatus({ provider, batch });
}
const results = [];
for await (const { id, status, text, error } of getBatchResults({ provider, batch })) {
  results.push({ id, status, text, code: error?.code });
}
process.stdout.write(JSON.stringify({ status: state.status, results }));
