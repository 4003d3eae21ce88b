// An image provider that holds all calls until it is told to start, then each for HOLD_MS, or up to SPREAD_MS longer,
// and records what it starts.
// Prompts contain `n-<number>`; one in REAL_EVERY gets a real image (with PLAIN, one in a
// single color), the others one of 64 x 64 pixels.
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { TINY_PNG } from './instant-provider.mjs';
import { noisePng, plainPng } from './noise-png.mjs';

const HOLD_MS = Number(process.env.HOLD_MS);
const SPREAD_MS = Number(process.env.SPREAD_MS ?? 0);
const REAL_EVERY = Number(process.env.REAL_EVERY);
const USAGE = { input_tokens: 12, output_tokens: 4160, total_tokens: 4172 };

const REAL = await (process.env.PLAIN ? plainPng : noisePng)(1024);

const answerOf = (image) =>
  Buffer.from(JSON.stringify({ created: 1_794_650_000, data: [{ b64_json: image.toString('base64') }], usage: USAGE }));
const real = answerOf(REAL);
const tiny = answerOf(TINY_PNG);

const starts = new Map();
const told = { inFlight: 0, mostInFlight: 0, bytesOut: 0, imageBytes: REAL.length };
let begin;
const begun = new Promise((resolve) => (begin = resolve));
let isBegun = false;

const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
  serve(request, response).catch(() => response.destroy());
});

async function serve(request, response) {
  if (request.url === '/begin') {
    isBegun = true;
    begin();
    return response.end();
  }
  if (request.url === '/ledger') {
    const twice = [...starts.values()].filter((count) => count > 1).length;
    return response.end(JSON.stringify({ ...told, starts: starts.size, twice }));
  }
  const { prompt } = await json(request);
  const number = Number(/n-(\d+)/.exec(prompt)?.[1]);
  starts.set(number, (starts.get(number) ?? 0) + 1);
  told.inFlight += 1;
  told.mostInFlight = Math.max(told.mostInFlight, told.inFlight);
  if (isBegun) await delay(HOLD_MS + Math.random() * SPREAD_MS);
  else {
    await begun;
    // Real calls don't all end at the same time.
    await delay(Math.random() * HOLD_MS);
  }
  told.inFlight -= 1;
  const answer = number % REAL_EVERY === 0 ? real : tiny;
  told.bytesOut += answer.length;
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length }).end(answer);
}

server.listen(Number(process.env.PORT), '127.0.0.1', () => process.stdout.write('ready\n'));
process.on('SIGTERM', () => process.exit());
